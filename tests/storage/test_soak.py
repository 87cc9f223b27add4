"""A run that is killed, wherever it hits, is resumed to the uninterrupted bytes."""

from soak import soak

KILLS = 24  # `make soak` does a thousand


def test_killed_at_random_moments(tmp_path):
    tally = soak(KILLS, tmp_path, 1, tell=lambda _: None)
    assert not tally.faults
    assert tally.kills >= KILLS
    assert 0 < tally.inside < tally.kills

"""Signs and their vote: what holds for every update and every number of devices."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from airfeel.build.setup import build
from airfeel.compression.signs import Signs, signs
from airfeel.types import Agreed, Received
from small import small, turn_at

SETUP = build(small())
DIM = SETUP.world.dim


def tally(x):
    """What arrives of some devices' signs."""
    total, count = x.new_zeros(x.shape[1]), len(x)
    for row in signs(x):
        total += row
    nothing = x[:, :0]
    who = np.arange(count)
    return Received(who, who, total, nothing.long(), nothing, count, np.full(8, count))


def decide(x, stride=0.5):
    codec = Signs(DIM, stride)
    turn = turn_at(SETUP, 3)
    return codec.decode(turn, codec.agree(turn), tally(x)).update


def updates(devices, seed):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((devices, DIM)))


@given(st.integers(1, 6), st.integers(0, 99), st.lists(st.floats(1e-9, 1e9), min_size=6))
def test_a_positive_factor_on_any_update_changes_nothing(devices, seed, factors):
    x = updates(devices, seed)
    scaled = x * torch.tensor(factors[:devices], dtype=x.dtype)[:, None]
    assert torch.equal(decide(x), decide(scaled))


@given(st.integers(1, 6), st.integers(0, 99))
def test_identical_devices_are_one_device_and_move_by_its_signs(devices, seed):
    x = updates(1, seed)
    assert torch.equal(decide(x.repeat(devices, 1)), 0.5 * signs(x[0]))


@given(st.integers(1, 7), st.integers(0, 99))
def test_an_entry_moves_by_the_stride_or_not_at_all_and_always_with_odd_numbers(devices, seed):
    moved = decide(updates(devices, seed), 0.25).abs()
    assert set(moved.tolist()) <= {0.0, 0.25}
    if devices % 2:
        assert (moved == 0.25).all()


def test_a_tie_moves_nothing():
    x = updates(1, 1)
    assert not decide(torch.cat([x, -x])).any()


def test_the_stride_follows_its_series():
    codec = Signs(DIM, (0.5, 0.25))
    for round, stride in ((1, 0.5), (2, 0.25), (9, 0.25)):
        turn = turn_at(SETUP, round)
        update = codec.decode(turn, codec.agree(turn), tally(updates(1, 1))).update
        assert float(update.abs().max()) == stride


def test_where_nobody_was_heard_nothing_moves_and_nothing_is_fresh():
    turn = turn_at(SETUP, 1)
    total = signs(updates(1, 1)[0])
    heard = np.array([1, 0, 1, 1, 1, 1, 1, 1])
    silent = np.repeat(heard == 0, [len(s) for s in np.array_split(np.arange(DIM), 8)])
    total[torch.from_numpy(silent)] = 0.0
    nothing = torch.zeros(1, 0, dtype=total.dtype)
    received = Received(np.array([0]), np.array([0]), total, nothing.long(), nothing, 1, heard)
    decoded = Signs(DIM).decode(turn, Agreed(torch.arange(DIM)), received)
    assert not decoded.update[torch.from_numpy(silent)].any()
    assert (decoded.fresh == torch.from_numpy(~silent)).all()


def test_a_device_says_one_bit_of_each_entry_and_none_by_air():
    x, dice = updates(2, 1), np.zeros((2, 0))
    for analog, bits in ((False, DIM), (True, 0.0)):
        codec = Signs(DIM, analog=analog)
        assert codec.encode(x, Agreed(torch.arange(DIM)), np.arange(2), dice).bits == bits

"""Bottleneck matching against brute force, and the paper's assignment step by step."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from airfeel.radio.allocation.links import Links
from airfeel.radio.allocation.matching import assign_subchannels, bottleneck_matching
from airfeel.types import BadInput

SMALL = st.tuples(st.integers(1, 6), st.integers(0, 1)).map(lambda s: (s[0], s[0] + s[1]))
# Few different values make ties and non-unique optima likely; floats make everything unique.
TIED = SMALL.flatmap(lambda s: arrays(float, s, elements=st.integers(0, 5).map(float)))
FREE = SMALL.flatmap(lambda s: arrays(float, s, elements=st.floats(0.0, 1e12)))


def assigned(power, gain2, noise):
    return assign_subchannels(Links(power, gain2, noise, np.ones(len(power))))


def brute_force(rate):
    """The best bottleneck over all matchings, and the best sum among those that reach it."""
    n, m = rate.shape
    columns = np.array(list(permutations(range(m), n)))
    picked = rate[np.arange(n), columns]
    value = picked.min(axis=1)
    return value.max(), picked.sum(axis=1)[value == value.max()].max()


@settings(max_examples=150)
@given(st.one_of(TIED, FREE))
def test_equals_brute_force_and_keeps_the_tie_rule(rate):
    column = bottleneck_matching(rate)
    picked = rate[np.arange(rate.shape[0]), column]
    value, total = brute_force(rate)
    assert len(set(column.tolist())) == rate.shape[0]
    assert picked.min() == value
    assert picked.sum() == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("shape", [(n, m) for m in range(1, 7) for n in range(1, m + 1)] + [(6, 7)])
@pytest.mark.parametrize("spread", [0.0, 1.0, 6.0])
def test_every_small_shape_over_twelve_orders_of_magnitude(shape, spread):
    rng = np.random.default_rng(shape)
    for _ in range(3):
        rate = np.log1p(5e3 * 10.0 ** rng.uniform(-spread, spread, shape))
        column = bottleneck_matching(rate)
        picked = rate[np.arange(shape[0]), column]
        assert (picked.min(), picked.sum()) == pytest.approx(brute_force(rate), rel=1e-12)


def plain_assignment(power, gain2, noise):
    """The assignment in loops, with base-2 logarithms as the paper writes it."""
    n, m = gain2.shape
    rate = np.log2(1 + power[:, None] * gain2 / noise)
    best = max(
        permutations(range(m), n),
        key=lambda c: (min(rate[i, c[i]] for i in range(n)), sum(rate[i, c[i]] for i in range(n))),
    )
    held = [[c] for c in best]
    free, willing = set(range(m)) - set(best), set(range(n))

    def equal(i, channels):
        share = power[i] / len(channels)
        return sum(np.log2(1 + share * gain2[i, c] / noise) for c in channels)

    while free and willing:
        slowest = min(sorted(willing), key=lambda i: equal(i, held[i]))
        channel = max(sorted(free), key=lambda c: gain2[slowest, c])
        if equal(slowest, [*held[slowest], channel]) > equal(slowest, held[slowest]):
            held[slowest].append(channel)
            free.remove(channel)
        else:
            willing.remove(slowest)
    owner = np.full(m, -1)
    for i, channels in enumerate(held):
        owner[channels] = i
    return owner


@pytest.mark.parametrize("snr", [1e-2, 1.0, 5e3])
def test_assignment_equals_the_plain_reading(snr):
    rng = np.random.default_rng(7)
    left_over = 0
    for n, m in [(1, 1), (1, 5), (2, 6), (3, 3), (3, 7), (4, 6)] * 4:
        power, gain2 = rng.uniform(0.5, 2.0, n), rng.rayleigh(1.0, (n, m)) ** 2
        owner = assigned(power, gain2, 1.0 / snr)
        np.testing.assert_array_equal(owner, plain_assignment(power, gain2, 1.0 / snr))
        left_over += int((owner < 0).sum())
    assert (left_over > 0) == (snr < 5e3)  # at low SNR a second channel does not always pay


def test_equal_gains_give_the_spare_channels_to_the_lower_indices():
    owner = assigned(np.ones(3), np.ones((3, 5)), 1e-3)
    assert np.bincount(owner).tolist() == [2, 2, 1]


def test_zero_gains_are_never_taken_beyond_the_first_channel():
    gain2 = np.zeros((2, 5))
    gain2[0, 4] = gain2[1, 4] = 1.0
    owner = assigned(np.ones(2), gain2, 1e-3)
    assert np.count_nonzero(owner >= 0) == 2
    assert assigned(np.ones(1), np.zeros((1, 1)), 1.0).tolist() == [0]


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e12, 1e300])
def test_extreme_scales_give_every_device_its_own_channel(scale):
    gain2 = np.random.default_rng(1).rayleigh(1.0, (4, 6)) ** 2 * scale
    owner = assigned(np.full(4, 5e-3), gain2, 1e-6)
    assert set(range(4)) <= set(owner.tolist())


def test_nobody_owns_nothing():
    assert assigned(np.zeros(0), np.zeros((0, 3)), 1.0).tolist() == [-1, -1, -1]
    assert bottleneck_matching(np.zeros((0, 3))).size == 0


@pytest.mark.parametrize(
    ("power", "gain2", "noise", "name"),
    [
        ([1.0, 1.0, 1.0], np.ones((3, 2)), 1.0, "gain2 has 3 devices"),
        ([np.nan], np.ones((1, 2)), 1.0, "power holds nan"),
        ([np.inf], np.ones((1, 2)), 1.0, "power holds inf"),
        ([-1.0], np.ones((1, 2)), 1.0, "power holds -1"),
        ([1.0], np.array([[1.0, np.nan]]), 1.0, "gain2 holds nan"),
        ([1.0], np.array([[1.0, -2.0]]), 1.0, "gain2 holds -2"),
        ([1.0], np.ones((1, 2)), 0.0, "noise = 0"),
        ([1.0], np.ones((1, 2)), np.nan, "noise = nan"),
        ([1e300], np.full((1, 2), 1e300), 1.0, "power . gain2 / noise = inf"),
    ],
)
def test_bad_input_is_refused_by_name(power, gain2, noise, name):
    with pytest.raises(BadInput, match=name):
        assigned(np.array(power), gain2, noise)


@pytest.mark.parametrize("rate", [np.ones((2, 1)), np.array([[1.0, np.inf]]), np.array([[np.nan]])])
def test_bad_rates_are_refused_by_name(rate):
    with pytest.raises(BadInput, match=r"^rate h"):
        bottleneck_matching(rate)

"""Water-filling: the optimality conditions themselves, over twelve orders of magnitude and more."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from airfeel.radio.allocation.links import Links
from airfeel.radio.allocation.power import needed_slots, rates
from airfeel.types import BadInput

WIDE = st.floats(-8.0, 8.0).map(lambda e: 10.0**e)
GAINS = arrays(float, st.integers(1, 12), elements=st.one_of(WIDE, st.just(0.0), st.just(1.0)))


def links(power, gain2, noise):
    return Links(power, gain2, noise, np.ones(len(power)))


def water_filling(power, gain2, noise):
    """One device that owns all sub-channels."""
    return links(np.array([power]), gain2[None], noise).water_filling(np.zeros(len(gain2), int))[0]


def assert_optimal(filled, power, gain2, noise):
    """Σ p = power; one water level over the flooded floors; every dry floor above it."""
    assert np.isfinite(filled).all()
    assert (filled >= 0.0).all()
    assert (filled[gain2 == 0.0] == 0.0).all()
    if power == 0.0 or not gain2.any():
        assert (filled == 0.0).all()
        return
    assert filled.sum() == pytest.approx(power, rel=1e-9)
    wet = filled > 0.0
    level = (filled + noise / np.where(gain2 > 0.0, gain2, np.inf))[wet]
    assert level.max() - level.min() <= 1e-9 * level.max()
    floor = noise / gain2[~wet & (gain2 > 0.0)]
    assert (floor >= level.max() * (1 - 1e-9)).all()


@settings(max_examples=300)
@given(st.one_of(WIDE, st.just(0.0)), GAINS, WIDE)
def test_optimality_conditions(power, gain2, noise):
    assert_optimal(water_filling(power, gain2, noise), power, gain2, noise)


@pytest.mark.parametrize("power", [1e-6, 5e-3, 1e6])
def test_one_draw_with_gains_twelve_orders_apart(power):
    gain2 = np.logspace(-6, 6, 49)
    filled = water_filling(power, gain2, 1e-3)
    assert_optimal(filled, power, gain2, 1e-3)
    assert (np.diff(filled) >= 0.0).all()


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-300, 1e300])
def test_extreme_gains_return_numbers(scale):
    filled = water_filling(5e-3, np.full(4, scale), 1e-6)
    np.testing.assert_allclose(filled, 5e-3 / 4, rtol=1e-15)
    alone = water_filling(5e-3, np.array([scale, 0.0]), 1e-6)
    assert alone.tolist() == [5e-3, 0.0]


def test_nearly_equal_deep_fades_are_still_split_right():
    """The floors are 1e12 times the power: a naive level would cancel all digits."""
    gain2 = 1e-12 * (1.0 + np.array([0.0, 1e-13, 2e-13]))
    filled = water_filling(1.0, gain2, 1.0)
    exact = [1 / 3 - 0.1, 1 / 3, 1 / 3 + 0.1]
    np.testing.assert_allclose(filled, exact, atol=2e-3)  # the gains themselves are rounded
    assert filled.sum() == pytest.approx(1.0, rel=1e-12)


@settings(max_examples=100)
@given(st.data())
def test_all_devices_at_once_equals_one_by_one(data):
    n = data.draw(st.integers(1, 4))
    m = data.draw(st.integers(n, 8))
    power = data.draw(arrays(float, n, elements=st.one_of(WIDE, st.just(0.0))))
    gain2 = data.draw(arrays(float, (n, m), elements=st.one_of(WIDE, st.just(0.0))))
    owner = data.draw(arrays(np.int64, m, elements=st.integers(-1, n - 1)))
    filled = links(power, gain2, 1e-3).water_filling(owner)
    for i in range(n):
        mine = owner == i
        assert (filled[i, ~mine] == 0.0).all()
        if mine.any():
            one = water_filling(float(power[i]), gain2[i, mine], 1e-3)
            np.testing.assert_allclose(filled[i, mine], one, rtol=1e-12, atol=0.0)


def test_water_filling_beats_any_other_split():
    rng = np.random.default_rng(3)
    gain2 = rng.rayleigh(1.0, 5) ** 2
    for power in (1e-2, 1.0, 1e2):
        best = rates(water_filling(power, gain2, 1.0)[None], gain2[None], 1.0)[0]
        others = rng.dirichlet(np.full(5, 0.5), 200) * power
        assert (rates(others, np.tile(gain2, (200, 1)), 1.0) <= best * (1 + 1e-12)).all()


def test_rates_are_exact_at_tiny_and_huge_snr():
    power, gain2 = np.array([[1.0, 2.0], [1.0, 1.0]]), np.array([[1e-30, 1e-30], [3.0, 2.0**40]])
    np.testing.assert_allclose(
        rates(power, gain2, 1.0), [3e-30 / np.log(2), 2 + np.log2(1 + 2.0**40)], rtol=1e-15
    )


def test_slots_round_up_and_need_a_rate_only_for_bits():
    slots = needed_slots(np.array([2.0, 2.0, 0.0, 0.0]), np.array([6.0, 7.0, 0.0, 1.0]))
    assert slots.tolist() == [3.0, 4.0, 0.0, np.inf]


def test_equal_power_shares_what_is_owned():
    three = links(np.array([6.0, 1.0, 5.0]), np.ones((3, 4)), 1.0)
    share = three.equal_power(np.array([0, -1, 0, 1]))
    assert share.tolist() == [[3, 0, 3, 0], [0, 0, 0, 1], [0, 0, 0, 0]]


def test_nothing_owned_and_nobody_there():
    nobodys = np.full(3, -1)
    assert not links(np.ones(2), np.ones((2, 3)), 1.0).water_filling(nobodys).any()
    assert links(np.ones(0), np.ones((0, 3)), 1.0).water_filling(nobodys).shape == (0, 3)
    assert links(np.ones(0), np.ones((0, 0)), 1.0).water_filling(nobodys[:0]).size == 0


@pytest.mark.parametrize(
    ("power", "gain2", "noise", "owner", "name"),
    [
        (np.nan, 1.0, 1.0, 0, "power holds nan"),
        (1.0, np.inf, 1.0, 0, "gain2 holds inf"),
        (1.0, 1.0, -1.0, 0, "noise = -1"),
        (1.0, 1.0, 1.0, 1, "owner holds 1"),
        (1.0, 1.0, 1.0, -2, "owner holds -2"),
    ],
)
def test_bad_input_is_refused_by_name(power, gain2, noise, owner, name):
    with pytest.raises(BadInput, match=name):
        links(np.array([power]), np.array([[gain2]]), noise).water_filling(np.array([owner]))

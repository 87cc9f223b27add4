"""Every allocator keeps the same contract; ours is never worse than the paper's."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from airfeel.catalogues import ALLOCATORS
from airfeel.radio.allocation.allocators.exact import Exact
from airfeel.radio.allocation.allocators.exchange import Exchange
from airfeel.radio.allocation.allocators.paper import Paper
from airfeel.radio.allocation.allocators.plain import RoundRobin, SumRate
from airfeel.radio.allocation.links import Allocator, Links
from airfeel.radio.allocation.matching import assign_subchannels
from airfeel.radio.allocation.power import needed_slots, rates
from airfeel.types import BadInput

NOISE, BITS = 1e-6, 441_000.0
GAIN2 = st.one_of(st.floats(-9.0, 9.0).map(lambda e: 10.0**e), st.sampled_from([0.0, 1.0]))


def slots_of(allocation, gain2, bits, noise=NOISE):
    return needed_slots(rates(allocation.power, gain2, noise), bits).max()


def rayleigh(seed, n, m):
    return np.random.default_rng(seed).rayleigh(1.0, (n, m)) ** 2


@pytest.fixture(params=sorted(ALLOCATORS))
def allocate(request):
    return ALLOCATORS.make(request.param)


@settings(max_examples=40)
@given(st.sampled_from(sorted(ALLOCATORS)), st.data())
def test_contract(name, data):
    n = data.draw(st.integers(1, 4))
    m = n + data.draw(st.integers(0, 3))
    power = data.draw(arrays(float, n, elements=st.sampled_from([0.0, 5e-3, 1.0])))
    gain2 = data.draw(arrays(float, (n, m), elements=GAIN2))
    bits = data.draw(arrays(float, n, elements=st.sampled_from([0.0, 1.0, BITS])))
    found = ALLOCATORS.make(name)(Links(power, gain2, NOISE, bits))
    assert found.owner.shape == (m,)
    assert found.power.shape == (n, m)
    assert found.owner.min() >= -1
    assert found.owner.max() < n
    assert np.isfinite(found.power).all()
    assert (found.power >= 0.0).all()
    assert (found.power[found.owner != np.arange(n)[:, None]] == 0.0).all()
    assert (found.power.sum(axis=1) <= power * (1 + 1e-9)).all()
    assert found.gap is None or found.gap >= 0.0


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 6), (5, 5), (4, 9)])
def test_every_device_is_served(allocate, n, m):
    found = allocate(Links(np.full(n, 5e-3), rayleigh(2, n, m), NOISE, np.full(n, BITS)))
    assert set(found.owner.tolist()) - {-1} == set(range(n))
    np.testing.assert_allclose(found.power.sum(axis=1), 5e-3, rtol=1e-12)


def test_nobody_gets_nothing(allocate):
    found = allocate(Links(np.zeros(0), np.zeros((0, 3)), NOISE, np.zeros(0)))
    assert found.owner.tolist() == [-1, -1, -1]
    assert found.power.shape == (0, 3)


@pytest.mark.parametrize("value", [0.0, 1e-9, 1.0, 1e9])
def test_equal_gains_everywhere(allocate, value):
    bits = np.full(3, BITS)
    found = allocate(Links(np.full(3, 5e-3), np.full((3, 4), value), NOISE, bits))
    assert not np.isnan(slots_of(found, np.full((3, 4), value), bits))


def test_bad_input_is_refused_by_name():
    power, gain2, bits = np.ones(2), np.ones((2, 3)), np.ones(2)
    for args, name in [
        ((np.array([1.0, np.nan]), gain2, 1.0, bits), "power holds nan"),
        ((power, -gain2, 1.0, bits), "gain2 holds -1"),
        ((power, gain2[:, :1], 1.0, bits), "gain2 has 2 devices and 1 sub-channels"),
        ((power, gain2, np.inf, bits), "noise = inf"),
        ((power, gain2, 1.0, np.array([1.0, np.inf])), "bits holds inf"),
        ((power, gain2, 1.0, np.array([1.0, -1.0])), "bits holds -1"),
    ]:
        with pytest.raises(BadInput, match=name):
            Links(*args)


def test_bad_settings_are_refused_by_name():
    for part in ("paper", "sum-rate", "round-robin"):
        with pytest.raises(BadInput, match=r"radio\.allocator\.fill = 'flat'"):
            ALLOCATORS.make({"name": part, "fill": "flat"})
    with pytest.raises(BadInput, match="time_limit = 0"):
        Exact(time_limit=0.0)


def test_catalogue_holds_allocators(allocate):
    assert isinstance(allocate, Allocator)
    assert allocate == type(allocate)(**vars(allocate))


def test_paper_is_its_three_steps():
    links = Links(np.full(6, 5e-3), rayleigh(3, 6, 8), NOISE, np.full(6, BITS))
    found, owner = Paper()(links), assign_subchannels(links)
    np.testing.assert_array_equal(found.owner, owner)
    np.testing.assert_array_equal(found.power, links.water_filling(owner))
    equal = Paper(fill="equal")(links)
    np.testing.assert_array_equal(equal.owner, owner)
    assert {len(set(row[row > 0.0])) for row in equal.power} == {1}


@pytest.mark.parametrize(("n", "m"), [(20, 25), (12, 25), (7, 7), (3, 11)])
def test_paper_equals_the_plain_reading(n, m):
    plain = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "tcs_h_plain.py"))
    for seed in range(5):
        power, gain2 = np.full(n, 5e-3), rayleigh(seed, n, m)
        found = Paper()(Links(power, gain2, NOISE, np.full(n, BITS)))
        owner, filled, rate = plain["allocate"](power, gain2, NOISE)
        np.testing.assert_array_equal(found.owner, owner)
        np.testing.assert_allclose(found.power, filled, rtol=1e-9)
        np.testing.assert_allclose(rates(found.power, gain2, NOISE), rate, rtol=1e-9)


def test_sum_rate_has_the_largest_sum_and_round_robin_takes_turns():
    power, gain2, bits = np.full(4, 5e-3), rayleigh(4, 4, 4), np.full(4, BITS)
    links = Links(power, gain2, NOISE, bits)
    sums = [rates(a(links).power, gain2, NOISE).sum() for a in (SumRate(), Paper())]
    assert sums[0] >= sums[1]
    found = RoundRobin()(Links(np.full(2, 1.0), np.ones((2, 5)), NOISE, bits[:2]))
    assert found.owner.tolist() == [0, 1, 0, 1, 0]


@settings(max_examples=60)
@given(st.data())
def test_exchange_never_takes_more_slots_than_the_paper(data):
    n = data.draw(st.integers(1, 5))
    m = n + data.draw(st.integers(0, 6))
    power = data.draw(arrays(float, n, elements=st.sampled_from([1e-4, 5e-3, 1.0])))
    gain2 = data.draw(arrays(float, (n, m), elements=GAIN2))
    bits = data.draw(arrays(float, n, elements=st.sampled_from([0.0, 1.0, 1e3, BITS])))
    links = Links(power, gain2, NOISE, bits)
    ours, paper = Exchange()(links), Paper()(links)
    assert slots_of(ours, gain2, bits) <= slots_of(paper, gain2, bits)


@pytest.mark.parametrize(("n", "m", "noise"), [(20, 25, 1e-6), (12, 25, 1e-6), (20, 25, 1e-2)])
def test_exchange_takes_fewer_slots_on_average(n, m, noise):
    power, bits, ours, paper = np.full(n, 5e-3), np.full(n, BITS), [], []
    for seed in range(8):
        gain2 = rayleigh(seed, n, m)
        links = Links(power, gain2, noise, bits)
        ours.append(slots_of(Exchange()(links), gain2, bits, noise))
        paper.append(slots_of(Paper()(links), gain2, bits, noise))
    assert (np.array(ours) <= paper).all()
    assert np.mean(ours) < 0.995 * np.mean(paper)


@pytest.mark.parametrize("name", sorted(set(ALLOCATORS) - {"round-robin"}))
def test_permuting_the_devices_permutes_the_answer(name):
    allocate = ALLOCATORS.make(name)
    gain2, order = rayleigh(5, 5, 7), np.array([3, 0, 4, 1, 2])
    power, bits = np.linspace(1e-3, 9e-3, 5), np.full(5, BITS)
    before = allocate(Links(power, gain2, NOISE, bits))
    after = allocate(Links(power[order], gain2[order], NOISE, bits))
    if isinstance(allocate, Exchange | Exact):  # several assignments may share the fewest slots
        assert slots_of(after, gain2[order], bits) == slots_of(before, gain2, bits)
    else:
        np.testing.assert_allclose(after.power, before.power[order], rtol=1e-12)

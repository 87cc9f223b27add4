"""The exact allocator and the bound against the enumeration of all assignments."""

from itertools import product

import numpy as np
import pytest

from airfeel.radio.allocation.allocators.bound import slots_bound
from airfeel.radio.allocation.allocators.exact import Exact, solve_exactly
from airfeel.radio.allocation.allocators.exchange import Exchange
from airfeel.radio.allocation.allocators.paper import Paper
from airfeel.radio.allocation.links import Links
from airfeel.radio.allocation.power import best_rates, needed_slots, rates

# Noise, so that the mean SNR of one sub-channel goes from 40 dB down to −10 dB.
NOISES = [1e-6, 1e-3, 1e-2, 1e-1]


def fewest_slots(links):
    """The optimum by trying every owner of every sub-channel."""
    power, gain2, noise, bits = links.power, links.gain2, links.noise, links.bits
    n, m = gain2.shape
    owners = np.array(list(product(range(n), repeat=m)))
    worst = np.zeros(len(owners))
    for i in range(n):
        gains = np.where(owners == i, gain2[i], 0.0)
        rate = best_rates(np.full(len(owners), power[i]), gains, noise)
        worst = np.maximum(worst, needed_slots(rate, np.full(len(owners), bits[i])))
    return worst.min()


def draws(noise, count, seed=0):
    """Small draws with unlike powers and bits."""
    rng = np.random.default_rng([seed, int(1 / noise)])
    for k in range(count):
        n, m = [(1, 3), (2, 2), (2, 6), (3, 4), (3, 6), (4, 5), (4, 6)][k % 7]
        alike = k % 2
        power = np.full(n, 5e-3) if alike else 5e-3 * rng.uniform(0.3, 3.0, n)
        bits = np.full(n, 4e5) if alike else 4e5 * rng.uniform(0.3, 3.0, n)
        yield Links(power, rng.rayleigh(1.0, (n, m)) ** 2, noise, bits)


def slots_of(allocation, links):
    return needed_slots(rates(allocation.power, links.gain2, links.noise), links.bits).max()


@pytest.mark.parametrize("noise", NOISES)
def test_exact_equals_brute_force_and_nothing_beats_the_bound(noise):
    for links in draws(noise, 14):
        found = Exact()(links)
        best = fewest_slots(links)
        assert found.gap == 0.0
        assert slots_of(found, links) == best
        assert slots_bound(links) <= best


@pytest.mark.parametrize("noise", NOISES)
def test_branch_and_bound_finds_the_optimum_from_any_start(noise, monkeypatch):
    """The search alone: no linear programme, no good start, no exchanges."""
    monkeypatch.setattr("airfeel.radio.allocation.allocators.exact.slots_bound", lambda *_: 1.0)
    monkeypatch.setattr(
        "airfeel.radio.allocation.allocators.exact.exchange_channels", lambda owner, *_: owner
    )
    for links in draws(noise, 14, seed=1):
        n, m = links.gain2.shape
        owner, gap = solve_exactly(np.arange(m) % n, links, 60.0)
        gains = np.where(owner == np.arange(n)[:, None], links.gain2, 0.0)
        slots = needed_slots(best_rates(links.power, gains, noise), links.bits).max()
        assert (slots, gap) == (fewest_slots(links), 0.0)
        assert links.slots(owner) == slots


@pytest.mark.parametrize(("n", "m"), [(4, 5), (6, 8)])
def test_exchange_closes_at_least_half_of_the_gap(n, m):
    rng = np.random.default_rng(0)
    power, bits, total = np.full(n, 5e-3), np.full(n, 4.41e5), np.zeros(3)
    for _ in range(15):
        links = Links(power, rng.rayleigh(1.0, (n, m)) ** 2, 1e-6, bits)
        for k, allocate in enumerate((Paper(), Exchange(), Exact())):
            total[k] += slots_of(allocate(links), links)
    paper, ours, best = total
    assert best < paper
    assert paper - ours >= 0.5 * (paper - best)


def test_bound_is_close_at_the_papers_size():
    power, bits = np.full(20, 5e-3), np.full(20, 4.41e5)
    gain2 = np.random.default_rng(1).rayleigh(1.0, (20, 25)) ** 2
    links = Links(power, gain2, 1e-6, bits)
    slots = slots_of(Exchange()(links), links)
    assert 0.98 * slots <= slots_bound(links) <= slots


def test_time_limit_is_kept_and_the_gap_is_honest():
    power, bits = np.full(12, 5e-3), np.full(12, 4.41e5)
    gain2 = np.random.default_rng(1).rayleigh(1.0, (12, 25)) ** 2
    links = Links(power, gain2, 1e-6, bits)
    found = Exact(time_limit=1e-3)(links)
    slots = slots_of(found, links)
    assert found.gap > 0.0
    best_bound = slots_bound(links)  # with all the time it wants
    assert slots / (1.0 + found.gap) <= best_bound <= slots


def test_a_device_without_any_channel_makes_every_assignment_infinite():
    gain2 = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    links = Links(np.ones(2), gain2, 1.0, np.ones(2))
    assert slots_bound(links) == np.inf
    assert links.slots(np.array([0, 1, 0])) == np.inf
    found = Exact()(links)
    assert found.gap == 0.0
    assert np.isfinite(found.power).all()


def test_a_silent_device_needs_no_channel():
    gain2 = np.array([[0.0, 0.0], [1.0, 3.0]])
    links = Links(np.ones(2), gain2, 1e-3, np.array([0.0, 1e4]))
    best = best_rates(np.ones(1), gain2[1:], 1e-3)[0]
    assert slots_of(Exact()(links), links) == np.ceil(1e4 / best)

"""The exact allocator and the bound against the enumeration of all assignments."""

from itertools import product

import numpy as np
import pytest

from airfeel.radio.allocate import Exact, Exchange, Paper
from airfeel.radio.bound import slots_bound
from airfeel.radio.exact import solve_exactly
from airfeel.radio.power import best_rates, needed_slots, rates

# Noise, so that the mean SNR of one sub-channel goes from 40 dB down to −10 dB.
NOISES = [1e-6, 1e-3, 1e-2, 1e-1]


def fewest_slots(power, gain2, noise, bits):
    """The optimum by trying every owner of every sub-channel."""
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
        yield power, rng.rayleigh(1.0, (n, m)) ** 2, bits


@pytest.mark.parametrize("noise", NOISES)
def test_exact_equals_brute_force_and_nothing_beats_the_bound(noise):
    for power, gain2, bits in draws(noise, 14):
        found = Exact()(power, gain2, noise, bits)
        best = fewest_slots(power, gain2, noise, bits)
        assert found.gap == 0.0
        assert needed_slots(rates(found.power, gain2, noise), bits).max() == best
        assert slots_bound(power, gain2, noise, bits) <= best


@pytest.mark.parametrize("noise", NOISES)
def test_branch_and_bound_finds_the_optimum_from_any_start(noise, monkeypatch):
    """The search alone: no linear programme, no good start, no exchanges."""
    monkeypatch.setattr("airfeel.radio.exact.slots_bound", lambda *_: 1.0)
    monkeypatch.setattr("airfeel.radio.exact.exchange_channels", lambda owner, *_: owner)
    for power, gain2, bits in draws(noise, 14, seed=1):
        start = np.arange(gain2.shape[1]) % power.size
        owner, gap = solve_exactly(start, power, gain2, noise, bits, 60.0)
        gains = np.where(owner == np.arange(power.size)[:, None], gain2, 0.0)
        slots = needed_slots(best_rates(power, gains, noise), bits).max()
        assert (slots, gap) == (fewest_slots(power, gain2, noise, bits), 0.0)


@pytest.mark.parametrize(("n", "m"), [(4, 5), (6, 8)])
def test_exchange_closes_at_least_half_of_the_gap(n, m):
    rng = np.random.default_rng(0)
    power, bits, total = np.full(n, 5e-3), np.full(n, 4.41e5), np.zeros(3)
    for _ in range(15):
        gain2 = rng.rayleigh(1.0, (n, m)) ** 2
        for k, allocate in enumerate((Paper(), Exchange(), Exact())):
            rate = rates(allocate(power, gain2, 1e-6, bits).power, gain2, 1e-6)
            total[k] += needed_slots(rate, bits).max()
    paper, ours, best = total
    assert best < paper
    assert paper - ours >= 0.5 * (paper - best)


def test_bound_is_close_at_the_papers_size():
    power, bits = np.full(20, 5e-3), np.full(20, 4.41e5)
    gain2 = np.random.default_rng(1).rayleigh(1.0, (20, 25)) ** 2
    slots = needed_slots(rates(Exchange()(power, gain2, 1e-6, bits).power, gain2, 1e-6), bits).max()
    bound = slots_bound(power, gain2, 1e-6, bits)
    assert 0.98 * slots <= bound <= slots


def test_time_limit_is_kept_and_the_gap_is_honest():
    power, bits = np.full(12, 5e-3), np.full(12, 4.41e5)
    gain2 = np.random.default_rng(1).rayleigh(1.0, (12, 25)) ** 2
    found = Exact(time_limit=1e-3)(power, gain2, 1e-6, bits)
    slots = needed_slots(rates(found.power, gain2, 1e-6), bits).max()
    assert found.gap > 0.0
    best_bound = slots_bound(power, gain2, 1e-6, bits)  # with all the time it wants
    assert slots / (1.0 + found.gap) <= best_bound <= slots


def test_a_device_without_any_channel_makes_every_assignment_infinite():
    gain2 = np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    bits = np.ones(2)
    assert slots_bound(np.ones(2), gain2, 1.0, bits) == np.inf
    found = Exact()(np.ones(2), gain2, 1.0, bits)
    assert found.gap == 0.0
    assert np.isfinite(found.power).all()


def test_a_silent_device_needs_no_channel():
    gain2 = np.array([[0.0, 0.0], [1.0, 3.0]])
    found = Exact()(np.ones(2), gain2, 1e-3, np.array([0.0, 1e4]))
    rate = rates(found.power, gain2, 1e-3)
    assert needed_slots(rate, np.array([0.0, 1e4])).max() == np.ceil(
        1e4 / best_rates(np.ones(1), gain2[1:], 1e-3)[0]
    )

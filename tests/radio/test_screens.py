"""Screens: everyone trains, few are kept; and a digital phase that is shared out by norms."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airfeel.build.setup import build
from airfeel.compression.norms import Normed, largest_norm
from airfeel.radio.selection.device_filters import BestCapacity, CapacityThenNorm, LargestNorm
from airfeel.radio.selection.device_selection import capacity
from airfeel.radio.selection.payload_budget import by_norms, most_entries
from airfeel.types import BadInput, Reason, Said, Turn
from small import play, small, turn_at

N = 6
SETUP = build(small("top-k"))


def said_of(norms):
    nothing = np.zeros(N)
    empty = SETUP.world.model.initial().new_zeros((N, 0))
    return Said(
        np.arange(N),
        nothing == 0,
        SETUP.scheme.codec.agree(turn_at(SETUP, 1)),
        *(empty, empty.long(), empty, nothing, np.zeros((N, 8)), nothing),
        norm=np.array(norms),
    )


def kept(screen, norms, able=None):
    turn = turn_at(SETUP, 1)
    able = np.ones(N, dtype=bool) if able is None else able
    return screen(turn, said_of(norms), SETUP.scheme.fade(turn), able)


@given(count=st.integers(1, N), data=st.data())
def test_equal_norms_keep_the_lowest_ids_and_all_places_keep_everyone(count, data):
    able = np.array(data.draw(st.lists(st.booleans(), min_size=N, max_size=N)))
    chosen = kept(LargestNorm(count), [2.0] * N, able)
    assert np.flatnonzero(chosen).tolist() == np.flatnonzero(able)[:count].tolist()
    for screen in (LargestNorm(N), BestCapacity(N), CapacityThenNorm(N)):
        np.testing.assert_array_equal(kept(screen, [2.0] * N, able), able)


@given(
    count=st.integers(1, N),
    norms=st.lists(st.floats(0.0, 9.0), min_size=N, max_size=N),
)
def test_with_all_candidates_it_is_by_norm_and_with_no_more_than_places_by_capacity(count, norms):
    both = [kept(CapacityThenNorm(count, c), norms) for c in (N, count)]
    np.testing.assert_array_equal(both[0], kept(LargestNorm(count), norms))
    np.testing.assert_array_equal(both[1], kept(BestCapacity(count), norms))
    default = kept(CapacityThenNorm(count), norms)
    np.testing.assert_array_equal(default, kept(CapacityThenNorm(count, 2 * count), norms))


@pytest.mark.parametrize(
    ("scheme", "screen"),
    [("top-k", "bc"), ("tcs-h", "bn2"), ("baa", "bc-bn2"), ("d-dsgd", "bn2-c"), ("top-k", "bn2-c")],
)
def test_a_run_keeps_whom_plain_loops_keep(scheme, screen):
    run = {"screen": {"name": screen, "scheduled": 2}}
    setup = build(small(scheme, scheme=run))
    world, learn, everyone = setup.world, setup.scheme.learn, np.arange(N)
    window = -(-round(world.dim / 2) // 8)
    before_it = np.zeros((N, world.dim))
    for before, _, report, memory in play(setup, 3):
        turn = Turn(world, before, setup.streams)
        fading = setup.scheme.fade(turn)
        delta, _ = learn(
            turn, everyone, setup.streams.uniform("batch", turn.round, everyone, learn.dice)
        )
        x = delta.numpy() + (before_it if memory.shape[1] else 0.0)
        before_it = memory.numpy()
        norm = [math.sqrt(sum(v * v for v in row)) for row in x]
        able_to_send = capacity(world.power, fading)
        if screen == "bn2-c":
            norm = [reached(row, fading, world, window, n) for n, row in enumerate(x)]
        first = list(range(N))
        if screen != "bn2" and screen != "bn2-c":
            first = sorted(first, key=lambda n: -able_to_send[n])[: 2 if screen == "bc" else 4]
        second = first if screen == "bc" else sorted(sorted(first), key=lambda n: -norm[n])[:2]
        out = {n for n, why in enumerate(report.plan.reason) if why is Reason.DROPPED}
        assert out == set(range(N)) - set(second)


def reached(row, fading, world, window, n):
    """The norm of the largest entries that fit, by bisection on the water level."""
    floor = fading.noise / fading.gain2[n]
    low, high = 0.0, floor.max() + world.power[n]
    for _ in range(200):
        level = (low + high) / 2
        too_much = np.maximum(level - floor, 0.0).sum() > world.power[n]
        low, high = (low, level) if too_much else (level, high)
    rate = sum(math.log2(1 + max(low - f, 0.0) / f) for f in floor)
    q = 0
    while (
        q < len(row) // 2 and math.log2(math.comb(len(row), q + 1)) + 33 * (q + 1) <= window * rate
    ):
        q += 1
    return math.sqrt(sum(v * v for v in sorted(abs(row))[len(row) - q :]))


@given(st.integers(2, 3000), st.floats(0.0, 5000.0))
def test_entries_with_values_of_their_own_are_the_most_that_fit(dim, bits):
    def cost(q):
        return math.log2(math.comb(dim, q)) + 33 * q

    q = most_entries(dim, bits, own_values=True)
    assert q == 0 or cost(q) <= bits * (1 + 1e-9)
    assert q == dim // 2 or cost(q + 1) > bits * (1 - 1e-9)


def test_norms_are_told_only_where_a_part_asks():
    assert not isinstance(build(small("top-k", scheme={"screen": "bc"})).scheme.codec, Normed)
    assert isinstance(build(small("top-k", scheme={"screen": "bn2"})).scheme.codec, Normed)
    x = np.random.default_rng(0).standard_normal(50)
    assert largest_norm(x, 50) == largest_norm(x) == pytest.approx(np.linalg.norm(x))
    assert largest_norm(x, 0) == 0.0


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ({"screen": "bn3"}, r"scheme\.screen = 'bn3': must be one of bc, bn2"),
        ({"screen": {"name": "bc", "count": 2}}, r"scheme\.screen\.count: is no setting"),
        ({"screen": {"name": "bn2", "scheduled": 0}}, r"scheme\.screen\.scheduled = 0"),
    ],
)
def test_bad_screens_are_refused_by_name(run, told):
    with pytest.raises(BadInput, match=told):
        build(small("top-k", scheme=run))


def test_a_scheme_without_a_place_for_a_screen_refuses_it():
    with pytest.raises(BadInput, match=r"scheme\.screen = 'bc': scheme 'fedavg' has no place"):
        build(small("fedavg", scheme={"screen": "bc"}))
    both = {"screen": "bn2-c", "options": {"entries": "norm"}}
    with pytest.raises(BadInput, match=r"scheme\.options\.entries = 'norm'"):
        build(small("d-dsgd", scheme=both))


@settings(max_examples=50)
@given(
    norms=st.lists(st.sampled_from([math.nan, 0.0, 0.3, 1.0, 7.0]), min_size=4, max_size=4),
    rates=st.lists(st.one_of(st.just(0.0), st.floats(0.1, 90.0)), min_size=4, max_size=4),
    window=st.integers(1, 500),
)
def test_bits_are_as_the_norms_within_a_slot(norms, rates, window):
    norm, rate = np.array(norms), np.array(rates)
    slots = by_norms(norm, rate, window)
    assert (slots[rate == 0.0] == 0.0).all()
    if not (rate > 0).any():
        return
    assert window <= slots.sum() + 1e-9 <= window + 4
    known = norm[~np.isnan(norm)]
    size = np.where(np.isnan(norm), known.mean() if len(known) else 1.0, norm)
    size = size if size[rate > 0.0].any() else np.ones(4)
    total = sum(size[n] / rate[n] for n in range(4) if rate[n])
    for n in range(4):
        if rate[n]:
            exact = window * size[n] / rate[n] / total
            assert exact - 1e-9 <= slots[n] < exact + 1 + 1e-9


def test_by_norms_devices_speak_in_turn_for_as_long_as_was_granted():
    """Grants, slots, bits and energy of every round, from the norms of the last training."""
    setup = build(small("d-dsgd", scheme={"options": {"entries": "norm", "slots": 40}}))
    world, played = setup.world, play(setup, 6)
    for before, _, report, _ in played:
        turn = Turn(world, before, setup.streams)
        fading = setup.scheme.fade(turn)
        invited = setup.scheme.invite(turn, fading)
        floor = fading.noise / fading.gain2
        norm = before.carry["norm"]
        known = norm[~np.isnan(norm)]
        norm = np.where(np.isnan(norm), known.mean() if len(known) else 1.0, norm)
        rate, plan = np.zeros(N), report.plan
        for n in np.flatnonzero(plan.active):
            filled = plan.power[n] > 0
            level = (plan.power[n] + floor[n])[filled]
            np.testing.assert_allclose(level, level[0], rtol=1e-9)
            assert plan.power[n].sum() == pytest.approx(world.power[n], rel=1e-9)
            rate[n] = np.log2(1 + plan.power[n] / floor[n]).sum()
            assert plan.rate[n] == pytest.approx(rate[n], rel=1e-9)
        weight = np.array([norm[n] / rate[n] if plan.active[n] else 0.0 for n in range(N)])
        if plan.active.sum() < invited.who.sum():
            continue
        slots = np.ceil(40 * weight / weight.sum() - 1e-9)
        assert report.costs.slots == slots.sum()
        for n in np.flatnonzero(plan.active):
            q = most_entries(world.dim, slots[n] * rate[n] * (1 + 1e-12))
            assert invited.grant[n] == q
            bits = math.log2(math.comb(world.dim, q)) + 33
            own = math.ceil(bits / rate[n] - 1e-9)
            assert report.costs.energy[n] == pytest.approx(own * world.power[n], rel=1e-9)
            assert own <= slots[n]
    for (_, after, _, _), (before, _, _, _) in pairwise(played):
        np.testing.assert_array_equal(after.carry["norm"], before.carry["norm"])
    assert np.isfinite(played[-1][1].carry["norm"]).all()

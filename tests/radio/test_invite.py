"""Who is invited, who is dropped to save slots, and what schedulers remember."""

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import airfeel
from airfeel.build.setup import build
from airfeel.catalogues import ALLOCATORS, INVITES
from airfeel.radio.channel.fading import Rayleigh
from airfeel.radio.power_budget import remaining_power
from airfeel.radio.selection.device_selection import (
    BestChannel,
    PfSnr,
    ProportionalFair,
    RandomDevices,
    RoundRobin,
    capacity,
)
from airfeel.streams import Streams
from airfeel.types import Carries, Fading, Reason, State, Turn
from small import play, play_small, small, turn_at

RNG = np.random.default_rng


@pytest.fixture(scope="module")
def world():
    return build(small()).world


def turn(world, round=0, seed=0, **changes):
    theta = world.model.initial()
    fields = {"carry": {"heard": np.zeros(6)}, "spent": np.zeros(6)} | changes
    state = State(round=round, theta=theta, update=theta, support=theta[:0].long(), **fields)
    return Turn(world, state, Streams(seed))


def sky(seed=0):
    gain = RNG(seed).rayleigh(size=(6, 8))
    return Fading(gain, 1e-6, mean2=np.full(6, 2.0), moments=Rayleigh())


@given(
    c=st.integers(1, 1000),
    used=st.integers(0, 2000),
    spent=st.floats(0, 10),
    limit=st.floats(1e-6, 1),
)
def test_remaining_power(c, used, spent, limit):
    (left,) = remaining_power(np.array([limit]), np.array([spent]), float(c), used)
    if used >= c or spent >= c * limit:
        assert left == 0.0
    else:
        assert left == pytest.approx((c * limit - spent) / (c - used))
    assert remaining_power(np.array([limit]), np.array([spent]), np.inf, used) == limit


@pytest.mark.parametrize("name", [name for name in INVITES if name != "anyone"])
def test_nobody_without_power_is_invited(world, name):
    poor = dataclasses.replace(world, slots=100.0)
    broke = turn(poor, spent=np.array([1.0, 0, 1.0, 0, 0, 0]))
    part = INVITES.make(name, scheduled=6, share=1.0)
    if isinstance(part, Carries):
        broke.state.carry.update(part.begin(broke))
    invited = part(broke, sky())
    assert invited.who.tolist() == [False, True, False, True, True, True]


def test_anyone_is_invited_where_nothing_costs_anything(world):
    broke = turn(dataclasses.replace(world, slots=100.0), spent=np.ones(6))
    assert INVITES.make("anyone")(broke, sky()).who.all()


def test_random_devices_are_uniform(world):
    counts = sum(RandomDevices(2)(turn(world, seed=s), sky()).who.astype(int) for s in range(3000))
    assert counts.sum() == 6000
    np.testing.assert_allclose(counts / 3000, 1 / 3, atol=0.04)


def test_round_robin_takes_turns(world):
    heard = [np.flatnonzero(RoundRobin(4)(turn(world, t), sky()).who).tolist() for t in range(3)]
    assert heard == [[0, 1, 2, 3], [0, 1, 4, 5], [2, 3, 4, 5]]


def test_best_channel_takes_the_strongest(world):
    fading = sky(3)
    best = np.sort(np.argsort(-capacity(world.power, fading))[:2])
    found = BestChannel(2)(turn(world), fading).who
    assert np.flatnonzero(found).tolist() == best.tolist()


@given(
    gain=st.lists(st.lists(st.floats(0.01, 10.0), min_size=8, max_size=8), min_size=6, max_size=6),
    mean2=st.lists(st.floats(0.01, 100.0), min_size=6, max_size=6),
    count=st.integers(1, 6),
)
def test_pf_snr_takes_those_who_are_best_for_their_own_mean(world, gain, mean2, count):
    """Mean of |h|²/E|h|² over the sub-channels, in a plain loop."""
    fading = Fading(np.array(gain), 1e-6, mean2=np.array(mean2), moments=Rayleigh())
    ratio = [
        sum(h * h / mean for h in row) / len(row) for row, mean in zip(gain, mean2, strict=True)
    ]
    assume(len({round(r, 6) for r in ratio}) == 6)
    best = sorted(range(6), key=lambda n: -ratio[n])[:count]
    assert np.flatnonzero(PfSnr(count)(turn(world), fading).who).tolist() == sorted(best)


@given(count=st.integers(1, 6), strong=st.integers(0, 5))
def test_pf_snr_breaks_ties_by_the_lower_index_and_is_not_moved_by_a_mean_gain(
    world, count, strong
):
    """All twice as strong as their own means, which differ by 40 dB; one a little more."""
    mean2 = np.array([4.0, 400.0, 0.25, 4.0, 0.04, 1.0])
    gain = np.repeat(np.sqrt(2.0 * mean2)[:, None], 8, axis=1)
    fading = Fading(gain, 1e-6, mean2=gain[:, 0] ** 2 / 2.0, moments=Rayleigh())
    who = PfSnr(count)(turn(world), fading).who
    assert np.flatnonzero(who).tolist() == list(range(count))
    gain[strong] *= 1.01
    who = PfSnr(1)(turn(world), dataclasses.replace(fading, gain=gain)).who
    assert np.flatnonzero(who).tolist() == [strong]


def test_pf_snr_lets_far_devices_speak_as_often_as_near_ones():
    """Each of six is among the two best a third of the time, whatever its mean gain is."""
    unequal = {"mean_gain": [1e4, 1e2, 1.0, 1.0, 1e-1, 1e-2]}
    setup = build(small("tcs-d", scheme={"invite": "pf-snr", "scheduled": 2}, radio=unequal))
    count = np.zeros(6)
    for round in range(1, 401):
        here = turn_at(setup, round)
        fading = setup.scheme.fade(here)
        who = setup.scheme.invite(here, fading).who
        ratio = (fading.gain**2 / (2.0 * np.array(unequal["mean_gain"])[:, None])).mean(axis=1)
        assert np.flatnonzero(who).tolist() == sorted(np.argsort(-ratio)[:2].tolist())
        count += who
    np.testing.assert_allclose(count / 400, 1 / 3, atol=5.0 * np.sqrt(2 / 9 / 400))


def test_proportional_fair_gives_everyone_a_turn():
    """One device hears far better than the rest: best-channel never lets the weakest speak."""
    unequal = {"mean_gain": [1e4, 1e2, 1.0, 1.0, 1e-1, 1e-2]}
    shares = {}
    for name in ("best-channel", "proportional-fair"):
        rounds = play_small("tcs-d", 40, scheme={"scheduler": name, "scheduled": 2}, radio=unequal)
        shares[name] = np.mean([r.plan.active for _, _, r, _ in rounds], axis=0)
    assert shares["best-channel"].min() == 0.0
    assert shares["proportional-fair"].min() > 0.1
    assert shares["proportional-fair"].argmax() == 0


def test_heard_is_remembered(world):
    rounds = play_small("tcs-d", scheme={"scheduler": "proportional-fair"})
    _, after, _, _ = rounds[-1]
    share = np.zeros(6)
    for _, _, report, _ in rounds:
        share = 0.9 * share + 0.1 * report.plan.active
    np.testing.assert_allclose(after.carry["heard"], share)
    fair = ProportionalFair(1)
    late = turn(world, carry={"heard": np.array([0, 1.0, 1, 1, 1, 1])})
    assert fair(late, Fading(np.ones((6, 8)), 1e-6)).who.argmax() == 0


def test_all_hears_everyone_whatever_it_costs():
    loud = {"power_scalar": 1e3}
    assert not any(r.plan.active.any() for _, _, r, _ in play_small("tcs-h", 3, radio=loud))
    rounds = play_small("tcs-h", 3, radio=loud, scheme={"scheduler": "all"})
    assert all(r.plan.active.all() for _, _, r, _ in rounds)


@pytest.mark.parametrize("scheme", ["tcs-h", "tcs-d", "top-k"])
def test_thrifty_hears_no_fewer_devices_per_slot(scheme):
    changes = {
        "scheme": {"scheduled": 6, "global_sparsity": 0.1},
        "radio": {"subchannels": 9, "power_scalar": 0.1},
    }
    plain = build(small(scheme, **changes))
    thrifty = build(
        small(scheme, **(changes | {"scheme": changes["scheme"] | {"scheduler": "thrifty"}}))
    )
    one, other = play(plain, 1)[0][2].plan, play(thrifty, 1)[0][2].plan
    assert other.active.sum() / other.slots >= one.active.sum() / one.slots
    dropped = []
    for _, _, report, _ in play(thrifty, 8):
        assert report.costs.slots == report.plan.slots
        heard = int(report.plan.active.sum())
        dropped.append(sum(r is Reason.DROPPED for r in report.plan.reason))
        assert heard >= (heard + dropped[-1]) / 2
    assert sum(dropped) > 0


def test_thrifty_finds_the_jump():
    """On 25 sub-channels 13 devices cost nearly twice the slots of 12: one is dropped."""
    rounds = play_small(
        "tcs-d",
        5,
        training={"devices": 13},
        scheme={"scheduled": 13, "scheduler": "thrifty"},
        radio={"subchannels": 25},
    )
    assert [int(r.plan.active.sum()) for _, _, r, _ in rounds] == [12] * 5


def test_exact_allocator_reports_its_gap():
    proven = airfeel.run(small("tcs-d", radio={"allocator": "exact"}, training={"rounds": 3}))
    assert proven.summary["allocation_gap"] == 0.0
    assert airfeel.run(small("tcs-d", training={"rounds": 3})).summary["allocation_gap"] is None


@pytest.mark.parametrize("name", ALLOCATORS)
def test_every_allocator_plays_and_the_better_one_is_never_worse(name):
    def total(allocator):
        rounds = play_small("tcs-d", 6, radio={"allocator": allocator, "subchannels": 6})
        return [r.costs.slots_digital for _, _, r, _ in rounds]

    slots = total(name)
    assert all(s > 0 for s in slots)
    if name in ("exchange", "exact"):
        assert all(ours <= papers for ours, papers in zip(slots, total("paper"), strict=True))

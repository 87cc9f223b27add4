"""What must hold for backlog whatever the sky, the budgets and the updates are."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from airfeel.build.setup import build
from airfeel.compression.mask_rules import ExpectedBacklog, Top, expected_backlog
from airfeel.compression.masks import top_k
from airfeel.radio.energy import spent_energy
from airfeel.radio.power_control.regularized_inversion import least_error, regularised_shares
from airfeel.types import BadInput, Turn
from rounds import Learning
from small import play, play_small, small, turn_at

NOISY = {"noise": 1e-2}
CLEAN = {"noise": 1e-40, "power": 1e30}
seeds = st.integers(0, 10**6)


def sky(seed, n=4, m=6, decades=12.0):
    """Energies, gains and budgets of any size, some of them 0."""
    rng = np.random.default_rng(seed)
    size = rng.uniform(0.0, decades)
    energy, gain2 = (10.0 ** rng.uniform(-size, size, (n, m)) for _ in range(2))
    budget = 10.0 ** rng.uniform(-size, size, n)
    for array in (energy, gain2, budget):
        array *= rng.random(array.shape) > rng.choice([0.0, 0.3])
    return energy, gain2, budget, float(10.0 ** rng.uniform(-size, size))


def cost(share, energy, gain2, scalar2):
    """Σ_m c²·σ²·e/g, which is how the ledger has it: b²·e with b = c·σ/h."""
    gain = np.sqrt(gain2)
    inverse = np.divide(np.sqrt(scalar2), gain, out=np.zeros_like(gain), where=gain > 0)
    return spent_energy(energy, inverse * share)


def withheld(share, energy):
    return (np.square(1.0 - share) * energy).sum()


@settings(max_examples=300)
@given(seed=seeds)
def test_energy_is_within_budget_under_any_sky(seed):
    energy, gain2, budget, scalar2 = sky(seed)
    share = regularised_shares(energy, gain2, budget, scalar2)
    assert ((share >= 0.0) & (share <= 1.0)).all()
    assert not share[gain2 == 0.0].any()
    assert not share[budget == 0.0].any()
    spent = cost(share, energy, gain2, scalar2)
    assert (spent <= budget * (1 + 1e-12)).all()
    whole = cost(np.ones_like(share), energy, gain2, scalar2)
    rich = (whole <= budget) & (budget > 0)
    assert (share[rich][gain2[rich] > 0] == 1.0).all()
    short = (whole > budget) & (budget > 0)
    np.testing.assert_allclose(spent[short], budget[short], rtol=1e-9)


def test_skies_beyond_all_measure_are_survived():
    ends = np.array([0.0, 1e-300, 1e-150, 1.0, 1e150, 1e300])
    energy, gain2 = np.meshgrid(ends[:-1], ends)
    for budget in (0.0, 1e-300, 1.0, 1e300):
        limit = np.full(len(energy), budget)
        share = regularised_shares(energy, gain2, limit, 1.0)
        assert np.isfinite(share).all()
        assert (cost(share, energy, gain2, 1.0) <= limit * (1 + 1e-9)).all()
        assert np.isfinite(least_error(energy, gain2, limit, 1.0))


@pytest.mark.parametrize("seed", range(20))
def test_no_other_shares_within_the_budget_leave_less_behind(seed):
    """Against a search that knows nothing of the solution, and against shares at random."""
    rng = np.random.default_rng(seed)
    energy, gain2 = rng.random((1, 4)) + 0.1, rng.rayleigh(size=(1, 4)) ** 2 + 0.01
    budget = np.array([rng.uniform(0.05, 0.9)]) * (energy / gain2).sum()
    share = regularised_shares(energy, gain2, budget, 1.0)
    found = minimize(
        lambda c: withheld(c, energy),
        np.full(4, 0.1),
        bounds=[(0.0, 1.0)] * 4,
        constraints={"type": "ineq", "fun": lambda c: 1 - (c**2 * energy / gain2).sum() / budget},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert withheld(share, energy) <= found.fun * (1 + 1e-6)
    np.testing.assert_allclose(share[0], found.x, atol=1e-3)
    other = rng.random((2000, 4))
    fits = (other**2 * energy / gain2).sum(axis=1) <= budget
    left = (np.square(1.0 - other) * energy).sum(axis=1)
    assert (left[fits] >= withheld(share, energy) * (1 - 1e-12)).all()


def errors(energy, gain2, budget, noise, scalar2):
    """J at some σ²."""
    share = regularised_shares(energy, gain2, budget, scalar2[:, None])
    return noise / scalar2 + (np.square(1.0 - share) * energy).sum(axis=(1, 2))


@pytest.mark.parametrize("noise", [1e-6, 1e-2, 1.0])
@pytest.mark.parametrize("spread", [0.0, 30.0])
def test_loudness_is_that_of_least_error_on_the_whole_grid(noise, spread):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        mean = 10.0 ** (rng.uniform(-spread / 2, spread / 2, (20, 1)) / 10.0)
        gain2, energy = mean * rng.rayleigh(size=(20, 25)) ** 2, np.full((20, 25), 0.04)
        budget = np.full(20, 5e-3 * 40)
        start = (budget / (energy / gain2).sum(axis=1)).min()
        grid = start * 10.0 ** (np.arange(97) / 8.0)
        error = errors(energy, gain2, budget, 1000 * noise, grid)
        found = least_error(energy, gain2, budget, 1000 * noise)
        assert found == pytest.approx(grid[error.argmin()], rel=1e-9)


@settings(max_examples=50)
@given(seed=seeds, exponent=st.integers(-20, 20))
def test_scaling_all_updates_scales_loudness_the_other_way(seed, exponent):
    energy, gain2, budget, noise = sky(seed, decades=3.0)
    factor = 2.0**exponent
    one = least_error(energy, gain2, budget, noise)
    other = least_error(energy * factor**2, gain2, budget, noise)
    assert other * factor**2 == pytest.approx(one, rel=1e-9)


def test_the_more_what_is_withheld_counts_the_less_is_withheld():
    energy, gain2, budget, _ = sky(3, decades=2.0)
    chosen = [least_error(energy, gain2, budget, 10.0, kappa) for kappa in (0.1, 1.0, 10.0)]
    assert sorted(chosen, reverse=True) == chosen
    assert chosen[0] > chosen[-1]


def deltas(setup, before):
    """What every device learns in a round, beside the engine."""
    turn = Turn(setup.world, before, setup.streams)
    learn, ids = setup.scheme.learn, np.arange(setup.world.devices)
    return learn(turn, ids, setup.streams.uniform("batch", turn.round, ids, learn.dice))[0]


def dead_sky(tmp_path):
    """Some sub-channels are dead, a device is, and in every fourth round all are."""
    rng = np.random.default_rng(2)
    gain = rng.rayleigh(size=(4, 6, 8)) * (rng.random((4, 6, 8)) > 0.2)
    gain[1, 3] = gain[3] = 0.0
    np.save(tmp_path / "gains.npy", gain)
    return {"fading": "trace", "trace": str(tmp_path / "gains.npy"), **NOISY}


@pytest.mark.parametrize("invite", ["everyone", "round-robin"])
def test_nothing_is_ever_lost(tmp_path, invite):
    """w_t + mean e = w_{t−1} + mean e + mean Δ + noise, Δ = 0 where a device did not train."""
    e = small("backlog", radio=dead_sky(tmp_path), scheme={"invite": invite})
    setup = build(e)
    memory, n = torch.zeros(6, setup.world.dim, dtype=torch.float64), setup.world.devices
    idle = 0
    for before, after, report, now in play(setup, 12):
        plan, noise = report.plan, torch.zeros(setup.world.dim, dtype=torch.float64)
        trained = np.array([r != "not-invited" for r in plan.reason])
        learnt = deltas(setup, before) * torch.from_numpy(trained)[:, None]
        if plan.active.any():
            z = setup.streams.rng("air", report.round).standard_normal(len(after.support))
            sizes = [len(p) for p in np.array_split(after.support.numpy(), 8)]
            heard = np.repeat(plan.share[plan.active].any(axis=0), sizes)
            noise[after.support] = torch.from_numpy(z * heard) * 0.1 / (plan.scalar * n)
        idle += not plan.active.any()
        left = after.theta + now.mean(0)
        right = before.theta + memory.mean(0) + learnt.mean(0) + noise
        torch.testing.assert_close(left, right, rtol=1e-12, atol=1e-13)
        memory = now
    assert idle == 3


def test_an_idle_round_costs_nothing_and_everything_waits(tmp_path):
    setup = build(small("backlog", radio=dead_sky(tmp_path)))
    played = play(setup, 4)
    (_, _, _, memory), (before, after, report, now) = played[2:]
    assert not report.plan.active.any()
    assert "no-usable-channel" in report.plan.reason
    assert (report.costs.slots, report.costs.energy.any()) == (0, False)
    assert torch.equal(after.theta, before.theta)
    assert torch.equal(after.carry["wait"], before.carry["wait"] + 1)
    assert torch.equal(after.carry["rate"], before.carry["rate"])
    assert torch.equal(now, deltas(setup, before) + memory)


def test_a_device_that_can_send_nothing_is_active_and_keeps_all_of_its_update(tmp_path):
    setup = build(small("backlog", radio=dead_sky(tmp_path)))
    (_, _, _, memory), (before, _, report, now) = play(setup, 2)
    assert report.plan.active.all()
    assert not report.plan.share[3].any()
    assert torch.equal(now[3], deltas(setup, before)[3] + memory[3])


def test_an_update_that_is_not_finite_is_dropped_and_the_mean_stays_over_all():
    setup = build(small("backlog", radio={"noise": 1e-30, "fading": "none"}))

    def breaking(turn, devices, delta):
        delta[(devices == 2) & (turn.round == 2)] = math.nan
        return delta

    broken = dataclasses.replace(setup.scheme, learn=Learning(setup.scheme.learn, breaking))
    (_, first, _, memory), (_, after, report, now) = play(
        dataclasses.replace(setup, scheme=broken), 2
    )
    assert report.plan.reason[2] == "update-not-finite"
    assert torch.equal(now[2], memory[2])
    others = [0, 1, 3, 4, 5]
    x = (deltas(setup, first) + memory)[others][:, after.support]
    torch.testing.assert_close(after.update[after.support], x.sum(0) / 6)


def test_a_device_that_is_not_invited_keeps_its_memory():
    played = play_small("backlog", 4, scheme={"invite": "round-robin"}, radio=NOISY)
    for (_, _, _, memory), (_, _, report, now) in itertools.pairwise(played):
        out = [n for n, r in enumerate(report.plan.reason) if r == "not-invited"]
        assert len(out) == 2
        assert torch.equal(now[out], memory[out])


@settings(max_examples=20)
@given(seed=seeds, floor=st.sampled_from([0.05, 0.1, 0.5, 1.0]))
def test_no_entry_waits_for_ever(seed, floor):
    """With fixed rates, some of them 0, the longest wait is bounded."""
    rng = np.random.default_rng(seed)
    d, k = 120, int(rng.choice([4, 10, 30]))
    rate = torch.from_numpy(10.0 ** rng.uniform(-6, 3, d) * (rng.random(d) > 0.2))
    wait, longest = torch.ones(d, dtype=torch.float64), 1.0
    for _ in range(800):
        sent = top_k(expected_backlog(rate, wait, floor), k)
        wait += 1.0
        longest = max(longest, float(wait.max()) - 1.0)
        wait[sent] = 1.0
    bound = ((1 + floor) / floor * (1 + math.log(longest)) + 1) * d / k
    assert longest <= bound


def test_rates_and_waits_follow_what_was_sent():
    for before, after, _, _ in play_small("backlog", 6, radio=NOISY):
        old, new, sent = before.carry, after.carry, after.support
        assert torch.equal(new["rate"][sent], after.update[sent].abs() / old["wait"][sent])
        assert (new["wait"][sent] == 1).all()
        rest = torch.ones(len(old["rate"]), dtype=torch.bool)
        rest[sent] = False
        assert torch.equal(new["rate"][rest], old["rate"][rest])
        assert torch.equal(new["wait"][rest], old["wait"][rest] + 1)


def test_the_whole_model_with_much_power_is_fedavg():
    ours = play_small("backlog", radio=CLEAN, scheme={"global_sparsity": 1.0})
    for (_, mine, report, memory), (_, theirs, _, _) in zip(
        ours, play_small("fedavg"), strict=True
    ):
        assert report.plan.active.all()
        torch.testing.assert_close(mine.theta, theirs.theta, rtol=1e-12, atol=1e-12)
        assert memory.abs().max() < 1e-15


@pytest.mark.parametrize("power", [5e-3, 1e9])
def test_where_everything_is_affordable_it_is_tcs_h_without_a_local_part(power):
    """At the same σ_t, mask and speakers: but for the order of the division, the same numbers. A
    large κ makes σ_t that at which everybody can afford everything."""
    rich = {"power": power, **NOISY}
    ours = play_small("backlog", radio=rich, scheme={"options": {"kappa": 1e12}})
    loudness = [report.plan.scalar for _, _, report, _ in ours]
    chosen = {"local_sparsity": 0.0, "mask": "expected-backlog", "schedule": "all"}
    theirs = play_small("tcs-h", radio={**rich, "power_scalar": loudness}, scheme=chosen)
    for (_, one, report, memory), (_, other, _, kept) in zip(ours, theirs, strict=True):
        assert report.plan.share.min() == pytest.approx(1.0, abs=1e-14)
        assert torch.equal(one.support, other.support)
        torch.testing.assert_close(one.theta, other.theta, rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(memory, kept, rtol=1e-12, atol=1e-14)


def test_shares_that_are_all_affordable_are_plain_inversion():
    energy, gain2, _, _ = sky(5, decades=3.0)
    share = regularised_shares(energy, gain2, np.full(4, math.inf), 7.0)
    assert ((share == 1.0) == (gain2 > 0)).all()


def test_with_fixed_rates_and_no_waiting_the_mask_is_that_of_tcs_h():
    setup = build(small("backlog"))
    turn = turn_at(setup, 3)
    part = ExpectedBacklog(floor=0.0)
    state = dataclasses.replace(turn.state, carry=part.begin(turn))
    frozen = dataclasses.replace(turn, state=state)
    assert torch.equal(part(frozen, 20), Top()(turn, 20))


def test_a_mask_of_all_entries_is_all_entries():
    setup = build(small("backlog"))
    turn, part = turn_at(setup, 3), ExpectedBacklog()
    turn = dataclasses.replace(turn, state=dataclasses.replace(turn.state, carry=part.begin(turn)))
    assert part(turn, setup.world.dim).tolist() == list(range(setup.world.dim))


@pytest.mark.parametrize(
    ("changes", "k"),
    [
        ({}, 31),
        ({"scheme": {"options": {"k": 11}}}, 11),
        ({"budget": {"slots": 24}}, 16),
        ({"budget": {"slots": 5}}, 8),
        ({"budget": {"slots": 10**6}}, 102),
        ({"budget": {"slots": 24}, "training": {"rounds": None}}, 31),
        ({"budget": {"slots": 24}, "scheme": {"options": {"k": 11}}}, 11),
    ],
)
def test_the_mask_is_as_thin_as_the_slots_allow(changes, k):
    """Of 102 entries on 8 sub-channels in 12 rounds; without slots or rounds φ[g] = 0.3 of them."""
    assert build(small("backlog", **changes)).scheme.codec.k_global == k


def test_between_reports_loudness_stays():
    played = play_small("backlog", 9, scheme={"options": {"every": 4}}, radio=NOISY)
    loud = [report.plan.scalar for _, _, report, _ in played]
    assert loud[0] == loud[3] != loud[4] == loud[7] != loud[8]
    assert not any(report.costs.bits for _, _, report, _ in played)


def test_reports_are_charged_under_strict_accounting():
    played = play_small("backlog", 12, scheme={"strict_bits": True})
    bits = [report.costs.bits for _, _, report, _ in played]
    assert bits == [6 * 32 * 8 * (t in (1, 11)) for t in range(1, 13)]
    slots = [report.costs.slots_digital > 0 for _, _, report, _ in played]
    assert slots == [b > 0 for b in bits]


def test_chosen_parts_take_the_place_of_its_own():
    setup = build(small("backlog", scheme={"mask": "top", "memory": "error-feedback"}))
    assert setup.scheme.codec.mask == Top()
    assert setup.scheme.codec.memory.silent == "keep"
    usual = build(small("backlog")).scheme.codec
    assert (usual.mask, usual.memory.silent) == (ExpectedBacklog(), "add")


@pytest.mark.parametrize(
    ("scheme", "error"),
    [
        ({"options": {"k": 10**6}}, r"scheme\.options\.k = 1000000: must be at most"),
        ({"options": {"k": 0}}, r"scheme\.options\.k = 0: "),
        ({"options": {"kapa": 1.0}}, r"scheme\.options\.kapa: is no setting of .*; did you mean"),
        ({"options": {"kappa": "loud"}}, r"scheme\.options\.kappa = 'loud': "),
        ({"global_sparsity": 0.0}, r"scheme\.global_sparsity = 0: backlog sends nothing"),
        ({"schedule": "power"}, "has no such rule"),
    ],
)
def test_options_that_cannot_be_are_refused_in_a_line(scheme, error):
    with pytest.raises(BadInput, match=error):
        build(small("backlog", scheme=scheme))


def test_tcs_h_can_take_its_parts():
    """Shares beside a digital local part: everyone is heard, within its energy."""
    parts = {"mask": "expected-backlog", "plan": "shares"}
    for _, _, report, _ in play_small("tcs-h", 6, scheme=parts, budget={"slots": 300}):
        assert report.plan.active.all()
        assert report.costs.slots_digital > 0
        assert report.costs.slots_air > 0

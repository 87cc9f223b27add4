"""What backlog's devices send, keep and lose, to the bit: shares, peaks, truncation, two lanes."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from airfeel.build.setup import build
from airfeel.compression import native
from airfeel.engines.threads import Threads
from airfeel.radio.power_control.regularized_inversion import regularised_shares
from airfeel.round import play_round, start
from airfeel.segments import by_value
from airfeel.types import Turn
from ridge import unchecked
from rounds import Learning
from small import play_small, small

NOISE, PEAK, CUT = 1e-2, 3e-3, 0.2
RADIOS = {
    "ideal": {},
    "iq": {"link": {"analog": "iq"}},
    "peaks": {"hardware": {"peak_power": PEAK}},
    "truncated": {"hardware": {"truncation": CUT}},
    "all": {"link": {"analog": "iq"}, "hardware": {"peak_power": PEAK, "truncation": CUT}},
}


@dataclass(frozen=True)
class Watching:
    """A channel that notes what passes, and x of the devices as the engine has it."""

    transmit: object
    engine: Threads
    seen: dict
    air = True

    def __call__(self, turn, said, fading, plan):
        received, delivery = self.transmit(turn, said, fading, plan)
        self.seen.update(said=said, fading=fading, plan=plan, delivery=delivery)
        self.seen["x"] = self.engine._x.clone()
        return received, delivery


def watched(setup, rounds):
    """All of each round: its values, the state before and after, the memory before and after."""
    engine, played = Threads(setup.world, 2), []
    try:
        state = start(setup.scheme, setup.world, setup.streams, engine)
        for _ in range(rounds):
            seen = {"turn": Turn(setup.world, state, setup.streams)}
            seen["memory"] = engine.buffers()["memory"].clone()
            scheme = replace(setup.scheme, transmit=Watching(setup.scheme.transmit, engine, seen))
            state, seen["report"] = play_round(scheme, seen["turn"], engine)
            played.append(seen | {"after": state, "now": engine.buffers()["memory"].clone()})
    finally:
        engine.close()
    return played


def by_hand(seen):
    """The share of each value: what the device can afford of its segment, 0 where it is truncated,
    times what the peak leaves of a slot."""
    said, fading, plan = seen["said"], seen["fading"], seen["plan"]
    n, k = said.common.shape
    speaks = np.ones(fading.gain.shape, bool) if fading.silent is None else ~fading.silent
    speaks, gain = speaks[said.devices], fading.air_gain[said.devices]
    afford = regularised_shares(
        np.where(speaks, said.energy, 0.0), gain**2, plan.budget[said.devices], plan.scalar**2
    )
    share = by_value(afford * speaks, k, said.lanes)
    clip = np.ones((n, k))
    if fading.front is not None and np.isfinite(fading.front.peak):
        sent = share * plan.scalar / by_value(gain, k, said.lanes) * said.common.double().numpy()
        sizes = np.bincount(by_value(np.arange(gain.shape[1]), k, said.lanes))
        slot = np.concatenate([np.arange(size) // said.lanes for size in sizes])
        power = np.array([np.bincount(slot, row) for row in sent**2])
        clip = np.minimum(1.0, np.sqrt(fading.front.peak / power))[:, slot]
    return share, clip


@pytest.mark.parametrize("radio", RADIOS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "plain"])
def test_memory_is_x_minus_what_was_sent_to_the_bit(radio, dtype, compiled, monkeypatch):
    if compiled and native.KERNEL.missing is not None:
        pytest.skip("there is no compiler")
    if not compiled:
        monkeypatch.setattr(native, "serves", lambda *_: False)
    keep, kept = native.keep, []
    monkeypatch.setattr(native, "keep", lambda *words: kept.append(keep(*words)))
    name = str(dtype).removeprefix("torch.")
    e = small("backlog", **RADIOS[radio], radio={"noise": NOISE}, training={"dtype": name})
    for seen in watched(build(e), 3):
        x, mask, part = seen["x"], seen["said"].agreed.support, seen["delivery"].share
        share, clip = by_hand(seen)
        if isinstance(part, np.ndarray):  # of a segment, not yet of a value
            part = torch.from_numpy(by_value(part, len(mask)))
        close = {"rtol": 1e-12 if dtype == torch.float64 else 1e-6, "atol": 0.0}
        np.testing.assert_allclose(part.double().numpy(), share * clip, **close)
        left = x.clone()
        left[:, mask] = x[:, mask] - part.to(dtype) * x[:, mask]
        assert x.dtype == dtype
        assert torch.equal(seen["now"], left)
        assert ((share > 0.01) & (share < 0.99)).any()
        assert (share == 0.0).any() == (radio in ("truncated", "all"))
        assert (clip < 0.99).any() == (radio in ("peaks", "all"))
    assert bool(kept) == compiled


WEIGHTS = {
    "training": {"weights": "samples"},
    "data": {"partition": "dirichlet", "alpha": 1.0},
}


@pytest.mark.parametrize("case", [*RADIOS, "weights"])
def test_nothing_is_lost_by_lanes_peaks_truncation_or_weights(case):
    """w_t + mean w_n·e_n = w_{t−1} + mean w_n·(e_n + Δ_n) + noise, w_n = 1 unless devices count by
    their data."""
    e = small("backlog", **(RADIOS | {"weights": WEIGHTS})[case], radio={"noise": NOISE})
    setup = build(e)
    world, weight = setup.world, torch.ones(6, 1, dtype=torch.float64)
    if world.weights is not None:
        weight = torch.from_numpy(world.weights)[:, None]
    for seen in watched(setup, 5):
        before, after, said, plan = (seen[k] for k in ("turn", "after", "said", "plan"))
        noise, mask = torch.zeros(world.dim, dtype=torch.float64), said.agreed.support
        z = setup.streams.rng("air", after.round).standard_normal(len(mask))
        heard = by_value(plan.share.any(axis=0), len(mask), said.lanes)
        z *= heard * np.sqrt(NOISE / said.lanes) / (plan.scalar * world.devices)
        noise[mask] = torch.from_numpy(z)
        left = after.theta + (weight * seen["now"]).mean(0)
        right = before.state.theta + (weight * seen["x"]).mean(0) + noise
        torch.testing.assert_close(left, right, rtol=1e-12, atol=1e-13)
        assert (seen["x"] - seen["memory"]).abs().max() > 1e-3  # Δ
        assert noise.abs().max() > 1e-6
    assert (weight.std() > 0.1) == (case == "weights")


@pytest.mark.parametrize("at_all", [True, False])
def test_where_nobody_has_anything_to_send_the_round_is_idle(at_all):
    """x = 0 on the mask, or everywhere: no slot, no energy, and everything waits."""
    setup = build(small("backlog", radio={"noise": NOISE}))
    k = setup.scheme.codec.k_global

    def elsewhere(turn, devices, delta):
        """In the first k entries before the first round, and in all others, or none, later."""
        (delta[:, k:] if turn.round == 0 else delta[:, :k]).zero_()
        return delta if at_all else delta.zero_()

    scheme = replace(setup.scheme, learn=Learning(setup.scheme.learn, elsewhere))
    for t, seen in enumerate(watched(replace(setup, scheme=scheme), 3), 1):
        before, after, report = seen["turn"].state, seen["after"], seen["report"]
        assert after.support.tolist() == list(range(k))
        assert {str(r) for r in report.plan.reason} == {"dropped-by-scheduler"}
        assert (report.costs.slots, report.costs.energy.any()) == (0, False)
        assert (after.slots, after.idle) == (0, t)
        assert torch.equal(after.theta, before.theta)
        assert (after.carry["wait"] == t + 1).all()
        assert torch.equal(after.carry["rate"], before.carry["rate"])
        learn, ids = scheme.learn, np.arange(6)
        dice = setup.streams.uniform("batch", t, ids, learn.dice)
        x = learn(seen["turn"], ids, dice)[0] + seen["memory"]
        assert torch.equal(seen["now"], x)
        assert x.any() == at_all


def test_without_a_local_part_the_mask_of_tcs_h_never_moves():
    """The largest entries of an update that lies in the mask are the mask; backlog's moves."""
    changes = {"radio": {"noise": NOISE}}
    still = {"local_sparsity": 0.0, "schedule": "all"}
    for scheme, chosen in (("tcs-h", still), ("backlog", {"mask": "top"})):
        states = [after for _, after, _, _ in play_small(scheme, 8, scheme=chosen, **changes)]
        first = set(states[0].support.tolist())
        for state in states:
            assert set(state.support.tolist()) == first
            assert set(torch.nonzero(state.update).flatten().tolist()) == first
    moving = [after.support.tolist() for _, after, _, _ in play_small("backlog", 8, **changes)]
    assert all(a != b for a, b in zip(moving[1:], moving, strict=False))


def test_the_error_that_loudness_minimises_is_that_of_the_mean():
    """J = N²·E‖ĝ − mean x‖² on the mask where what devices withhold is uncorrelated: signs by
    chance, through the channel and the decoder."""
    setup = build(small("backlog", radio={"noise": NOISE}))
    (seen,) = watched(setup, 1)
    said, plan, fading, turn = (seen[k] for k in ("said", "plan", "fading", "turn"))
    n, mask = setup.world.devices, said.agreed.support
    noise = len(mask) * NOISE / plan.scalar**2
    withheld = float((np.square(1.0 - plan.share) * said.energy).sum())
    rng, errors = np.random.default_rng(1), []
    with unchecked():
        for t in range(2000):
            signs = torch.from_numpy(rng.choice([-1.0, 1.0], said.common.shape))
            told = replace(said, common=said.common.abs() * signs)
            then = replace(turn, state=replace(turn.state, round=t))
            received, _ = setup.scheme.transmit(then, told, fading, plan)
            mean = setup.scheme.codec.decode(then, said.agreed, received).update[mask]
            errors.append(n**2 * float(torch.square(mean - told.common.mean(0)).sum()))
    spread = np.std(errors) / len(errors) ** 0.5
    assert np.mean(errors) == pytest.approx(noise + withheld, abs=4 * spread)
    assert 5 * 4 * spread < min(noise, withheld)  # neither part could be missing


@pytest.mark.parametrize(
    ("slots", "k"),
    [
        (500, 40),  # five slots of eight values in each of 100 rounds
        (100, 24),  # one slot would let an entry wait 351 rounds: K ≥ 2804/128, in whole slots
        (40_000, 2804),  # all of the model
        (None, 841),  # no limit: φ[g]·D
    ],
)
def test_an_experiment_has_the_mask_of_its_slots_but_at_least_a_128th_of_the_model(slots, k):
    budget = {} if slots is None else {"slots": slots}
    setup = build(small("backlog", model={"hidden": 200}, training={"rounds": 100}, budget=budget))
    assert setup.scheme.codec.k_global == k

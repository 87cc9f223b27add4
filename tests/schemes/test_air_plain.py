"""Two readings of the schemes that speak over the air alone: the same on the same dice."""

import importlib
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from airfeel.build.setup import build
from airfeel.types import State, Turn
from small import play, small, turn_at

ROUNDS = 4
ROOT = math.sqrt(math.pi) / 2.0
AS_STATED = {  # whom the mean is over, whether devices remember, and how strongly
    "baa": ("heard", False, 1.0),
    "airfl-mem": ("heard", True, 1.0),
    "cotaf": ("heard", False, 1.0),
    "obda": ("heard", False, 1.0),
    "ef-obda": ("heard", True, 1.0),
    "gbma": ("active", False, 1.0),
}
NEAR_AND_FAR = [1.0, 0.3, 2.0, 1.0, 0.05, 1.5]  # the fifth is too weak to count
CASES = {
    "baa": ("baa", {}),
    "baa-active": ("baa", {"scheme": {"options": {"divide": "active", "threshold": 0.5}}}),
    "baa-by-hand": ("baa", {"scheme": {"options": {"threshold": 0.0, "power_scalar": 0.5}}}),
    "baa-far": ("baa", {"radio": {"mean_gain": NEAR_AND_FAR, "noise": 1e-3}}),
    "airfl-mem": ("airfl-mem", {"scheme": {"options": {"threshold": 0.7}}}),
    "airfl-mem-few": ("airfl-mem", {"radio": {"subchannels": 2}}),
    "airfl-mem-many": ("airfl-mem", {"radio": {"subchannels": 150}}),
    "airfl-mem-budget": ("airfl-mem", {"budget": {"slots": 60}, "radio": {"alpha": 4.0}}),
    "cotaf": ("cotaf", {}),
    "cotaf-far": ("cotaf", {"radio": {"mean_gain": NEAR_AND_FAR, "power": [1e-3, 5e-3] * 3}}),
    "cotaf-budget": ("cotaf", {"budget": {"slots": 60}}),
    "cotaf-last": ("cotaf", {"scheme": {"options": {"norm": "last"}}, "budget": {"slots": 60}}),
    "obda": ("obda", {"radio": {"noise": 1e-3}}),
    "obda-far": ("obda", {"radio": {"mean_gain": NEAR_AND_FAR}, "budget": {"slots": 60}}),
    "ef-obda": ("ef-obda", {"radio": {"noise": 1e-3}}),
    "ef-obda-weak": ("ef-obda", {"scheme": {"options": {"strength": 0.5, "threshold": 0.8}}}),
    "gbma": ("gbma", {"radio": {"noise": 1e-4}}),
    "gbma-far": ("gbma", {"radio": {"mean_gain": NEAR_AND_FAR, "power": [1e-3, 5e-3] * 3}}),
}
IQ = {"link": {"analog": "iq"}, "radio": {"noise": 1e-3}}
CASES |= {
    "baa-iq": ("baa", IQ),
    "airfl-mem-iq": ("airfl-mem", {**IQ, "scheme": {"options": {"threshold": 0.7}}}),
    "airfl-mem-iq-many": ("airfl-mem", {**IQ, "radio": {"subchannels": 70}}),
    "cotaf-iq": ("cotaf", {**IQ, "budget": {"slots": 60}}),
    "ef-obda-iq": ("ef-obda", {**IQ, "scheme": {"options": {"threshold": 0.8}}}),
}
BY_SAMPLES = {
    "data": {"partition": "dirichlet", "alpha": 0.5},
    "training": {"weights": "samples"},
    "radio": {"noise": 1e-3},
}
CASES |= {f"{scheme}-by-samples": (scheme, BY_SAMPLES) for scheme in AS_STATED}
ALL = {"scheme": {"options": {"divide": "all"}}}
CASES["baa-all-by-samples"] = ("baa", {**BY_SAMPLES, **ALL})


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "plain"))
    return importlib.import_module("air_plain")


def by_hand(plain, e, setup):
    """The same experiment by the plain reading, with every draw handed in."""
    world, streams = setup.world, setup.streams
    times, ids = range(ROUNDS + 1), np.arange(world.devices)

    def learn(t, theta):
        state = State.bare(torch.from_numpy(theta.copy()), world.devices, t - 1)
        dice = streams.uniform("batch", t, ids, setup.scheme.learn.dice)
        return setup.scheme.learn(Turn(world, state, streams), ids, dice)[0].numpy()

    alpha, name, options = e.radio.alpha, e.scheme.name, e.scheme.options
    divide, memory, strength = AS_STATED[name]
    return plain.simulate(
        learn=learn,
        theta=world.model.initial().numpy(),
        gain=[setup.scheme.fade(turn_at(setup, t)).gain for t in times],
        air_noise=[streams.rng("air", t).standard_normal(world.dim) for t in times],
        rounds=ROUNDS,
        power=np.broadcast_to(e.radio.power, world.devices),
        mean2=2.0 * np.broadcast_to(e.radio.mean_gain, world.devices),
        noise=e.radio.noise,
        policy=policy(plain, e, alpha),
        encode={"obda": plain.signs, "ef-obda": plain.scaled_signs}.get(name, plain.whole),
        stride=1e-3 if "obda" in name else None,
        memory=memory,
        strength=options.get("strength", strength),
        divide=options.get("divide", divide),
        slots=e.slots,
        lanes=lanes(e),
        samples=None if e.training.weights == "equal" else [len(own) for own in world.shards],
    )


def lanes(e):
    return 2 if e.link.analog == "iq" else 1


def policy(plain, e, alpha):
    """The plain policy with the options of the experiment, within alpha times the budget."""
    options = e.scheme.options
    threshold = options.get("threshold", 0.105)
    if e.scheme.name == "cotaf":
        last = [] if options.get("norm") == "last" else None
        chosen = partial(plain.precoded, threshold=threshold, lanes=lanes(e), last=last)
    elif e.scheme.name == "gbma":
        chosen = partial(plain.flat, root=ROOT)
    else:
        inverse = quad(lambda u: math.exp(-u) / u, threshold, math.inf)[0] if threshold else None
        sigma = options.get("power_scalar")
        known = {"threshold": threshold, "sigma": sigma, "inverse": inverse}
        chosen = partial(plain.truncated, **known, lanes=lanes(e))

    def bolder(norm2, able, gain, mean2, budget, slots, symbols):
        return chosen(norm2, able, gain, mean2, [alpha * b for b in budget], slots, symbols)

    return bolder


@pytest.mark.parametrize("case", CASES)
def test_library_equals_plain_reading(plain, case):
    scheme, changes = CASES[case]
    e = small(scheme, **changes)
    setup = build(e)
    played, records = play(setup, ROUNDS), by_hand(plain, e, setup)
    assert len(played) == len(records) > 1
    for (_, state, report, memory), record in zip(played, records, strict=True):
        plan, costs = report.plan, report.costs
        assert np.flatnonzero(plan.active).tolist() == record["active"]
        assert plan.scalar == pytest.approx(record["divisor"], rel=1e-9)
        assert state.slots == record["slots"]
        active = record["active"]
        np.testing.assert_allclose(
            plan.amplitude[active], np.array(record["amplitude"])[active], rtol=1e-9
        )
        np.testing.assert_allclose(costs.energy, record["energy"], rtol=1e-9)
        np.testing.assert_allclose(state.spent, record["spent"], rtol=1e-9)
        np.testing.assert_allclose(state.theta.numpy(), record["theta"], rtol=1e-9, atol=1e-12)
        assert bool(memory.shape[1]) == AS_STATED[scheme][1]
        if memory.shape[1]:
            np.testing.assert_allclose(memory.numpy(), record["memory"], rtol=1e-9, atol=1e-12)


def test_the_cases_are_not_trivial():
    """Somebody is silent somewhere, somebody everywhere, somebody is too weak or too dear."""
    shards = build(small("baa", **BY_SAMPLES)).world.shards
    assert len({len(own) for own in shards}) > 1
    wanted = {"scheduled", "no-usable-channel", "energy-does-not-fit", "silent-somewhere"}
    seen = set()
    for scheme, changes in CASES.values():
        if wanted <= seen:
            break
        for _, _, report, _ in play(build(small(scheme, **changes)), ROUNDS):
            seen |= {str(r) for r in report.plan.reason}
            quiet = (report.plan.amplitude[report.plan.active] == 0.0).any()
            seen |= {"silent-somewhere"} if quiet else set()
    assert wanted <= seen

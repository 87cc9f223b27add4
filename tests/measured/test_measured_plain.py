"""Two readings of A-DSGD and CA-DSGD: the same over some rounds on the same dice."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from airfeel.build.setup import build
from airfeel.types import State, Turn
from plain import air_plain
from plain import measured_plain as plain
from small import play, small, turn_at

ROUNDS = 4
A_DSGD = {"k": 6, "mean_rounds": 2}
MARKOV = {"denoiser": "markov", "renew": True}
NEAR_AND_FAR = [1.0, 0.3, 2.0, 1.0, 0.05, 1.5]  # the fifth is too weak to count, and out
CASES = {
    "a-dsgd": ("a-dsgd", A_DSGD, {}),
    "a-dsgd-dct": ("a-dsgd", A_DSGD | {"projection": "dct", "pilot": "paper"}, {}),
    "a-dsgd-budget": ("a-dsgd", A_DSGD, {"budget": {"slots": 24}}),
    "a-dsgd-paced": ("a-dsgd", A_DSGD | {"power_share": [1.5, 0.5] * 6}, {}),
    "a-dsgd-iq": ("a-dsgd", A_DSGD, {"link": {"analog": "iq"}}),
    "a-dsgd-markov": ("a-dsgd", A_DSGD | MARKOV, {"radio": {"noise": 1e-4}}),
    "ca-dsgd": ("ca-dsgd", {}, {"radio": {"noise": 1e-4}}),
    "ca-dsgd-dct": ("ca-dsgd", {"projection": "dct", "k": 6, "tuning": 1.3}, {}),
    "ca-dsgd-silence": ("ca-dsgd", {"k": 6, "threshold": 1.7}, {}),
    "ca-dsgd-far": ("ca-dsgd", {"k": 6}, {"radio": {"mean_gain": NEAR_AND_FAR}}),
    "ca-dsgd-budget": ("ca-dsgd", {"k": 6}, {"budget": {"slots": 24}}),
    "ca-dsgd-iq": ("ca-dsgd", {"k": 6, "threshold": 1.2}, {"link": {"analog": "iq"}}),
    "ca-dsgd-markov": (
        *("ca-dsgd", MARKOV | {"k": 6, "threshold": 1.2}),
        {"radio": {"noise": 1e-4}},
    ),
    "ca-dsgd-by-samples": (
        *("ca-dsgd", {"k": 6, "threshold": 0.7}),
        {
            "data": {"partition": "dirichlet", "alpha": 0.5},
            "training": {"weights": "samples"},
            "radio": {"noise": 1e-4},
        },
    ),
}


def made(case):
    scheme, options, changes = CASES[case]
    return small(scheme, scheme={"options": options}, **changes)


def matrix(measure):
    return np.stack([measure.apply(column) for column in np.eye(measure.dim)], axis=1)


def by_hand(e, setup):
    """The same experiment by the plain reading, with every draw handed in."""
    world, streams, codec = setup.world, setup.streams, setup.scheme.codec
    times, ids = range(ROUNDS + 1), np.arange(world.devices)
    lanes, options = 2 if e.link.analog == "iq" else 1, e.scheme.options
    symbols = round(world.dim / 2)

    def learn(t, theta):
        state = State.bare(torch.from_numpy(theta.copy()), world.devices, t - 1)
        dice = streams.uniform("batch", t, ids, setup.scheme.learn.dice)
        return setup.scheme.learn(Turn(world, state, streams), ids, dice)[0].numpy()

    own, markov = e.scheme.name == "a-dsgd", options.get("denoiser") == "markov"
    threshold = options.get("threshold", 0.105)
    inverse = quad(lambda u: math.exp(-u) / u, threshold, math.inf)[0]
    known = {"threshold": threshold, "sigma": None, "inverse": inverse, "lanes": lanes}
    return plain.simulate(
        learn=learn,
        theta=world.model.initial().numpy(),
        matrix=lambda t: matrix(codec.agree(turn_at(setup, t)).projection),
        gain=[setup.scheme.fade(turn_at(setup, t)).gain for t in times],
        air_noise=[streams.rng("air", t).standard_normal(symbols) for t in times],
        rounds=ROUNDS,
        power=np.broadcast_to(e.radio.power, world.devices),
        mean2=2.0 * np.broadcast_to(e.radio.mean_gain, world.devices),
        noise=e.radio.noise,
        k=options.get("k", round(symbols / 2)),
        pilot=options.get("pilot", "last") if own else None,
        mean_rounds=options.get("mean_rounds", 0),
        policy=None if own else partial(air_plain.truncated, **known),
        prior={"leave": 0.05, "forget": 0.1, "entries": None} if markov else None,
        tuning=options.get("tuning", 1.1),
        slots=e.slots,
        lanes=lanes,
        samples=None if world.weights is None else [len(own) for own in world.shards],
        pace=options.get("power_share"),
    )


@pytest.mark.parametrize("case", CASES)
def test_library_equals_plain_reading(case):
    """Speakers, energies, slots, models, memories, and what a belief carries, of every round."""
    e = made(case)
    setup = build(e)
    played, records = play(setup, ROUNDS), by_hand(e, setup)
    assert len(played) == len(records) > 1
    for (_, state, report, memory), record in zip(played, records, strict=True):
        assert np.flatnonzero(report.plan.active).tolist() == record["active"]
        assert (report.costs.slots_air, report.costs.slots) == (record["air"], record["air"])
        assert state.slots == record["slots"]
        np.testing.assert_allclose(report.costs.energy, record["energy"], rtol=1e-9)
        np.testing.assert_allclose(state.spent, record["spent"], rtol=1e-9)
        np.testing.assert_allclose(state.theta, record["theta"], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(memory, record["memory"], rtol=1e-9, atol=1e-9)
        recovery = pytest.approx(record["recovery"], abs=1e-9, nan_ok=True)
        assert report.columns["recovery"] == recovery
        if record["prior"] is not None:
            carried = [state.carry[name] for name in ("prior.pi", "prior.mean", "prior.var")]
            wanted = np.array(record["prior"]["entries"]).T
            np.testing.assert_allclose(carried, wanted, rtol=1e-9, atol=1e-9)


def test_the_cases_are_not_trivial():
    """Sub-channels without speakers, silent devices, uneven data, too few slots, lost pilots."""
    silence = [report.plan for _, _, report, _ in play(build(made("ca-dsgd-silence")), ROUNDS)]
    assert any((~plan.heard.any(axis=0)).any() for plan in silence)
    assert any(not plan.active.all() for plan in silence)
    assert not play(build(made("ca-dsgd-far")), 1)[0][2].plan.active[4]
    assert len({len(own) for own in build(made("ca-dsgd-by-samples")).world.shards}) > 1
    assert len(play(build(made("a-dsgd-budget")), ROUNDS)) == 3
    drowned = play(build(made("a-dsgd-markov")), ROUNDS)
    assert [after.idle for _, after, _, _ in drowned] == [0, 0, 1, 0]

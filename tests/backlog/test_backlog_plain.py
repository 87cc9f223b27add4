"""Two readings of backlog: the library equals examples/backlog_plain.py on the same dice."""

import importlib
from pathlib import Path

import numpy as np
import pytest
import torch

from airfeel.build.setup import build
from airfeel.training.local_sgd import draw_batches
from small import play, small, turn_at

ROUNDS = 12
BY_SAMPLES = {
    "data": {"partition": "dirichlet", "alpha": 0.5},
    "training": {"weights": "samples"},
}
CASES = {
    "as-it-is": {},
    "logistic": {"model": {"name": "logistic"}},
    "loud-noise": {"radio": {"noise": 1e-2}},
    "louder-noise": {"radio": {"noise": 1.0, "mean_gain": [1.0, 1e-3, 1.0, 1e-2, 1.0, 0.1]}},
    "budget": {"budget": {"slots": 30}},
    "bold": {"radio": {"alpha": 30.0}, "budget": {"slots": 40}},
    "more-devices-than-channels": {"radio": {"subchannels": 3}},
    "one-channel": {"radio": {"subchannels": 1}},
    "fewer-entries-than-channels": {"scheme": {"options": {"k": 5}}},
    "whole": {"scheme": {"global_sparsity": 1.0}},
    "options": {"scheme": {"options": {"k": 20, "floor": 0.5, "kappa": 3.0}}},
    "seldom": {"scheme": {"options": {"every": 4}}, "radio": {"noise": 1e-3}},
    "strict": {"scheme": {"strict_bits": True, "options": {"every": 3}}},
    "strict-budget": {"scheme": {"strict_bits": True}, "budget": {"slots": 70}},
    "strict-bold": {"scheme": {"strict_bits": True}, "radio": {"alpha": 50.0, "subchannels": 3}},
    "unequal": {
        "radio": {
            "power": [1e-3, 5e-3, 2e-2, 5e-3, 5e-3, 1e-6],
            "mean_gain": [1.0, 0.1, 3.0, 1.0, 1e-6, 1.0],
        }
    },
    "by-samples": {**BY_SAMPLES, "radio": {"noise": 1e-2}},
    "by-samples-budget": {**BY_SAMPLES, "budget": {"slots": 30}},
    "dead-channels": {"radio": {"fading": "trace", "trace": "gains.npy"}},
    "dead-channels-seldom": {
        "radio": {"fading": "trace", "trace": "gains.npy"},
        "scheme": {"options": {"every": 5}, "strict_bits": True},
    },
}


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    return importlib.import_module("backlog_plain")


@pytest.fixture(autouse=True)
def gains(tmp_path, monkeypatch):
    """A sky with dead sub-channels, dead devices, and rounds in which all is dead."""
    rng = np.random.default_rng(1)
    gain = rng.rayleigh(size=(5, 6, 8)) * (rng.random((5, 6, 8)) > 0.3)
    gain[1, 2] = gain[2, :, 3] = gain[0] = gain[3] = 0.0
    monkeypatch.chdir(tmp_path)
    np.save("gains.npy", gain)


def by_hand(plain, e, setup):
    """The same experiment by the plain reading, with every draw handed in as an array."""
    world, streams, scheme = setup.world, setup.streams, setup.scheme
    n, k = world.devices, scheme.codec.k_global
    steps, size = e.training.local_steps, e.training.batch_size
    times = range(ROUNDS + 1)
    batch = [streams.uniform("batch", t, np.arange(n), steps * size + 1)[:, :-1] for t in times]
    return plain.simulate(
        x=world.data.inputs(world.data.train_x, torch.float64).flatten(1).numpy(),
        y=world.data.train_y.numpy(),
        hidden=e.model.hidden if e.model.name == "mlp" else 0,
        classes=world.data.classes,
        theta=world.model.initial().numpy(),
        batches=[draw_batches(world.shards, u.reshape(n, steps, size)) for u in batch],
        gain=[scheme.fade(turn_at(setup, t)).gain for t in times],
        air_noise=[streams.rng("air", t).standard_normal(k) for t in times],
        rounds=ROUNDS,
        learning_rate=e.training.learning_rate,
        k=k,
        noise=e.radio.noise,
        power=np.broadcast_to(e.radio.power, n),
        alpha=e.radio.alpha,
        slots=e.slots,
        floor=scheme.codec.mask.floor,
        kappa=scheme.plan.kappa,
        every=scheme.plan.rounds_apart,
        strict=scheme.plan.strict,
        samples=None if world.weights is None else np.array([len(own) for own in world.shards]),
    )


def assert_same_round(record, state, report, memory):
    plan, costs = report.plan, report.costs
    assert state.support.tolist() == list(record["mask"])
    assert np.flatnonzero(plan.active).tolist() == list(record["active"])
    assert plan.owner.tolist() == [list(o) for o in record["owner"]]
    assert (costs.slots_air, costs.slots_digital) == (record["slots_air"], record["slots_digital"])
    assert (plan.slots_air, plan.slots_digital) == (costs.slots_air, costs.slots_digital)
    assert state.slots == record["slots_used"]
    assert costs.bits == record["bits"] * plan.active.sum()
    assert plan.scalar == pytest.approx(record["sigma"], rel=1e-9)
    close = {"rtol": 1e-9, "atol": 1e-15}
    for n in record["active"]:
        np.testing.assert_allclose(plan.share[n], record["share"][n], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(plan.power, record["power"], **close)
    np.testing.assert_allclose(costs.energy, record["energy"], **close)
    np.testing.assert_allclose(state.spent, record["spent"], **close)
    np.testing.assert_array_equal(state.carry["wait"].numpy(), record["waits"])
    scale = np.abs(record["theta"]).max()  # of a memory that is 0 but for rounding, too
    pairs = ((state.theta, "theta"), (memory, "memory"), (state.carry["rate"], "rates"))
    for ours, name in pairs:
        np.testing.assert_allclose(ours.numpy(), record[name], rtol=1e-9, atol=1e-9 * scale)


@pytest.mark.parametrize("case", CASES)
def test_library_equals_plain_reading(plain, case):
    e = small("backlog", **CASES[case])
    setup = build(e)
    rounds = play(setup, ROUNDS)
    records, reason = by_hand(plain, e, setup)
    assert len(rounds) == len(records) > 1
    assert reason == ("budget" if len(rounds) < ROUNDS else "rounds")
    for record, (_, state, report, memory) in zip(records, rounds, strict=True):
        assert_same_round(record, state, report, memory)


def test_the_cases_are_not_trivial():
    """The two readings meet where shares lie in between, and where rounds are idle."""
    loud = play(build(small("backlog", **CASES["loud-noise"])), ROUNDS)
    assert all(((r.plan.share > 0.01) & (r.plan.share < 0.99)).any() for _, _, r, _ in loud)
    dead = play(build(small("backlog", **CASES["dead-channels"])), ROUNDS)
    assert {bool(r.plan.active.any()) for _, _, r, _ in dead} == {True, False}
    weighed = build(small("backlog", **CASES["by-samples"])).world
    assert len({len(own) for own in weighed.shards}) > 1
    paid = play(build(small("backlog", **CASES["strict"])), ROUNDS)
    assert {r.costs.slots_digital > 0 for _, _, r, _ in paid} == {True, False}

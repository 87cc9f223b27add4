"""Two readings of the paper: the library equals examples/tcs_h_plain.py on the same dice."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch

from airfeel.build.setup import build
from airfeel.training.local_sgd import draw_batches
from small import play, play_small, small, turn_at

_FILE = Path(__file__).parents[1] / "examples" / "tcs_h_plain.py"
_SPEC = importlib.util.spec_from_file_location("tcs_h_plain", _FILE)
plain = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(plain)

ROUNDS = 12

CASES = {
    "as-it-is": {},
    "logistic": {"model": {"name": "logistic"}},
    "budget": {"budget": {"slots": 100}},
    "more-devices-than-channels": {"radio": {"subchannels": 3}},
    "one-channel": {"radio": {"subchannels": 1}},
    "bold": {"radio": {"alpha": 30.0}, "budget": {"slots": 90}},
    "no-global-part": {"scheme": {"global_sparsity": 0.0}},
    "no-local-part": {"scheme": {"local_sparsity": 0.0}},
    "unquantised": {"scheme": {"bits": 32}},
    "loud-noise": {"radio": {"noise": 1e-2}},
    "unequal": {
        "radio": {
            "power": [1e-3, 5e-3, 2e-2, 5e-3, 5e-3, 1e-6],
            "mean_gain": [1.0, 0.1, 3.0, 1.0, 1e-6, 1.0],
        }
    },
    "schedules": {
        "radio": {"power_scalar": list(np.linspace(0.5, 2.0, ROUNDS))},
        "training": {"learning_rate": list(np.linspace(0.2, 0.05, ROUNDS))},
    },
}


def by_hand(scheme, e, setup):
    """The same experiment by the plain reading, with every draw handed in as an array."""
    world, streams, d = setup.world, setup.streams, setup.world.dim
    n = world.devices
    k_global = round(e.scheme.global_sparsity * d)
    k_local = round(e.scheme.local_sparsity * d)
    steps, size = e.training.local_steps, e.training.batch_size
    ids = np.arange(n)
    times = range(ROUNDS + 1)
    batch = [streams.uniform("batch", t, ids, steps * size + 1)[:, :-1] for t in times]
    width = setup.scheme.codec.dice
    level = np.array([streams.uniform("quantize", t, ids, width) for t in times])
    split = k_local if scheme == "tcs-d" else width
    return plain.simulate(
        scheme,
        x=world.data.inputs(world.data.train_x, torch.float64).flatten(1).numpy(),
        y=world.data.train_y.numpy(),
        hidden=e.model.hidden if e.model.name == "mlp" else 0,
        classes=world.data.classes,
        theta=world.model.initial().numpy(),
        batches=[draw_batches(world.shards, u.reshape(n, steps, size)) for u in batch],
        gain=[setup.scheme.fade(turn_at(setup, t)).gain for t in times],
        air_noise=[streams.rng("air", t).standard_normal(k_global) for t in times],
        uniform_local=level[..., :split],
        uniform_global=level[..., split:],
        order=[streams.rng("invite", t).random(n) for t in times],
        rounds=ROUNDS,
        learning_rate=e.training.learning_rate,
        k_global=k_global,
        k_local=k_local,
        bits=e.scheme.bits,
        scheduled=e.scheduled,
        noise=e.radio.noise,
        power=np.broadcast_to(e.radio.power, n),
        power_scalar=e.radio.power_scalar,
        alpha=e.radio.alpha,
        slots=e.slots,
    )


def assert_same_round(record, state, report, memory):
    plan, costs = report.plan, report.costs
    if record["mask"] is not None:
        assert state.support.tolist() == list(record["mask"])
    assert np.flatnonzero(plan.active).tolist() == list(record["active"])
    assert plan.owner.tolist() == [list(o) for o in record["owner"]]
    assert (costs.slots_air, costs.slots_digital) == (record["slots_air"], record["slots_digital"])
    assert (plan.slots_air, plan.slots_digital) == (costs.slots_air, costs.slots_digital)
    assert state.slots == record["slots_used"]
    close = {"rtol": 1e-9, "atol": 1e-15}
    np.testing.assert_allclose(costs.bits, record["bits"] * plan.active.sum(), **close)
    np.testing.assert_allclose(plan.power, record["power"], **close)
    np.testing.assert_allclose(plan.rate, record["rate"], **close)
    np.testing.assert_allclose(costs.energy, record["energy"], **close)
    np.testing.assert_allclose(state.spent, record["spent"], **close)
    asked = ~np.isnan(plan.needed)
    np.testing.assert_allclose(plan.needed[asked], np.array(record["needed"])[asked], **close)
    for ours, theirs in ((state.theta, record["theta"]), (memory, record["memory"])):
        scale = np.abs(theirs).max()
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-9, atol=1e-9 * scale)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("scheme", ["tcs-h", "tcs-d", "top-k"])
def test_library_equals_plain_reading(scheme, case):
    e = small(scheme, **CASES[case])
    setup = build(e)
    rounds = play(setup, ROUNDS)
    records, reason = by_hand(scheme, e, setup)
    assert len(rounds) == len(records)
    assert reason == ("budget" if len(rounds) < ROUNDS else "rounds")
    for record, (_, state, report, memory) in zip(records, rounds, strict=True):
        assert_same_round(record, state, report, memory)


def test_the_cases_are_not_trivial():
    """The two readings meet in rounds where some devices speak and some do not."""
    rounds = play_small()
    counts = {int(report.plan.active.sum()) for _, _, report, _ in rounds}
    assert len(rounds) >= 10
    assert len(counts) > 2
    assert max(counts) > 1
    bold = play_small("tcs-h", **CASES["bold"])
    assert any("energy-does-not-fit" in report.plan.reason for _, _, report, _ in bold)

"""The federation is the library: what nodes say over the wire gives the same masks and values."""

import numpy as np
import pytest
import torch

from small import play, small, turn_at

pytest.importorskip("flwr", reason='flwr is not installed: pip install "airfeel[flower]"')

from federation import Town, client_app, initial, layout_of, step, strategy
from flwr.serverapp.strategy import FedAdam

from airfeel.build.setup import build
from airfeel.flower import AirMod, AirStrategy, Supplied, radio_only
from airfeel.flower.memory import file_of, load
from airfeel.types import Reason

FLOAT32 = {"training": {"dtype": "float32", "backend": "torch"}}
PERFECT = {**FLOAT32, "radio": {"fading": "none", "noise": 1e-14, "power": 1e6}}
RECIPE = {
    "data": {"augment": ["flip"]},
    "model": {"dropout": [0.3]},
    "training": {"weight_decay": 0.05, "clip_norm": 0.4, "rule": "momentum", "update_clip": 0.3},
}
SCARCE = {"radio": {"power_scalar": 2.0, "mean_gain": [0.01, 1.0, 1.0, 0.3, 1.0, 2.0]}}


def federate(setup, folder, rounds, *, weights=False, **options):
    """The strategy after each round of the federation, by way of a generator."""
    town = Town(client_app(setup, AirMod(folder=folder), weights), setup.world.devices)
    air, arrays = strategy(setup, **options), initial(setup)
    for number in range(1, rounds + 2):
        arrays = step(air, town, number, arrays)
        yield air, town


def node_memory(air, town, folder, device):
    """The memory of a device as its next instruction will settle it."""
    context = next(c for c in town.nodes.values() if c.node_config["partition-id"] == device)
    node, _ = load(context, file_of(folder, context.run_id, device), air.fleet.session)
    return node.settled(air.fleet.counted.get(device, 0)).memory


def test_perfect_channels_for_five_rounds(tmp_path):
    setup = build(small("tcs-h", **PERFECT))
    played = play(setup, 5)
    rounds = federate(setup, tmp_path, 5)
    air, town = next(rounds)
    assert torch.equal(air.state.theta, played[0][0].theta)
    for (_, after, report, memory), (air, town) in zip(played, rounds, strict=True):
        assert air.last.plan.active.all()
        assert torch.equal(air.state.support, after.support)
        assert torch.linalg.vector_norm(
            air.state.theta - after.theta
        ) <= 1e-5 * torch.linalg.vector_norm(after.theta)
        assert air.last.costs.slots == report.costs.slots
        for n in range(6):
            assert np.abs(node_memory(air, town, tmp_path, n) - memory[n].numpy()).max() < 1e-6


@pytest.mark.parametrize("scheme", ["tcs-h", "tcs-d", "top-k", "fedavg"])
@pytest.mark.parametrize("settings", [PERFECT, SCARCE, RECIPE, {"budget": {"slots": 200}}], ids=str)
def test_bit_for_bit_on_any_channel(tmp_path, scheme, settings):
    setup = build(small(scheme, **settings))
    played = play(setup, 5)
    rounds = federate(setup, tmp_path, len(played))
    next(rounds)
    for (_, after, report, memory), (air, town) in zip(played, rounds, strict=True):
        assert torch.equal(air.state.theta, after.theta)
        assert torch.equal(air.state.support, after.support)
        assert air.last.plan.reason == report.plan.reason
        assert np.array_equal(air.last.plan.owner, report.plan.owner)
        assert np.array_equal(air.state.spent, after.spent)
        for n in range(6):
            kept = node_memory(air, town, tmp_path, n)
            if setup.scheme.codec.memory.buffers:
                assert np.array_equal(kept, memory[n].numpy())
            else:
                assert not kept.any()


def test_nodes_apply_the_power_rule_themselves(tmp_path):
    setup = build(small("tcs-h", **SCARCE))
    silent = 0
    for air, _ in federate(setup, tmp_path, 5):
        if air.last is None:
            continue
        loud = [n for n, r in enumerate(air.last.plan.reason) if r is Reason.TOO_LOUD]
        assert air.books.written[-1]["silent"] == len(loud)
        assert (air.last.plan.needed[loud] > air.last.plan.budget[loud]).all()
        silent += len(loud)
    assert 0 < silent < 30


def test_new_weights_do_as_well_as_the_difference(tmp_path):
    setup = build(small("tcs-h", **PERFECT))
    *_, (one, _) = federate(setup, tmp_path / "a", 4)
    *_, (other, _) = federate(setup, tmp_path / "b", 4, weights=True)
    far = torch.linalg.vector_norm(one.state.theta - other.state.theta)
    assert far <= 1e-4 * torch.linalg.vector_norm(one.state.theta)


def test_gains_can_come_from_outside(tmp_path):
    setup = build(small("tcs-h"))
    asked = []

    def gains(t):
        asked.append(t)
        return setup.scheme.fade(turn_at(setup, t)).gain

    played = play(setup, 3)
    fade = Supplied(gains, noise=1e-6)
    *_, (air, _) = federate(setup, tmp_path, 3, fade=fade)
    assert torch.equal(air.state.theta, played[-1][1].theta)
    assert asked == [1, 2, 3]


def test_any_model_by_its_number_of_parameters(tmp_path):
    settings = small("tcs-h", **FLOAT32)
    setup = build(settings)
    bare = radio_only(settings, setup.world.dim)
    town = Town(client_app(setup, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(bare), initial(setup)
    played = play(setup, 3)
    for number in range(1, 5):
        arrays = step(air, town, number, arrays)
    assert torch.equal(air.state.theta, played[-1][1].theta)


def test_the_wrapped_strategy_has_the_last_word(tmp_path):
    """FedAdam makes its own step of the aggregated model; nodes follow it by updates alone."""
    setup = build(small("tcs-h", **FLOAT32))
    town = Town(client_app(setup, AirMod(folder=tmp_path)), 6)
    inner = FedAdam(min_train_nodes=1, min_available_nodes=1, fraction_evaluate=0.0, eta=0.01)
    air, arrays = AirStrategy(inner, setup), initial(setup)
    before = layout_of(setup).vector(arrays)
    for number in range(1, 5):
        arrays = step(air, town, number, arrays)
        after = layout_of(setup).vector(arrays)
        assert np.isclose(np.abs(after - before).max(), 0.01, rtol=0.5)  # Adam's step, not ours
        before = after
    assert all(air.fleet.known[n] == 3 for n in range(6))
    whole = [m for m in town.messages if "arrays" in m.content]
    assert len(whole) == 6  # in round 0 alone

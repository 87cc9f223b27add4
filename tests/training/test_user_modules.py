"""A user's module trains in training mode, and its random numbers follow the run's seed."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import airfeel
from airfeel.build.setup import build
from airfeel.training import global_rng
from airfeel.training.backends import Stacked, Torch, fastest, stacked
from airfeel.training.flat import FlatModel
from airfeel.types import BadInput
from small import play, small
from stopping import interrupted, timeless


class Noisy(nn.Module):
    """A hidden layer whose units are dropped or disturbed while `self.training` is true."""

    def __init__(self, inputs: int, classes: int, source: str) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(inputs, 12), nn.Linear(12, classes)
        self.source, self.modes = source, set[bool]()

    def forward(self, x: Tensor) -> Tensor:
        self.modes.add(self.training)
        h = torch.relu(self.first(x.flatten(1)))
        if self.source == "torch":
            h = F.dropout(h, 0.5, self.training)
        elif self.training and self.source == "numpy":
            h = h * np.random.rand()  # noqa: NPY002 (what users write)
        elif self.training and self.source == "seldom" and float(x[0].sum()) > 3.0:
            h = F.dropout(h, 0.5)
        elif self.source == "evaluation" and not self.training:
            h = h + torch.randn(h.shape)
        return self.last(h)


def noisy(shape: tuple[int, int, int], classes: int, source: str = "torch") -> nn.Module:
    return Noisy(int(np.prod(shape)), classes, source)


def setup(source: str, **training: Any) -> Any:
    model = {"name": "test_user_modules:noisy", "options": {"source": source}}
    return build(small(model=model, training={"backend": "torch", **training}))


def one_device(source: str, seed: int | None) -> tuple[Tensor, FlatModel]:
    world = setup(source).world
    batches = np.arange(40).reshape(1, 5, 8)
    delta, _ = Torch(world.model, world.data)(world.model.initial(), batches, 0.1, [seed])
    return delta, world.model


def test_a_module_trains_in_training_mode_and_is_evaluated_in_evaluation_mode() -> None:
    _, model = one_device("torch", 4)
    module = model.replica().module
    assert module.modes == {True}
    assert not module.training
    module.modes.clear()
    world = setup("torch").world
    world.model.evaluate(world.data, world.model.initial())
    assert world.model.replica().module.modes == {False}


@pytest.mark.parametrize("source", ["torch", "numpy"])
def test_random_numbers_in_forward_follow_the_devices_seed(source: str) -> None:
    same, again, other = (one_device(source, seed)[0] for seed in (4, 4, 5))
    assert torch.equal(same, again)
    assert not torch.equal(same, other)
    assert not torch.equal(same, one_device("none", 4)[0])


@pytest.mark.parametrize("source", ["torch", "numpy", "seldom"])
def test_the_number_of_threads_changes_no_byte(source: str) -> None:
    torch.manual_seed(1)
    one = play(setup(source), 4, threads=1)
    torch.manual_seed(2)
    three = play(setup(source), 4, threads=3)
    assert len(one) == 4
    for (_, a, _, memory_a), (_, b, _, memory_b) in zip(one, three, strict=True):
        assert torch.equal(a.theta, b.theta)
        assert torch.equal(memory_a, memory_b)
    plain = play(setup("none"), 4)
    assert not torch.equal(one[-1][1].theta, plain[-1][1].theta)


def test_once_a_module_is_known_to_draw_the_global_generators_stay_where_they_are() -> None:
    _, model = one_device("torch", 4)
    assert model.seeded.draws
    state = model.seeded.state()
    data = setup("torch").world.data
    Torch(model, data)(model.initial(), np.zeros((2, 1, 8), np.int64), 0.1, [1, 2])
    assert model.seeded.state() == state


def test_a_stopped_run_of_a_noisy_module_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    e = small(model={"name": "test_user_modules:noisy"}, training={"backend": "torch", "rounds": 6})
    whole = airfeel.run(e, tmp_path / "whole")
    parts = airfeel.resume(interrupted(tmp_path / "parts", 3, e))
    assert timeless(whole.folder) == timeless(parts.folder)
    models = [(run.folder / "model.safetensors").read_bytes() for run in (whole, parts)]
    assert models[0] == models[1]


def test_an_evaluation_that_draws_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    global_rng.warn_of_evaluation.cache_clear()
    caplog.set_level(logging.WARNING, logger="airfeel")
    world = setup("evaluation").world
    for _ in range(2):
        world.model.evaluate(world.data, world.model.initial())
    assert [r.getMessage()[:6] for r in caplog.records] == ["model:"]


def test_torchs_dropout_is_trained_by_torch_and_refused_by_stacked() -> None:
    world = setup("none").world
    net = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(9, 4))
    model = FlatModel(net, classes=4, dtype=torch.float64)
    assert isinstance(fastest(model, world.data), Torch)
    batches = np.arange(16).reshape(1, 2, 8)
    run = [Torch(model, world.data)(model.initial(), batches, 0.1, [s])[0] for s in (1, 1, 2)]
    assert torch.equal(run[0], run[1])
    assert not torch.equal(run[0], run[2])
    with pytest.raises(BadInput, match=r"training\.backend = 'stacked'.*use 'torch'"):
        stacked(model, world.data)
    for source in ("torch", "numpy"):
        own = setup(source).world
        with pytest.raises(BadInput, match=r"training\.backend = 'stacked'.*use 'torch'"):
            Stacked(own.model, own.data)(own.model.initial(), batches, 0.1, [1])


def with_norm(**options: Any) -> nn.Module:
    layers = nn.Conv2d(1, 2, 2), nn.BatchNorm2d(2, **options), nn.Flatten(), nn.Linear(8, 4)
    return nn.Sequential(*layers)


@pytest.mark.parametrize("buffers", ["refuse", "frozen"])
def test_running_statistics_are_refused_with_the_options_that_work(buffers: str) -> None:
    with pytest.raises(BadInput, match=r"model\.buffers.*BatchNorm2d.*GroupNorm") as error:
        FlatModel(with_norm(), classes=4, buffers=buffers)
    assert "track_running_stats=False" in str(error.value)
    assert FlatModel(with_norm(track_running_stats=False), classes=4, buffers=buffers).dim


class Offset(nn.Module):
    """Adds a buffer to its input, and counts calls in it where told."""

    def __init__(self, counts: bool) -> None:
        super().__init__()
        self.counts = counts
        self.register_buffer("offset", torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        if self.counts and self.training:
            self.offset += 1
        return x + self.offset


def test_constant_buffers_may_be_frozen_and_others_are_refused() -> None:
    world = setup("none").world
    batches = np.arange(16).reshape(1, 2, 8)

    def model(counts: bool, buffers: str) -> FlatModel:
        net = nn.Sequential(nn.Flatten(), Offset(counts), nn.Linear(9, 4))
        return FlatModel(net, classes=4, dtype=torch.float64, buffers=buffers)

    with pytest.raises(BadInput, match=r"model\.buffers = 'refuse'.*1\.offset.*frozen"):
        model(False, "refuse")
    constant = model(False, "frozen")
    Torch(constant, world.data)(constant.initial(), batches, 0.1, [1])
    changing = model(True, "frozen")
    with pytest.raises(BadInput, match=r"training changed the buffer 1\.offset"):
        Torch(changing, world.data)(changing.initial(), batches, 0.1, [1])

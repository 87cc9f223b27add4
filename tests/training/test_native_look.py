"""A look at the test set by the native kernel: against PyTorch, and the same for any threads."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from native_problems import look, needs_kernel, problem, problem_of
from torch import nn
from torch.nn import functional as F

from airfeel.build.setup import build
from airfeel.data.datasets import load
from airfeel.engines.threads import Threads
from airfeel.training import native
from airfeel.training.flat import FlatModel
from airfeel.training.look import NativeLook
from airfeel.training.models import make
from airfeel.types import BadInput
from small import small

NEAR = 1e-5  # of two scores, relative to the larger: then either may be the best


def check_look(p: dict[str, Any]) -> None:
    """Loss as PyTorch has it in float64, and hits but for images with two equal best scores."""
    module = p["module"].double()
    move = [
        torch.tensor(p[name], dtype=torch.float64)[:, None, None] for name in ("shift", "scale")
    ]
    with torch.no_grad():
        logits = module((torch.as_tensor(p["x"]).double() - move[0]) * move[1])
    y = torch.as_tensor(p["y"])
    best = logits.topk(2, dim=1).values
    unsure = int(((best[:, 0] - best[:, 1]) < NEAR * best.abs().amax(dim=1)).sum())
    hits, loss = look(p)
    assert abs(hits - int((logits.argmax(dim=1) == y).sum())) <= unsure
    assert loss == pytest.approx(float(F.cross_entropy(logits, y, reduction="sum")), rel=1e-5)
    assert unsure < len(y) / 10


@needs_kernel
@pytest.mark.parametrize("seed", range(40))
def test_a_look_is_pytorchs_in_float64(seed: int) -> None:
    check_look(problem(seed))


@needs_kernel
@pytest.mark.parametrize("padding", [0, 1, 2])
@pytest.mark.parametrize("pool", [False, True])
@pytest.mark.parametrize("size", [(3, 3), (4, 7), (6, 40), (13, 9), (15, 16), (5, 66)])
def test_tiles_fill_images_of_any_size(size: tuple[int, int], pool: bool, padding: int) -> None:
    torch.manual_seed(sum(size))
    height, width = ((n + 2 * padding - 2) // (1 + pool) for n in size)
    if min(height, width) < 1:
        return
    leaves = [nn.Conv2d(2, 20, 3, padding=1), nn.ReLU(), nn.Conv2d(20, 33, 3, padding=padding)]
    leaves += [nn.MaxPool2d(2), nn.ReLU()] if pool else []
    module = nn.Sequential(*leaves, nn.Flatten(), nn.Linear(33 * height * width, 3))
    check_look(problem_of(module, (2, *size), 3, seed=1))


@needs_kernel
def test_the_papers_network_looks_as_pytorch_does_after_training_too() -> None:
    torch.manual_seed(0)
    shape = (3, 32, 32)
    module = make("paper-cnn", shape, 10, init="default", seed=0)
    p = problem_of(module, shape, 10, seed=2, steps=40)
    for _ in range(2):
        check_look(p)
        given = {name: p[name] for name in p if name != "module"}
        p["theta"] = p["theta"] + native.local_sgd(**given)[0][0]
        nn.utils.vector_to_parameters(p["theta"].double(), module.double().parameters())


@needs_kernel
@pytest.mark.parametrize("seed", [3, 4, 7, 12])
def test_a_samples_score_does_not_depend_on_the_others(seed: int) -> None:
    p = problem(seed)
    x, y = np.tile(p["x"], (4, 1, 1, 1)), np.tile(p["y"], 4)
    alone = [look(p, x=x[i : i + 1], y=y[i : i + 1]) for i in range(len(y))]
    for count in (0, 1, 3, 4, 5, 63, 64, 65, 130):
        hits, loss = look(p, x=x[:count], y=y[:count])
        assert hits == sum(each for each, _ in alone[:count])
        assert loss == pytest.approx(sum(each for _, each in alone[:count]), rel=1e-6)


@needs_kernel
def test_a_look_is_the_same_for_any_number_of_threads() -> None:
    data = load("digits")
    model = FlatModel(make("small-cnn", data.shape, 10, init="default", seed=0), classes=10)
    theta, seen = model.initial(), NativeLook(native.describe(model.module, data.shape))
    many = replace(data, test_x=data.test_x.repeat(5, 1, 1, 1), test_y=data.test_y.repeat(5))
    alone = seen(many, theta)
    for threads in (1, 2, 3):
        with ThreadPoolExecutor(threads) as pool:
            assert seen(many, theta, pool.map) == alone
    assert alone == pytest.approx(model.evaluate(many, theta), rel=1e-5)


@needs_kernel
@pytest.mark.parametrize("seed", range(0, 12, 2))
def test_what_is_not_finite_shows_in_the_loss_and_leaves_no_trace(seed: int) -> None:
    p = problem(seed)
    before = look(p)
    theta, x = p["theta"].clone(), p["x"].copy()
    theta[0], x[:, 0, 4, 4] = torch.nan, np.nan
    for changes in ({"theta": theta}, {"x": x}):
        assert math.isnan(look(p, **changes)[1])
        assert look(p) == before


@needs_kernel
def test_a_score_that_is_no_number_counts_as_the_best_as_in_pytorch() -> None:
    module = nn.Sequential(nn.Flatten(), nn.Linear(1, 3))
    theta = torch.tensor([0.0, 0.0, 0.0, 1.0, torch.nan, 2.0])
    one, x = np.ones(1, np.float32), np.ones((3, 1, 1, 1), np.float32)
    hits, _ = native.evaluate(
        native.describe(module, (1, 1, 1)), theta, x, np.array([1, 1, 2]), 0 * one, one
    )
    assert hits == 2


@needs_kernel
def test_bad_input_of_a_look_names_the_argument() -> None:
    p = problem(1)
    bad = {"theta": p["theta"][1:], "x": p["x"].astype(np.int32), "y": p["y"] + 100}
    for name, value in (bad | {"shift": p["shift"][1:], "scale": p["scale"].astype(float)}).items():
        with pytest.raises(BadInput, match=f"^{name}: "):
            look(p, **{name: value})


@needs_kernel
def test_the_backend_that_trains_evaluates_too() -> None:
    native_run, torch_run = (
        build(small(training={"backend": name, "dtype": "float32"})) for name in ("native", "torch")
    )
    assert isinstance(native_run.world.look, NativeLook)
    assert torch_run.world.look is None
    theta = native_run.world.model.initial()
    engines = [Threads(setup.world, 2) for setup in (native_run, torch_run)]
    scores = [engine.evaluate(theta) for engine in engines]
    for engine in engines:
        engine.close()
    assert scores[0] == pytest.approx(scores[1], rel=1e-5)
    assert scores[0] == native_run.world.look(native_run.world.data, theta, map)
    assert scores[1] == torch_run.world.model.evaluate(torch_run.world.data, theta)


@needs_kernel
def test_a_test_set_in_another_order_of_memory_is_left_to_pytorch() -> None:
    setup = build(small(training={"backend": "native", "dtype": "float32"}))
    backend, data = setup.scheme.learn.backend, setup.world.data
    turned = data.test_x.transpose(2, 3).contiguous().transpose(2, 3)
    assert isinstance(backend.look, NativeLook)
    assert replace(backend, data=replace(data, test_x=turned)).look is None

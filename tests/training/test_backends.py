"""All backends of local training carry out the same local SGD, and an engine the same round."""

import dataclasses
import logging
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from native_problems import needs_kernel, why_not
from torch import Tensor

from airfeel.build.setup import Setup, build
from airfeel.compression.masks import top_k
from airfeel.engines.threads import Threads
from airfeel.round import play_round, start
from airfeel.training import backends, native
from airfeel.training.backends import Native, Stacked, compiled, fastest
from airfeel.types import BadInput, Turn
from small import play, small, turn_at

NAMES = ["torch", "stacked", pytest.param("native", marks=needs_kernel)]
MODELS = ["logistic", "mlp", "small-cnn", "paper-cnn"]


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Networks as small as these only lose time on several threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def setup(backend: str, model: str = "mlp", dtype: str = "float32", **training: Any) -> Setup:
    side = 16 if model == "paper-cnn" else 8
    e = small(
        data={"shape": [2, side, side], "samples": 120},
        model={"name": model, "hidden": 16},
        training={"backend": backend, "dtype": dtype, "devices": 4, **training},
    )
    return build(e)


@cache
def outcome(backend: str, model: str, dtype: str = "float32") -> tuple[Tensor, np.ndarray]:
    return one_round(setup(backend, model, dtype))


def one_round(s: Setup) -> tuple[Tensor, np.ndarray]:
    """Δ and the losses of all devices from the initial model."""
    learn, world = s.scheme.learn, s.world
    devices = np.arange(world.devices)
    dice = s.streams.uniform("batch", 1, devices, learn.dice)
    return learn(turn_at(s, 1), devices, dice)


def relative(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).norm() / b.double().norm())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", NAMES)
def test_one_round_is_the_same_to_float32_accuracy(name: str, model: str) -> None:
    exact, exact_loss = outcome("torch", model, "float64")
    delta, loss = outcome(name, model)
    assert delta.dtype == torch.float32
    for row, expected in zip(delta, exact, strict=True):
        assert relative(row, expected) < 2e-4
    np.testing.assert_allclose(loss, exact_loss, rtol=1e-4)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", NAMES)
def test_masks_differ_only_at_near_ties(name: str, model: str) -> None:
    exact, _ = outcome("torch", model, "float64")
    delta, _ = outcome(name, model)
    for row, expected in zip(delta, exact, strict=True):
        k = len(row) // 20
        mine, theirs = (set(top_k(x, k).tolist()) for x in (row, expected))
        edge = expected.abs()[list(theirs)].min()
        for i in mine ^ theirs:
            assert abs(expected[i].abs() - edge) <= 1e-3 * expected.abs().max()
        assert len(mine & theirs) >= 0.98 * k


@pytest.mark.parametrize(
    ("name", "threads"),
    [("torch", 3), ("stacked", 1), pytest.param("native", 3, marks=needs_kernel)],
)
def test_the_same_dice_give_the_same_bits(name: str, threads: int) -> None:
    first, second = (play(setup(name, "small-cnn"), 3, threads=t) for t in (1, threads))
    assert len(first) == 3
    for (_, a, _, memory_a), (_, b, _, memory_b) in zip(first, second, strict=True):
        assert torch.equal(a.theta, b.theta)
        assert torch.equal(memory_a, memory_b)


@pytest.mark.parametrize("name", [NAMES[0], NAMES[2]])
def test_block_size_changes_no_bit(name: str) -> None:
    s = setup(name)
    learn, turn = s.scheme.learn, turn_at(s, 1)
    dice = s.streams.uniform("batch", 1, np.arange(4), learn.dice)
    whole, loss = learn(turn, np.arange(4), dice)
    for size in (1, 3):
        for first in range(0, 4, size):
            part = np.arange(first, min(first + size, 4))
            delta, own = learn(turn, part, dice[part])
            assert torch.equal(delta, whole[part])
            assert np.array_equal(own, loss[part])


def test_block_size_of_stacked_changes_only_rounding() -> None:
    """One product for all devices of a block is summed in another order than one for each."""
    s = setup("stacked", dtype="float64")
    whole, _ = one_round(s)
    for n in range(4):
        dice = s.streams.uniform("batch", 1, np.array([n]), s.scheme.learn.dice)
        delta, _ = s.scheme.learn(turn_at(s, 1), np.array([n]), dice)
        assert relative(delta[0], whole[n]) < 1e-12


def test_a_block_of_stacked_devices_fits_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    world = setup("stacked").world
    each = 3 * 4 * world.dim
    monkeypatch.setattr(backends, "_STACK_BYTES", 7 * each)
    assert Stacked(world.model, world.data).block == 7
    monkeypatch.setattr(backends, "_STACK_BYTES", each - 1)
    assert Stacked(world.model, world.data).block == 1


@pytest.mark.skipif(why_not is not None, reason=f"no native kernel: {why_not}")
def test_auto_is_native_where_it_can() -> None:
    world = setup("torch").world
    assert isinstance(fastest(world.model, world.data), Native)


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    backends._say_once.cache_clear()
    caplog.set_level(logging.WARNING, logger="airfeel")
    return lambda: [record.getMessage() for record in caplog.records]


def test_auto_falls_back_and_says_so_once(
    warned: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native.KERNEL, "missing", "no compiler found")
    world = setup("torch").world
    for _ in range(3):
        assert fastest(world.model, world.data).name == "torch"
    assert len(warned()) == 1
    assert "no compiler found" in warned()[0]
    with pytest.raises(BadInput, match=r"training\.backend = 'native': no compiler found"):
        compiled(world.model, world.data)


def test_a_network_that_the_kernel_does_not_know_is_trained_by_torch(
    warned: Callable[[], list[str]],
) -> None:
    world = setup("torch").world
    odd = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(128, 4), torch.nn.Tanh())
    flat = type(world.model)(odd, classes=4)
    assert fastest(flat, world.data).name == "torch"
    assert ["Tanh" in text for text in warned()] == [True]


def test_float64_goes_to_torch_without_a_word(warned: Callable[[], list[str]]) -> None:
    world = setup("torch", dtype="float64").world
    assert fastest(world.model, world.data).name == "torch"
    assert warned() == []


def memories(kind: str, rounds: int = 3) -> tuple[Tensor, Tensor]:
    """theta and the error memory after some rounds with that kind of memory."""
    s = setup("torch")
    engine = Threads(s.world, 2, kind)
    try:
        state = start(s.scheme, s.world, s.streams, engine)
        for _ in range(rounds):
            state, report = play_round(s.scheme, Turn(s.world, state, s.streams), engine)
            assert report is not None
            assert report.plan.active.any()
        return state.theta, engine.buffers()["memory"].clone()
    finally:
        engine.close()


def test_a_memory_in_a_file_is_the_same_to_the_bit() -> None:
    theta, memory = memories("ram")
    filed, filed_memory = memories("file")
    assert memory.abs().sum() > 0
    assert torch.equal(filed, theta)
    assert torch.equal(filed_memory, memory)


def test_a_memory_of_half_the_size_forgets_at_most_a_rounding() -> None:
    theta, memory = memories("ram", rounds=1)
    halved, halved_memory = memories("bfloat16", rounds=1)
    assert halved_memory.dtype == torch.bfloat16
    assert torch.equal(halved, theta)  # the first round starts from an empty memory
    assert torch.equal(halved_memory, memory.bfloat16())
    later, _ = memories("ram")
    assert 0 < relative(memories("bfloat16")[0], later) < 1e-2


def test_devices_that_are_not_invited_are_not_trained() -> None:
    s = build(small("tcs-d", training={"dtype": "float32"}))
    trained: list[int] = []

    class Watched:
        dice, block = s.scheme.learn.dice, s.scheme.learn.block

        def __call__(self, turn: Turn, devices: Any, dice: Any) -> Any:
            trained.extend(devices.tolist())
            return s.scheme.learn(turn, devices, dice)

    scheme = dataclasses.replace(s.scheme, learn=Watched())
    engine = Threads(s.world, 2)
    try:
        state = start(s.scheme, s.world, s.streams, engine)
        _, report = play_round(scheme, Turn(s.world, state, s.streams), engine)
    finally:
        engine.close()
    assert report is not None
    invited = [n for n, r in enumerate(report.plan.reason) if r != "not-invited"]
    assert sorted(trained) == invited
    assert 0 < len(invited) < s.world.devices


def test_a_backend_says_which_it_is_and_why_in_one_short_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(native.KERNEL, "missing", None)
    s = setup("torch", dtype="float64")
    text = backends.in_words(s.scheme.learn.backend)
    assert text.startswith("training with backend torch, not the native kernel: it computes in")
    chosen = backends.in_words(setup("stacked").scheme.learn.backend)
    assert chosen == "training with backend stacked, as training.backend says"
    monkeypatch.setattr(native.KERNEL, "missing", "c++ failed: " + "error " * 200)
    assert len(backends.in_words(setup("auto").scheme.learn.backend)) < 220


@pytest.mark.skipif(why_not is not None, reason=f"no native kernel: {why_not}")
def test_the_native_backend_says_so() -> None:
    backend = setup("auto").scheme.learn.backend
    assert backends.in_words(backend) == "training with the native kernel"


def test_the_warning_of_a_fallback_is_short(
    warned: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native.KERNEL, "missing", "c++ failed: " + "error " * 200)
    world = setup("torch").world
    fastest(world.model, world.data)
    assert len(warned()) == 1
    assert len(warned()[0]) < 240

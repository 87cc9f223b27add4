"""The native kernel against PyTorch in float64, under sanitizers, and its determinism."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from native_problems import flat, look, needs_kernel, problem, problem_of, solve
from torch import Tensor, nn
from torch.nn import functional as F

from airfeel import compiled
from airfeel.training import native
from sanitize import printed


def reference(
    module: nn.Module, theta: Tensor, x: Tensor, y: Tensor, rate: float
) -> tuple[Tensor, float]:
    """One SGD step of PyTorch's, in theta's precision: Δ and the loss before it."""
    module = module.to(theta.dtype)
    nn.utils.vector_to_parameters(theta.clone(), module.parameters())
    loss = F.cross_entropy(module(x.to(theta.dtype)), y)
    gradient = torch.autograd.grad(loss, list(module.parameters()))
    return -rate * torch.cat([g.flatten() for g in gradient]), float(loss.detach())


def seen(p: dict[str, Any], index: np.ndarray, dtype: torch.dtype) -> Tensor:
    """The inputs as the model sees them: (x − shift)·scale."""
    move = [torch.tensor(p[name], dtype=dtype)[:, None, None] for name in ("shift", "scale")]
    return (torch.as_tensor(p["x"][index]).to(dtype) - move[0]) * move[1]


def relative(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b).norm() / b.norm())


def check_one_step(p: dict[str, Any]) -> None:
    """One step is as close to float64 as PyTorch's is, within a factor of 3."""
    index = p["batches"][0, 0]
    y = torch.as_tensor(p["y"][index])
    theta, rate = p["theta"], 1024.0  # so large a step that rounding w itself does not show
    exact, loss64 = reference(p["module"], theta.double(), seen(p, index, torch.float64), y, rate)
    torch32, _ = reference(p["module"], theta, seen(p, index, torch.float32), y, rate)
    delta, loss = solve(p, learning_rate=rate)
    assert relative(delta[0], exact) <= 3 * relative((theta + torch32) - theta, exact)
    assert loss[0] == pytest.approx(loss64, rel=1e-5)


@needs_kernel
@pytest.mark.parametrize("seed", range(40))
def test_one_step_is_as_close_to_float64_as_pytorch_is(seed: int) -> None:
    check_one_step(problem(seed))


@needs_kernel
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("pool", [False, True])
@pytest.mark.parametrize("size", [(24, 28), (4, 6), (48, 6), (6, 80)])
def test_tiles_of_outputs_fill_images_of_any_even_size(
    size: tuple[int, int], pool: bool, padding: int
) -> None:
    """3×3 filters on even sizes: rows of tiles that go in one turn, in many, and in uneven ones."""
    torch.manual_seed(sum(size))
    leaves = [nn.Conv2d(2, 20, 3, padding=1), nn.ReLU(), nn.Conv2d(20, 33, 3, padding=padding)]
    leaves += [nn.ReLU(), nn.MaxPool2d(2)] if pool else []
    height, width = ((n + 2 * padding - 2) // (1 + pool) for n in size)
    module = nn.Sequential(*leaves, nn.Flatten(), nn.Linear(33 * height * width, 3))
    check_one_step(problem_of(module, (2, *size), 3, seed=0))


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> compiled.Kernel:
    """The kernel for the compiler's baseline, whose vectors are short."""
    directory = tmp_path_factory.mktemp("narrow")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "tuning", lambda compiler: ())
        patch.setenv("XDG_CACHE_HOME", str(directory))
        wide = native.KERNEL
        kernel = compiled.Kernel(wide.folder, wide.flags, wide.signatures)
        assert kernel.missing is None
    return kernel


@needs_kernel
def test_short_vectors_give_the_same(
    narrow: compiled.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = [problem(seed) for seed in range(40)]
    expected = [(solve(p, learning_rate=1024.0)[0], look(p)[1]) for p in problems]
    monkeypatch.setattr(native, "KERNEL", narrow)
    for p, (wide, loss) in zip(problems, expected, strict=True):
        delta, _ = solve(p, learning_rate=1024.0)
        assert relative(delta, wide.double()) < 1e-5
        assert look(p)[1] == pytest.approx(loss, rel=1e-5)


@needs_kernel
def test_many_steps_follow_pytorch() -> None:
    for seed in (1, 2):
        p = problem(seed, n=2, steps=3)
        delta, loss = solve(p, learning_rate=0.02)
        for n in range(2):
            theta, losses = p["theta"].double(), []
            for index in p["batches"][n]:
                x, y = seen(p, index, torch.float64), torch.as_tensor(p["y"][index])
                change, before = reference(p["module"], theta, x, y, 0.02)
                theta, losses = theta + change, [*losses, before]
            assert relative(delta[n], theta - p["theta"]) < 1e-3
            assert loss[n] == pytest.approx(np.mean(losses), rel=1e-4)


@needs_kernel
@pytest.mark.parametrize(
    "leaves",
    [
        [nn.ReLU(), nn.Flatten(), nn.Linear(147, 4)],
        [nn.MaxPool2d(2), nn.Conv2d(3, 5, 3), nn.Flatten(), nn.ReLU(), nn.Linear(5, 4), nn.ReLU()],
        [nn.Conv2d(3, 5, 3, padding=2), nn.MaxPool2d(2), nn.MaxPool2d(2), nn.Flatten(),
         nn.Linear(20, 4)],
        [nn.Conv2d(3, 9, 5, padding="same"), nn.MaxPool2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.ReLU(),
         nn.Conv2d(9, 4, 1), nn.Identity(), nn.Flatten(), nn.Dropout(0.0), nn.Linear(4, 4)],
    ],
)  # fmt: skip
def test_relu_and_pool_may_stand_anywhere(leaves: list[nn.Module]) -> None:
    torch.manual_seed(1)  # the leaves were made when the tests were collected, whatever came before
    for leaf in leaves:
        if isinstance(leaf, nn.Conv2d | nn.Linear):
            leaf.reset_parameters()
    module = nn.Sequential(*leaves)
    dice = np.random.default_rng(1)
    x = dice.standard_normal((9, 3, 7, 7)).astype(np.float32)
    y, index = dice.integers(0, 4, 9), np.arange(9).reshape(1, 1, 9)
    theta, one = flat(module), np.ones(3, np.float32)
    delta, _ = native.local_sgd(
        native.describe(module, (3, 7, 7)), theta, x, y, index, 0.1, 0 * one, one
    )
    exact, _ = reference(module, theta.double(), torch.from_numpy(x), torch.from_numpy(y), 0.1)
    assert relative(delta[0], exact) < 1e-5


@needs_kernel
def test_same_bits_on_one_and_two_threads_in_one_call_and_in_many() -> None:
    p = problem(5, n=4, steps=3)
    delta, loss = solve(p)
    again, _ = solve(p)
    assert torch.equal(delta, again)

    def one(n: int) -> tuple[Tensor, Tensor]:
        return solve(p, batches=p["batches"][n : n + 1])

    for threads in (1, 2):
        with ThreadPoolExecutor(threads) as pool:
            results = list(pool.map(one, range(4)))
        assert torch.equal(torch.cat([d for d, _ in results]), delta)
        assert torch.equal(torch.cat([mean for _, mean in results]), loss)


@needs_kernel
def test_networks_may_alternate_on_one_thread() -> None:
    problems = [problem(seed) for seed in (0, 1, 2)]
    fresh = [solve(p)[0] for p in problems]
    for _ in range(2):
        for p, expected in zip(problems, fresh, strict=True):
            assert torch.equal(solve(p)[0], expected)


@needs_kernel
def test_out_is_filled_and_returned() -> None:
    p = problem(3, n=2)
    out = torch.full((2, len(p["theta"])), torch.nan)
    delta, _ = solve(p, out=out)
    assert delta.data_ptr() == out.data_ptr()
    assert torch.equal(out, solve(p)[0])


@needs_kernel
def test_no_devices_is_legal() -> None:
    p = problem(3)
    delta, loss = solve(p, batches=np.empty((0, 2, 4), np.int64))
    assert delta.shape == (0, len(p["theta"]))
    assert loss.shape == (0,)


@needs_kernel
@pytest.mark.parametrize("seed", range(0, 20, 2))
def test_what_is_not_finite_shows_and_leaves_no_trace(seed: int) -> None:
    p = problem(seed)
    before, _ = solve(p)
    theta, x = p["theta"].clone(), p["x"].copy()
    theta[0], x[:, 0, 4, 4] = torch.nan, np.nan
    for changes in ({"theta": theta}, {"x": x}):
        delta, loss = solve(p, **changes)
        assert not torch.isfinite(delta).all()
        assert torch.isnan(loss).all()
        assert torch.equal(solve(p)[0], before)


@needs_kernel
def test_the_callers_treatment_of_subnormals_is_kept() -> None:
    tiny = np.full(4, 1e-40, np.float32)
    solve(problem(1))
    assert (tiny * np.float32(0.5) > 0).all()


@needs_kernel
@pytest.mark.parametrize("tuning", [None, ()], ids=["native", "baseline"])
def test_a_sanitizer_finds_nothing(tuning: tuple[str, ...] | None, tmp_path: Path) -> None:
    """Address and undefined-behaviour sanitizers over random networks, in arrays of exact size."""
    problems = [problem(seed, n=2, steps=2, drop=0.3 * (seed % 3)) for seed in range(40)]
    text = "\n".join(driver_input(p) for p in problems)
    driver = Path(__file__).with_name("native_sanitize.cpp")
    found = printed(driver, native.KERNEL.folder, tmp_path, text, tuning, level="-O0")
    assert len(found.splitlines()) == len(problems)
    assert "nan" not in found


def driver_input(p: dict[str, Any]) -> str:
    network, bytes = p["network"], int(p["x"].dtype == np.uint8)
    sizes = (network.parameters, network.classes, *p["batches"].shape, len(network.layers))
    sizes += (network.units,)
    return " ".join(str(int(n)) for n in (9, bytes, *sizes, *network.table.flatten()))

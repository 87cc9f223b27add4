"""Dropout: the same masks in PyTorch and in the kernel, their laws, and what is refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from native_problems import flat, needs_kernel, problem, problem_of, solve
from torch import Tensor, nn
from torch.nn import functional as F

import airfeel
from airfeel.build.setup import Setup, build
from airfeel.training import native
from airfeel.training.backends import stacked
from airfeel.training.dropout import Dropout, MaskNumbers, kept, mask_numbers
from airfeel.training.flat import FlatModel
from airfeel.training.native_sgd import Native
from airfeel.types import BadInput
from small import small, turn_at
from stopping import content, interrupted

RECIPE = {"weight_decay": 0.05, "clip_norm": 0.4, "label_smoothing": 0.2, "rule": "momentum"}
DROPS: list[tuple[str, Any]] = [
    *(("mlp", 0.5), ("mlp", [0.3]), ("small-cnn", 0.4), ("small-cnn", [0.25, 0.5])),
    *(("small-cnn", [0.3, 0.0]), ("paper-cnn", 0.5), ("paper-cnn", [0.25, 0.25, 0.5])),
]


@pytest.fixture(autouse=True, scope="module")
def _one_thread() -> Iterator[None]:
    """Networks as small as these only lose time on several threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def setup(backend: str, model: str, dropout: Any, dtype: str = "float32", **training: Any) -> Setup:
    side = 16 if model == "paper-cnn" else 8
    e = small(
        data={"shape": [2, side, side + 1], "samples": 120},
        model={"name": model, "hidden": 9, "dropout": dropout},
        training={"backend": backend, "dtype": dtype, "devices": 4, **training},
    )
    return build(e)


def one_round(s: Setup) -> tuple[Tensor, np.ndarray]:
    """Δ and losses of all devices from the initial model."""
    devices = np.arange(s.world.devices)
    numbers = s.streams.uniform("batch", 1, devices, s.scheme.learn.dice)
    return s.scheme.learn(turn_at(s, 1), devices, numbers)


def relative(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).norm() / b.double().norm())


@contextmanager
def dropping(seed: int) -> Iterator[None]:
    """Modules drop units by the random numbers of that seed."""
    token = mask_numbers.set(MaskNumbers(seed))
    yield
    mask_numbers.reset(token)


def masks(network: native.Network, batch: int, seed: int) -> np.ndarray:
    """The table of one device's only step."""
    numbers = MaskNumbers(seed)
    drawn = [place.draw(batch, numbers).numpy().ravel() for place in network.places]
    return np.concatenate(drawn).astype(np.uint8).reshape(1, 1, -1)


@needs_kernel
@pytest.mark.parametrize("recipe", [{}, RECIPE], ids=["alone", "with all"])
@pytest.mark.parametrize(("model", "dropout"), DROPS)
def test_the_kernel_drops_the_units_that_pytorch_drops(
    model: str, dropout: Any, recipe: dict[str, Any]
) -> None:
    exact, exact_loss = one_round(setup("torch", model, dropout, **recipe))
    s = setup("auto", model, dropout, **recipe)
    assert s.scheme.learn.backend.name == "native"
    delta, loss = one_round(s)
    for row, expected in zip(delta, exact, strict=True):
        assert relative(row, expected) < 1e-4
    np.testing.assert_allclose(loss, exact_loss, rtol=1e-4)
    assert relative(exact, one_round(setup("torch", model, 0.0, **recipe))[0]) > 0.1


def check_one_step(p: dict[str, Any], smoothing: float = 0.0) -> None:
    """Δ and loss of one step with dropout as PyTorch has them in float64."""
    index = p["batches"][0, 0]
    shift, scale = (torch.tensor(p[name]).double()[:, None, None] for name in ("shift", "scale"))
    x = (torch.as_tensor(p["x"][index]).double() - shift) * scale
    module = p["module"].double()
    nn.utils.vector_to_parameters(p["theta"].double(), module.parameters())
    with dropping(5):
        output = module(x)
    loss = F.cross_entropy(output, torch.as_tensor(p["y"][index]), label_smoothing=smoothing)
    gradient = torch.autograd.grad(loss, list(module.parameters()))
    exact = torch.cat([g.flatten() for g in gradient])
    keep = masks(p["network"], len(index), 5)
    terms = native.Terms(label_smoothing=smoothing)
    delta, mean = solve(p, learning_rate=1024.0, keep=keep, terms=terms)
    assert relative(delta[0] / -1024.0, exact) < 1e-4
    assert mean[0] == pytest.approx(float(loss.detach()), rel=1e-5)


@needs_kernel
@pytest.mark.parametrize("seed", range(30))
def test_random_networks_drop_as_pytorch_does(seed: int) -> None:
    p = problem(seed, drop=0.4)
    assert p["network"].places or seed == 0 or len(p["network"].layers) == 1
    if p["network"].places:
        check_one_step(p)


@needs_kernel
@pytest.mark.parametrize(
    "leaves",
    [
        [nn.Conv2d(3, 5, 3), Dropout(0.4), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(125, 4)],
        [nn.Conv2d(3, 17, 3), nn.MaxPool2d(2), Dropout(0.4, coarse=True), nn.ReLU(), nn.Flatten(),
         nn.Linear(425, 4)],
        [nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), Dropout(0.3, coarse=True), nn.Conv2d(16, 6, 3),
         nn.MaxPool2d(2), nn.Flatten(), Dropout(0.5), nn.Linear(150, 7), Dropout(0.2), nn.ReLU(),
         nn.Linear(7, 4)],
        [nn.Conv2d(3, 16, 3), Dropout(0.5), nn.Flatten(), nn.Linear(1600, 4)],
        [nn.ReLU(), Dropout(0.5), nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(400, 4)],
        [nn.Flatten(), nn.Linear(432, 9), Dropout(0.5, coarse=True), nn.Linear(9, 4), Dropout(0.5)],
    ],
    ids=["before pool", "pooled without relu", "many", "no relu", "first", "logits"],
)  # fmt: skip
def test_dropout_may_stand_behind_any_layer(leaves: list[nn.Module]) -> None:
    torch.manual_seed(1)
    for leaf in leaves:
        if isinstance(leaf, nn.Conv2d | nn.Linear):
            leaf.reset_parameters()
    check_one_step(problem_of(nn.Sequential(*leaves), (3, 12, 12), 4, seed=3), smoothing=0.2)


@needs_kernel
@pytest.mark.parametrize("seed", [1, 3, 6, 8])
def test_the_kernels_gradient_is_the_slope_of_its_own_loss(seed: int) -> None:
    """Finite differences along random directions, with smoothing and dropout."""
    p = problem(seed, drop=0.3)
    keep = masks(p["network"], p["batches"].shape[2], 7)
    terms = native.Terms(label_smoothing=0.2)

    def at(theta: Tensor) -> tuple[Tensor, float]:
        delta, loss = solve(p, theta=theta, learning_rate=1024.0, keep=keep, terms=terms)
        return delta[0] / -1024.0, float(loss[0])

    gradient, _ = at(p["theta"])
    for way in (gradient, gradient + 0.5 * gradient.norm() * torch.randn(len(gradient)) / 50):
        step = 1e-3 * way / way.norm()
        slope = (at(p["theta"] + step)[1] - at(p["theta"] - step)[1]) / 2
        assert slope == pytest.approx(float(gradient @ step), rel=0.02)


@pytest.mark.parametrize("coarse", [False, True])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_the_expected_output_is_the_input(p: float, coarse: bool) -> None:
    drop, x = Dropout(p, coarse=coarse), torch.ones(200, 3, 10, 50, dtype=torch.float64)
    with dropping(1):
        y = drop(x)
    assert set(y.unique().tolist()) == {0.0, 1.0 / (1.0 - drop.p)}
    spread = (p / (1 - p) / y.numel()) ** 0.5
    assert abs(float(y.mean()) - 1) < 4 * spread
    # neither samples nor pixels nor channels nor the next draw share a mask
    for axis in range(4):
        mean = y.mean(dim=[a for a in range(4) if a != axis])
        assert ((mean - 1).abs() < 6 * spread * len(mean) ** 0.5).all()
        kept = [part.flatten() for part in y.movedim(axis, 0)[:2] > 0]
        assert float((kept[0] == kept[1]).double().mean()) == pytest.approx(
            p * p + (1 - p) ** 2, abs=6 * (1 / len(kept[0])) ** 0.5
        )
    with dropping(1):
        again, later = drop(x), drop(x)
    assert torch.equal(again, y)
    assert not torch.equal(later, y)


def test_one_number_drops_as_it_always_did() -> None:
    generator, x = torch.Generator().manual_seed(4), torch.randn(5, 7)
    expected = x * (torch.rand(x.shape, generator=generator, dtype=torch.float64) >= 0.3) / 0.7
    with dropping(4):
        assert torch.equal(Dropout(0.3)(x), expected)


def test_coarse_shares_are_multiples_of_a_65536th() -> None:
    assert Dropout(0.25, coarse=True).p == 0.25
    assert Dropout(0.1, coarse=True).p == 6554 / 65536
    assert Dropout(0.999999, coarse=True).p == 65535 / 65536
    keep = kept((4, 100_000), 6554 / 65536, True, MaskNumbers(3))
    assert float((~keep).double().mean()) == pytest.approx(0.1, abs=4 * (0.09 / 400_000) ** 0.5)


@pytest.mark.parametrize("name", ["torch", pytest.param("native", marks=needs_kernel)])
@pytest.mark.parametrize("off", [0, [0, 0.0]])
def test_a_share_of_zero_gives_the_bytes_of_no_dropout(name: str, off: Any) -> None:
    delta, loss = one_round(setup(name, "small-cnn", off))
    expected, before = one_round(build(small(
        data={"shape": [2, 8, 9], "samples": 120},
        model={"name": "small-cnn", "hidden": 9},
        training={"backend": name, "dtype": "float32", "devices": 4},
    )))  # fmt: skip
    assert torch.equal(delta, expected)
    np.testing.assert_array_equal(loss, before)


@needs_kernel
def test_without_seeds_nothing_is_dropped() -> None:
    backend = setup("native", "small-cnn", [0.5, 0.5]).scheme.learn.backend
    plain = setup("native", "small-cnn", 0.0)
    batches, theta = np.arange(24).reshape(2, 2, 6), plain.world.model.initial()
    off, expected = (b(theta, batches, 0.1)[0] for b in (backend, plain.scheme.learn.backend))
    assert torch.equal(off, expected)
    assert not torch.equal(backend(theta, batches, 0.1, [1, 2])[0], off)


@needs_kernel
def test_how_devices_share_calls_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    s = setup("native", "small-cnn", [0.5, 0.5])
    assert isinstance(s.scheme.learn.backend, Native)
    expected = one_round(s)
    monkeypatch.setattr("airfeel.training.native_sgd._MASK_BYTES", 1)
    alone = one_round(s)
    assert torch.equal(alone[0], expected[0])
    np.testing.assert_array_equal(alone[1], expected[1])


@needs_kernel
def test_no_dropout_and_other_masks_leave_no_trace() -> None:
    p = problem(3, drop=0.4)
    keep = masks(p["network"], p["batches"].shape[2], 1)
    plain, dropped = solve(p)[0], solve(p, keep=keep)[0]
    assert not torch.equal(plain, dropped)
    assert torch.equal(solve(p)[0], plain)
    assert torch.equal(solve(p, keep=keep)[0], dropped)
    assert relative(solve(p, keep=1 - keep)[0], dropped) > 0.1


@pytest.mark.parametrize("backend", ["torch", pytest.param("native", marks=needs_kernel)])
def test_workers_and_a_resumed_run_change_no_byte(backend: str, tmp_path: Any) -> None:
    def e(threads: int) -> Any:
        return small(
            data={"shape": [1, 8, 8]},
            model={"name": "small-cnn", "dropout": [0.25, 0.5]},
            training={"dtype": "float32", "backend": backend, "rounds": 6},
            run={"threads": threads, "checkpoint_every": 2},
        )

    airfeel.run(e(1), tmp_path / "one")
    airfeel.run(e(2), tmp_path / "two")
    airfeel.resume(interrupted(tmp_path / "stopped", 4, e(2)))
    one, two, stopped = (content(tmp_path / name) for name in ("one", "two", "stopped"))
    assert one[:3] == two[:3] == stopped[:3]
    assert "dropout = [\n    0.25,\n    0.5,\n]" in (tmp_path / "one" / "config.toml").read_text()


@pytest.mark.parametrize(
    ("model", "dropout", "words"),
    [
        ("paper-cnn", [0.1], r"model.dropout = \[0.1\]: has 1 values, .*'paper-cnn'.*list of 3"),
        ("small-cnn", [0.1, 0.2, 0.3], r"model.dropout = .*has 3 values.*list of 2"),
        ("mlp", [0.1, 0.2], r"model.dropout = .*has 2 values.*list of 1"),
        ("logistic", [0.1], r"model.dropout = \[0.1\]: .*'logistic' has no places"),
        ("test_dropout:own", [0.1], r"model.dropout = \[0.1\]: .*own' has no places"),
        ("mlp", [0.1, 1.0], r"model.dropout = \[0.1, 1.0\]: must be a number of at least 0 and"),
        ("mlp", -0.1, r"model.dropout = -0.1: must be a number of at least 0 and below 1"),
        ("mlp", [], r"model.dropout = \[\]: must be a number of at least 0 and below 1"),
        ("mlp", float("nan"), r"model.dropout = nan: must be a number"),
        ("mlp", True, r"model.dropout = True: must be a number"),
    ],
)
def test_what_is_refused(model: str, dropout: Any, words: str) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        setup("torch", model, dropout)
    assert "\n" not in str(caught.value)


def test_stacked_devices_have_no_dropout() -> None:
    with pytest.raises(BadInput, match=r"training.backend = 'stacked': has no dropout"):
        setup("stacked", "mlp", [0.5])
    world = setup("torch", "mlp", 0.0).world
    own = FlatModel(nn.Sequential(Dropout(0.5), nn.Flatten(), nn.Linear(144, 4)), classes=4)
    with pytest.raises(BadInput, match=r"training.backend = 'stacked': has no dropout"):
        stacked(own, world.data)


@pytest.mark.parametrize(
    ("leaves", "reason"),
    [
        ([Dropout(0.5)], "before the first layer"),
        ([nn.Conv2d(2, 2, 1), Dropout(0.5), Dropout(0.5)], "behind another dropout"),
        ([nn.Conv2d(2, 2, 1), nn.Dropout(0.5)], "not one of"),
        ([nn.Conv2d(2, 2, 1), nn.Dropout2d(0.5)], "not one of"),
    ],
)
def test_the_kernel_refuses_other_dropout_by_name(leaves: list[nn.Module], reason: str) -> None:
    module = nn.Sequential(*leaves, nn.Flatten(), nn.Linear(128, 3))
    with pytest.raises(native.Unsupported, match=f"Dropout.*{reason}"):
        native.describe(module, (2, 8, 8))


def own(shape: Any, classes: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(int(np.prod(shape)), classes))


def test_a_sum_of_places_is_what_the_kernel_is_handed() -> None:
    s = setup("native", "paper-cnn", [0.25, 0.0, 0.5])
    network = native.describe(s.world.model.module, (2, 16, 17))
    assert [place.image for place in network.places] == [(32, 6, 6), (120, 1, 1)]
    assert network.units == 32 * 36 + 120
    assert network.parameters == len(flat(s.world.model.module))

"""Random crops, flips and cutouts of training images: their laws, and the same in all backends."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch
from native_problems import needs_kernel, problem, problem_of, solve
from torch import Tensor, nn

import airfeel
from airfeel.build.setup import Setup, build
from airfeel.streams import Streams
from airfeel.training.augment import Augment, Augmentation, Crop, Cutout, Flip, moved
from airfeel.training.backends import Stacked, Torch
from airfeel.types import BadInput, Dataset
from small import play, small, turn_at
from stopping import interrupted, timeless

NAMES = ["torch", "stacked", pytest.param("native", marks=needs_kernel)]
ALL = ["crop", "flip", {"name": "cutout", "size": 3}]
NOTHING = [{"name": "crop", "padding": 0}, {"name": "flip", "p": 0.0}]
TWICE = [{"name": "flip", "p": 1.0}, {"name": "flip", "p": 1.0}]
_MODEL = {"name": "small-cnn"}


def setup(
    backend: str,
    augment: Sequence[Any] = (),
    dtype: str = "float32",
    model: str = "small-cnn",
    **training: Any,
) -> Setup:
    e = small(
        data={"shape": [2, 8, 9], "samples": 90, "augment": list(augment)},
        model={"name": model, "hidden": 5},
        training={"backend": backend, "dtype": dtype, "devices": 4, **training},
    )
    return build(e)


def one_round(s: Setup, round: int = 1) -> tuple[Tensor, np.ndarray]:
    """Δ and losses of all devices from the initial model, on the batches of round 1."""
    devices = np.arange(s.world.devices)
    dice = s.streams.uniform("batch", 1, devices, s.scheme.learn.dice)
    return s.scheme.learn(turn_at(s, round), devices, dice)


def relative(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).norm() / b.double().norm())


def by_hand(part: Augmentation, image: np.ndarray, u: np.ndarray) -> np.ndarray:
    """One component on one image [C H W], as its words say."""
    _, height, width = image.shape
    if isinstance(part, Crop):
        p = part.padding
        y, x = (int(value * (2 * p + 1)) for value in u)
        padded = np.pad(image, ((0, 0), (p, p), (p, p)))
        return padded[:, y : y + height, x : x + width]
    if isinstance(part, Flip):
        return image[:, :, ::-1] if u[0] < part.p else image
    assert isinstance(part, Cutout)
    y, x = (int(v * size) - part.size // 2 for v, size in zip(u, (height, width), strict=True))
    image = image.copy()
    image[:, max(y, 0) : max(y + part.size, 0), max(x, 0) : max(x + part.size, 0)] = 0
    return image


def all_by_hand(parts: Sequence[Augmentation], images: np.ndarray, u: np.ndarray) -> np.ndarray:
    out = []
    for image, numbers in zip(images, u, strict=True):
        at, made = 0, image
        for part in parts:
            made = by_hand(part, made, numbers[at : at + part.width])
            at += part.width
        out.append(made)
    return np.stack(out)


@pytest.mark.parametrize("order", list(permutations((Crop(3), Flip(), Cutout(4)))))
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_images_are_what_the_words_say_in_any_order(order: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(1, 256, (200, 2, 6, 9)).astype(dtype)
    augment = Augment((*order, Flip(0.3)))
    u = rng.random((200, augment.width))
    expected = all_by_hand(augment.parts, images, u)
    made = augment(torch.from_numpy(images), u)
    assert made.numpy().dtype == dtype
    np.testing.assert_array_equal(made, expected)
    table = augment.moves(u, (2, 6, 9))
    np.testing.assert_array_equal(moved(torch.from_numpy(images), table), expected)


def test_a_padding_wider_than_the_image_is_black_there() -> None:
    images = np.arange(1, 13, dtype=np.uint8).reshape(1, 1, 3, 4).repeat(300, axis=0)
    u = np.random.default_rng(1).random((300, 2))
    expected = all_by_hand([Crop(40)], images, u)
    assert (expected.reshape(300, -1).max(axis=1) == 0).any()
    np.testing.assert_array_equal(Augment((Crop(40),))(torch.from_numpy(images), u), expected)


@needs_kernel
@pytest.mark.parametrize("seed", range(30))
def test_the_kernel_trains_on_the_augmented_images_to_the_bit(seed: int) -> None:
    p = problem(seed, n=2, steps=2)
    check_moves(p, seed)


@needs_kernel
@pytest.mark.parametrize("first", [nn.ReLU(), nn.MaxPool2d(2)])
def test_the_kernel_moves_images_that_meet_no_weights_first(first: nn.Module) -> None:
    torch.manual_seed(0)
    size = 12 if isinstance(first, nn.ReLU) else 6
    module = nn.Sequential(
        first, nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * (size - 2) ** 2, 3)
    )
    check_moves(problem_of(module, (3, 12, 12), 3, seed=1, n=2, steps=2), 1)


def check_moves(p: dict[str, Any], seed: int) -> None:
    """The same bits from moved samples as from samples that were stored as moved."""
    rng = np.random.default_rng(seed)
    augment = Augment((Crop(int(rng.integers(0, 20))), Flip(), Cutout(int(rng.integers(1, 9)))))
    batches = p["batches"]
    u = rng.random((*batches.shape, augment.width))
    images = torch.from_numpy(p["x"])[batches]
    stored = augment(images, u).flatten(0, 2).contiguous()
    again = np.arange(len(stored)).reshape(batches.shape)
    delta, loss = solve(p, moves=augment.moves(u, p["x"].shape[1:]))
    expected, mean = solve(p, x=stored, y=p["y"][batches.ravel()], batches=again)
    assert torch.equal(delta, expected)
    assert torch.equal(loss, mean)
    if p["theta"].abs().sum() > 0 and batches.shape[2] > 1:
        assert not torch.equal(delta, solve(p)[0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("augment", [NOTHING, TWICE], ids=["nothing", "flipped twice"])
def test_what_changes_no_pixel_gives_the_bytes_of_no_augmentation(name: str, augment: Any) -> None:
    delta, loss = one_round(setup(name, augment))
    expected, before = one_round(setup(name))
    assert torch.equal(delta, expected)
    np.testing.assert_array_equal(loss, before)


@pytest.mark.parametrize("model", ["small-cnn", "mlp"])
@pytest.mark.parametrize("name", NAMES)
def test_backends_agree_on_the_same_random_numbers(name: str, model: str) -> None:
    exact, exact_loss = one_round(setup("torch", ALL, "float64", model))
    delta, loss = one_round(setup(name, ALL, model=model))
    for row, expected in zip(delta, exact, strict=True):
        assert relative(row, expected) < 1e-4
    np.testing.assert_allclose(loss, exact_loss, rtol=1e-4)
    assert relative(delta, one_round(setup(name, model=model))[0]) > 0.1


def test_auto_trains_augmented_images_with_the_kernel() -> None:
    assert setup("auto", ALL).scheme.learn.backend.name == setup("auto").scheme.learn.backend.name


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_meets_other_crops_in_another_round_and_step(name: str) -> None:
    s = setup(name, ["crop"], local_steps=2)
    first, second = (one_round(s, round)[0] for round in (1, 2))
    assert relative(first, second) > 0.01
    frozen = setup(name, local_steps=2)
    assert torch.equal(one_round(frozen, 1)[0], one_round(frozen, 2)[0])
    learn, turn = s.scheme.learn, turn_at(s, 1)
    u = learn._uniforms(turn, np.arange(4), 0)
    moves = learn.augment.moves(u, s.world.data.shape)[..., :2].reshape(-1, 2)
    assert len(np.unique(moves, axis=0)) > 30  # of 81, in 64 draws; 44 are expected
    assert not np.array_equal(u[:, 0], u[:, 1])


def test_random_numbers_belong_to_the_device() -> None:
    s = setup("torch", ALL)
    more = replace(s.world, shards=s.world.shards * 2)
    turn = turn_at(s, 3)
    all_ = s.scheme.learn._uniforms(replace(turn, world=more), np.arange(8), 0)
    assert all_.shape == (8, 3, 8, 5)
    for devices in ([0], [2, 3], [0, 3]):
        some = s.scheme.learn._uniforms(turn, np.array(devices), 0)
        np.testing.assert_array_equal(some, all_[devices])


@dataclass(frozen=True)
class Drawn:
    """Streams that record which names were drawn from."""

    streams: Streams
    rooms: set[str]

    def rng(self, room: str, round: int = 0) -> np.random.Generator:
        self.rooms.add(room)
        return self.streams.rng(room, round)

    def uniform(self, room: str, round: int, devices: Any, width: int) -> np.ndarray:
        self.rooms.add(room)
        return self.streams.uniform(room, round, devices, width)


@pytest.mark.parametrize("augment", [[], ALL])
def test_nothing_is_drawn_without_augmentation(augment: Any) -> None:
    s, rooms = setup("torch", augment), set()
    play(replace(s, streams=Drawn(s.streams, rooms)), 1)
    assert ("augment" in rooms) == bool(augment)
    assert "batch" in rooms


@pytest.mark.parametrize("name", NAMES)
def test_test_images_are_never_augmented(name: str) -> None:
    plain, augmented = setup(name), setup(name, ALL)
    theta = plain.world.model.initial()
    scores = [
        (s.world.look or s.world.model.evaluate)(s.world.data, theta, map)
        for s in (plain, augmented)
    ]
    assert scores[0] == scores[1]


@pytest.mark.parametrize("name", NAMES)
def test_the_mean_gradient_over_all_variants_is_that_of_random_ones(name: str) -> None:
    """81 shifts of 8×8 images, each flipped or not: the Monte Carlo mean is within 4 σ."""
    s = setup(name, ["crop", "flip"], model="mlp")
    backend = s.scheme.learn.backend
    place = (np.arange(9) + 0.5) / 9
    grid = np.stack(np.meshgrid(place, place, [0.25, 0.75], indexing="ij"), axis=-1)
    every = grid.reshape(-1, 3)
    assert len(every) == 162
    count = 3000
    drawn = np.random.default_rng(5).random((count, 3))
    theta = s.world.model.initial()

    def gradients(u: np.ndarray) -> Tensor:
        index = np.full((len(u), 1, 1), 7)
        return -backend(theta, index, 1.0, None, uniforms=u[:, None, None])[0].double()

    exact, some = gradients(every).mean(dim=0), gradients(drawn)
    way = torch.randn(len(exact), 40, generator=torch.Generator().manual_seed(1)).double()
    values = some @ way
    z = (values.mean(dim=0) - exact @ way) / (values.std(dim=0) / count**0.5)
    assert (z.abs() < 4).all()
    assert z.abs().max() > 0.1


def test_steps_on_all_samples_are_augmented_too() -> None:
    part = {"dataset": "synthetic", "shape": [1, 8, 8], "samples": 90, "partition": "dirichlet"}
    made = [
        build(
            small(
                data={**part, "augment": augment},
                training={"batch_size": "all", "backend": "torch", "devices": 5},
            )
        )
        for augment in ([], ALL, NOTHING)
    ]
    assert len({len(shard) for shard in made[0].world.shards}) > 1
    plain, augmented, nothing = (one_round(s)[0] for s in made)
    assert torch.equal(plain, nothing)
    assert relative(augmented, plain) > 0.01
    s = made[1]
    alone, _ = s.scheme.learn(turn_at(s, 1), np.array([1]), np.zeros((1, s.scheme.learn.dice)))
    assert torch.equal(alone[0], augmented[1])


@needs_kernel
def test_workers_and_a_resumed_run_change_no_byte(tmp_path: Any) -> None:
    def e(threads: int) -> Any:
        return small(
            data={"shape": [1, 8, 8], "augment": ALL},
            model=_MODEL,
            training={"dtype": "float32", "backend": "native", "rounds": 6},
            run={"threads": threads, "checkpoint_every": 2},
        )

    airfeel.run(e(1), tmp_path / "one")
    airfeel.run(e(3), tmp_path / "three")
    stopped = interrupted(tmp_path / "stopped", 4, e(2))
    airfeel.resume(stopped)
    rows = [timeless(tmp_path / name) for name in ("one", "three", "stopped")]
    assert rows[0] == rows[1] == rows[2]
    assert "augment = [" in (tmp_path / "one" / "config.toml").read_text()


@dataclass(frozen=True)
class Dark:
    """A user's own component: images get darker by a random factor."""

    least: float = 0.5
    width = 1

    def __call__(self, images: Tensor, uniforms: Tensor) -> Tensor:
        factor = self.least + (1 - self.least) * uniforms
        return images * factor[..., None, None].to(images.dtype)


class Shrinks(Dark):
    def __call__(self, images: Tensor, uniforms: Tensor) -> Tensor:
        return images[..., 1:]


def test_a_users_component_runs_between_others_in_pytorch() -> None:
    own = {"name": "test_augment:Dark", "least": 0.25}
    s = setup("auto", ["crop", own, "flip"])
    assert s.scheme.learn.backend.name == "torch"
    assert s.scheme.learn.backend.recipe.augment.parts == (Crop(), Dark(0.25), Flip())
    delta, _ = one_round(s)
    stacked, _ = one_round(setup("stacked", ["crop", own, "flip"]))
    assert relative(stacked, delta) < 1e-4
    assert relative(one_round(setup("torch", ["crop", "flip"]))[0], delta) > 0.01


@pytest.mark.parametrize(
    ("augment", "backend", "words"),
    [
        (["test_augment:Dark"], "native", "training.backend = 'native': .*crop.*not Dark"),
        (["crop", "crop"], "torch", "data.augment: has crop twice, must have it at most once"),
        (["crops"], "torch", "data.augment.*'crops'.*did you mean 'crop'"),
        ([{"name": "crop", "padding": -1}], "torch", "data.augment.padding = -1"),
        ([{"name": "flip", "p": 1.5}], "torch", "data.augment.p = 1.5"),
        ([{"name": "cutout", "size": 0}], "torch", "data.augment.size = 0"),
        (["crop"], "test_augment:bare", "data.augment: backend 'test_augment:bare'"),
    ],
)
def test_what_is_refused(augment: Any, backend: str, words: str) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        setup(backend, augment)
    assert "\n" not in str(caught.value)


def bare(model: Any, data: Dataset) -> Torch:
    """A user's own backend that takes no recipe."""
    return Torch(model, data)


@pytest.mark.parametrize("name", ["torch", "stacked"])
def test_a_component_that_changes_the_shape_is_refused(name: str) -> None:
    s = setup(name, ["test_augment:Shrinks"])
    assert isinstance(s.scheme.learn.backend, Torch | Stacked)
    with pytest.raises(BadInput, match=r"data.augment: Shrinks must return images of shape"):
        one_round(s)

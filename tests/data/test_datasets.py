"""Data sets: formats decoded, hostile files refused, channels standardised."""

import hashlib
import os
import pickle
import statistics
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from airfeel.data import files, formats, samples
from airfeel.data.datasets import load
from airfeel.data.layouts import present
from airfeel.data.sources import SOURCES, Item, Layout, Source
from airfeel.types import BadInput, Dataset

Batch = tuple[np.ndarray, np.ndarray]  # uint8 [n 3 32 32], [n]


def dice(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def batch(seed: int, n: int = 3) -> Batch:
    return dice(seed).integers(0, 256, (n, 3, 32, 32), np.uint8), dice(seed).integers(0, 10, n)


def binary(made: Batch) -> bytes:
    """A batch of the binary CIFAR-10."""
    images, labels = made
    return b"".join(bytes([y]) + x.tobytes() for x, y in zip(images, labels, strict=True))


def python2(made: Batch) -> bytes:
    """A batch of the Python CIFAR-10, in the very opcodes that Python 2 and old NumPy wrote."""

    def text(s: bytes) -> bytes:
        return b"U" + bytes([len(s)]) + s if len(s) < 256 else b"T" + struct.pack("<i", len(s)) + s

    def number(n: int) -> bytes:
        return b"J" + struct.pack("<i", n)

    images, labels = made
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n"
    array += number(0) + b"\x85" + text(b"b") + b"\x87R("
    array += number(1) + number(len(labels)) + number(3072) + b"\x86"
    array += b"cnumpy\ndtype\n" + text(b"u1") + number(0) + number(1) + b"\x87R("
    array += number(3) + text(b"|") + b"NNN" + number(-1) + number(-1) + number(0) + b"tb"
    array += b"\x89" + text(images.tobytes()) + b"tb"
    classes = b"](" + b"".join(number(int(y)) for y in labels) + b"e"
    named = text(b"batch_label") + text(b"training batch 1 of 5")
    return b"\x80\x02}(" + named + text(b"labels") + classes + text(b"data") + array + b"u."


def idx(values: np.ndarray) -> bytes:
    """An IDX file."""
    return (
        struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape) + values.tobytes()
    )


def publish(
    monkeypatch: pytest.MonkeyPatch, home: Path, name: str, folder: str, data: dict[str, bytes]
) -> None:
    """Put files into `home` and make them the official ones of set `name`."""
    (home / folder).mkdir(parents=True)
    for file, content in data.items():
        (home / folder / file).write_bytes(content)
    items = tuple(Item(n, len(d), hashlib.md5(d).hexdigest()) for n, d in data.items())
    monkeypatch.setitem(SOURCES, name, Source(0, (), (Layout(folder, items),)))


@pytest.mark.parametrize("encode", [binary, python2])
def test_cifar_is_put_together_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encode: object
) -> None:
    suffix = ".bin" if encode is binary else ""
    made = {f"data_batch_{i}{suffix}": batch(i, n=i) for i in (3, 1, 2)}
    made[f"test_batch{suffix}"] = batch(9)
    published = {name: encode(each) for name, each in made.items()}
    publish(monkeypatch, tmp_path, "cifar10", "any", published)
    data = load("cifar10", dir=str(tmp_path))
    images = np.concatenate([batch(i, n=i)[0] for i in (1, 2, 3)])
    labels = np.concatenate([batch(i, n=i)[1] for i in (1, 2, 3)])
    assert np.array_equal(data.train_x.numpy(), images)
    assert np.array_equal(data.train_y.numpy(), labels)
    assert np.array_equal(data.test_x.numpy(), batch(9)[0])
    assert (data.shape, data.classes, data.train_y.dtype) == ((3, 32, 32), 10, torch.int64)


def fashion(
    monkeypatch: pytest.MonkeyPatch, home: Path, images: np.ndarray, name: str = "fashion-mnist"
) -> None:
    """Publish `images`, of class 0, 1, 2, …, as Fashion-MNIST; backwards as the test set."""
    labels = np.arange(len(images), dtype=np.uint8)
    parts = {
        "train-images-idx3-ubyte": idx(images),
        "train-labels-idx1-ubyte": idx(labels),
        "t10k-images-idx3-ubyte": idx(images[::-1]),
        "t10k-labels-idx1-ubyte": idx(labels[::-1]),
    }
    publish(monkeypatch, home, name, name, parts)


@pytest.mark.parametrize("name", ["fashion-mnist", "mnist"])
def test_fashion_and_digits_are_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = dice().integers(0, 256, (5, 28, 28), np.uint8)
    fashion(monkeypatch, tmp_path, images, name)
    data = load(name, dir=str(tmp_path))
    assert np.array_equal(data.train_x[:, 0].numpy(), images)
    assert np.array_equal(data.test_x[:, 0].numpy(), images[::-1])
    assert (data.train_y.tolist(), data.test_y.tolist()) == ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0])
    assert data.shape == (1, 28, 28)


def test_plain_images_are_seen_between_0_and_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fashion(monkeypatch, tmp_path, np.array([0, 51, 255], np.uint8).reshape(3, 1, 1))
    data = load("fashion-mnist", dir=str(tmp_path), standardise=False)
    assert data.inputs(data.train_x, torch.float64).flatten().tolist() == [0, 0.2, 1]


def test_a_constant_channel_is_only_shifted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fashion(monkeypatch, tmp_path, np.full((3, 2, 2), 77, np.uint8))
    data = load("fashion-mnist", dir=str(tmp_path))
    assert (data.shift.tolist(), data.scale.tolist()) == ([77], [1])


def assert_standard(data: Dataset) -> None:
    """Each channel has mean 0 and variance 1 over the training set."""
    seen = data.inputs(data.train_x, torch.float64)
    variance, mean = torch.var_mean(seen, (0, 2, 3), correction=0)
    assert torch.allclose(mean, torch.zeros_like(mean), atol=1e-9)
    assert torch.allclose(variance, torch.ones_like(variance), atol=1e-9)


@given(st.lists(st.integers(0, 255), min_size=1, max_size=50))
def test_byte_moments_are_exact(values: list[int]) -> None:
    mean, std = samples._byte_moments(torch.tensor(values, dtype=torch.uint8).view(-1, 1, 1))
    assert mean == statistics.mean(values)
    assert std == pytest.approx(statistics.pstdev(values), rel=1e-15, abs=0)


def test_digits_are_those_of_uci() -> None:
    data = load("digits", standardise=False)
    x, y = torch.cat([data.train_x, data.test_x]), torch.cat([data.train_y, data.test_y])
    assert (data.shape, data.classes, x.dtype, y.dtype) == ((1, 8, 8), 10, torch.uint8, torch.int64)
    # Counts that UCI states for this part of the set; pixels count to 16.
    assert torch.bincount(y).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert data.inputs(x, torch.float64).max() == 1
    assert (len(data.train_y), len(data.test_y)) == (1442, 355)
    assert torch.bincount(data.test_y).min() == 34


def centroid_accuracy(data: Dataset) -> float:
    """Test accuracy of the rule "nearest class mean"."""
    train, test = (data.inputs(x, torch.float64).flatten(1) for x in (data.train_x, data.test_x))
    means = torch.stack([train[data.train_y == k].mean(0) for k in range(data.classes)])
    return (torch.cdist(test, means).argmin(1) == data.test_y).double().mean().item()


def test_digits_can_be_learnt_and_are_standardised() -> None:
    data = load("digits")
    assert_standard(data)
    assert centroid_accuracy(data) > 0.85


@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 32, 32), (1, 1, 6)])
def test_synthetic_classes_can_be_learnt(shape: tuple[int, int, int]) -> None:
    data = load("synthetic", shape=shape, samples=1000, test_samples=300, rng=dice())
    assert (data.shape, data.train_x.dtype) == (shape, torch.float32)
    assert (len(data.train_y), len(data.test_y)) == (1000, 300)
    assert torch.bincount(data.train_y).tolist() == [100] * 10
    assert_standard(data)
    assert 0.7 < centroid_accuracy(data) < 1


def test_synthetic_is_its_dice() -> None:
    a, b, c = (load("synthetic", rng=dice(seed)).train_x for seed in (1, 1, 2))
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_synthetic_regression_is_a_plane_with_noise() -> None:
    data = load("synthetic", classes=0, shape=(1, 2, 5), standardise=False, rng=dice())
    x, y = data.train_x.flatten(1).double(), data.train_y.double()
    assert (data.classes, data.train_y.dtype) == (0, torch.float32)
    assert (data.shift.tolist(), data.scale.tolist()) == ([0], [1])
    w = torch.linalg.lstsq(x, y[:, None]).solution[:, 0]
    assert (y - x @ w).std().item() == pytest.approx(0.1, rel=0.05)
    assert (data.test_y - data.test_x.flatten(1).double() @ w).std().item() < 0.12
    assert y.std().item() > 0.5


@pytest.mark.parametrize(
    "wrong", [{"shape": (1, 0, 8)}, {"classes": -1}, {"samples": 0}, {"test_samples": 0}]
)
def test_synthetic_refuses_bad_sizes(wrong: dict[str, int]) -> None:
    with pytest.raises(BadInput, match=rf"{next(iter(wrong)).split('_')[-1]} = "):
        load("synthetic", rng=dice(), **wrong)


def test_synthetic_needs_dice_and_names_are_checked() -> None:
    with pytest.raises(BadInput, match=r"data\.dataset\.rng: must be given"):
        load("synthetic")
    with pytest.raises(BadInput, match=r"dataset = 'emnist': .*digits, fashion-mnist, mnist"):
        load("emnist")


def test_the_python2_batch_of_these_tests_is_a_numpy_pickle() -> None:
    images, labels = batch(0)
    plain = pickle.loads(python2((images, labels)), encoding="bytes")
    assert np.array_equal(plain[b"data"], images.reshape(3, 3072))
    assert plain[b"labels"] == labels.tolist()


def test_a_pickle_of_new_numpy_is_read_too() -> None:
    images, labels = batch(0)
    made = {b"data": images.reshape(3, 3072), b"labels": labels.tolist()}
    read = formats.cifar_pickle(pickle.dumps(made, protocol=3), "batch")
    assert np.array_equal(read[0], images)
    assert np.array_equal(read[1], labels)


class Attack:
    """Unpickled by the usual way, it calls what it is told."""

    def __init__(self, call: object, *arguments: object) -> None:
        self.reduced = call, arguments

    def __reduce__(self) -> tuple[object, ...]:
        return self.reduced


@pytest.mark.parametrize("protocol", range(5))
@pytest.mark.parametrize("call", [os.mkdir, eval, np.load, getattr], ids=lambda call: call.__name__)
def test_a_hostile_pickle_runs_nothing(tmp_path: Path, call: object, protocol: int) -> None:
    victim = str(tmp_path / "victim")
    argument = f"__import__('os').mkdir({victim!r})" if call is eval else victim
    evil = pickle.dumps({b"data": Attack(call, argument), b"labels": []}, protocol)
    with pytest.raises(BadInput, match=r"batch_7: not a CIFAR-10 batch: it asks for .*not allowed"):
        formats.cifar_pickle(evil, "batch_7")
    assert not os.path.exists(victim)


images, labels = batch(0)


@pytest.mark.parametrize(
    "made",
    [
        [1, 2],
        {b"labels": [1]},
        {b"data": images.reshape(3, -1), b"labels": [1, 2]},
        {b"data": images.reshape(3, -1).astype(np.int16), b"labels": [1, 2, 3]},
        {b"data": np.asfortranarray(images.reshape(3, -1)), b"labels": [1, 2, 3]},
        {b"data": images.reshape(3, -1), b"labels": [1, 2, 10]},
        {b"data": images.reshape(3, -1), b"labels": [1, 2, -1]},
        {b"data": b"bytes", b"labels": [1]},
    ],
    ids=["list", "no data", "lengths", "int16", "order", "label 10", "label -1", "no array"],
)
def test_a_pickle_of_another_kind_is_refused(made: object) -> None:
    with pytest.raises(BadInput, match="batch_7: "):
        formats.cifar_pickle(pickle.dumps(made, protocol=3), "batch_7")


@given(st.integers(0, 600), st.binary(min_size=1, max_size=8))
def test_a_spoilt_pickle_is_bad_input_or_a_batch(at: int, noise: bytes) -> None:
    good = python2((images[:1], labels[:1]))
    try:
        read = formats.cifar_pickle(good[:at] + noise + good[at + len(noise) :], "batch")
    except BadInput:
        return
    assert read[0].shape == (1, 3, 32, 32)


def test_broken_records_are_refused() -> None:
    with pytest.raises(BadInput, match="b1: 3072 bytes are no whole number"):
        formats.cifar_binary(bytes(3072), "b1")
    with pytest.raises(BadInput, match=r"b1: labels 10\.\.10, expected 0\.\.9"):
        formats.cifar_binary(b"\x0a" + bytes(3072), "b1")


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.data())
def test_idx_is_read_whole_or_refused(shape: list[int], data: st.DataObject) -> None:
    values = dice().integers(0, 256, shape, np.uint8)
    whole = idx(values)
    assert np.array_equal(formats.idx(whole, "f"), values)
    cut = data.draw(st.integers(0, len(whole) - 1))
    for broken in (whole[:cut], whole + b"x", b"\0\0\x09" + whole[3:]):
        with pytest.raises(BadInput, match="f: "):
            formats.idx(broken, "f")


def test_a_huge_idx_header_is_refused() -> None:
    with pytest.raises(BadInput, match="do not fill the shape"):
        formats.idx(b"\0\0\x08\x04" + b"\xff" * 16, "f")


def real(name: str) -> Dataset:
    """A real set, if this machine has it; one that is damaged fails the test."""
    layouts = SOURCES[name].layouts
    if not any(present(layout, place) for layout in layouts for place in files.places()):
        pytest.skip(f"{name} is not on this machine; get it with: airfeel data fetch {name}")
    return load(name)


def test_the_real_cifar10() -> None:
    data = real("cifar10")
    assert (tuple(data.train_x.shape), tuple(data.test_x.shape)) == (
        (50_000, 3, 32, 32),
        (10_000, 3, 32, 32),
    )
    assert data.train_y[:10].tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
    assert torch.bincount(data.train_y).tolist() == [5000] * 10
    assert torch.bincount(data.test_y).tolist() == [1000] * 10
    # Channel statistics known to all who train on it.
    assert (data.shift / 255).tolist() == pytest.approx([0.4914, 0.4822, 0.4465], abs=1e-4)
    assert (1 / data.scale / 255).tolist() == pytest.approx([0.2470, 0.2435, 0.2616], abs=1e-4)


def test_the_real_fashion_mnist() -> None:
    data = real("fashion-mnist")
    assert (tuple(data.train_x.shape), len(data.test_y)) == ((60_000, 1, 28, 28), 10_000)
    assert data.train_y[:4].tolist() == [9, 0, 0, 3]
    assert torch.bincount(data.train_y).tolist() == [6000] * 10
    assert (data.shift / 255).item() == pytest.approx(0.2860, abs=1e-4)
    assert (1 / data.scale / 255).item() == pytest.approx(0.3530, abs=1e-4)

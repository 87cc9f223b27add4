"""A user's own samples: brought to one form, or refused in one line."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import airfeel
from airfeel.build.setup import build, with_data
from airfeel.data import from_arrays, from_samples
from airfeel.data.datasets import load
from airfeel.data.own import digest
from airfeel.data.samples import every_fifth
from airfeel.settings.config import Experiment
from airfeel.settings.load import experiment
from airfeel.types import BadInput, Dataset

X, Y = np.arange(40.0).reshape(10, 4), np.arange(10) % 2
QUICK = {"training": {"devices": 2, "rounds": 4, "local_steps": 1}}


def arrays(**changes: Any) -> dict[str, Any]:
    return {"train_x": X, "train_y": Y, "test_x": X[:4], "test_y": Y[:4]} | changes


def settings(dataset: object, **run: object) -> Experiment:
    return experiment(QUICK | {"data": {"dataset": dataset}, "run": run})


def as_tuple() -> tuple[np.ndarray, ...]:
    return X, Y, X[:4], Y[:4]


def as_dict(width: int = 4) -> dict[str, Any]:
    return arrays(train_x=X[:, :width], test_x=X[:4, :width], classes=5)


def as_tensors() -> list[torch.Tensor]:
    return [torch.from_numpy(a) for a in as_tuple()]


def as_dataset() -> Dataset:
    return from_arrays(*as_tuple(), standardise=False)


def three() -> tuple[np.ndarray, ...]:
    return X, Y, X


def a_word() -> object:
    return "data"


def a_list() -> list[list[int]]:
    return [[1], [0], [1], [0]]


def too_many_classes() -> dict[str, Any]:
    return arrays(classes=-1)


def no_unit() -> dict[str, Any]:
    return arrays(unit=0)


def broken_dataset() -> Dataset:
    return replace(as_dataset(), shift=torch.zeros(3, dtype=torch.float64))


@pytest.mark.parametrize("form", ["as_tuple", "as_dict", "as_tensors", "as_dataset"])
def test_a_factory_may_return_any_of_four_forms(form: str) -> None:
    data = load(f"test_own_data:{form}", standardise=False)
    assert torch.equal(data.train_x, torch.from_numpy(X).float().view(10, 1, 1, 4))
    assert torch.equal(data.test_y, torch.from_numpy(Y[:4]))
    assert data.classes == (5 if form == "as_dict" else 2)


def test_a_table_holds_the_settings_of_a_factory() -> None:
    assert load({"name": "test_own_data:as_dict", "width": 3}).shape == (1, 1, 3)
    with pytest.raises(BadInput, match=r"data\.dataset\.width = 'wide'"):
        load({"name": "test_own_data:as_dict", "width": "wide"})
    with pytest.raises(BadInput, match=r"data\.dataset\.wide: is no setting"):
        load({"name": "test_own_data:as_dict", "wide": 3})


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("three", "gave tuple of 3"),
        ("a_word", "gave str"),
        ("a_list", "train_x is list of 1; must be a NumPy array or a tensor"),
        ("too_many_classes", "classes = -1"),
        ("no_unit", "unit = 0"),
        ("broken_dataset", "a finite number for each channel"),
    ],
)
def test_what_is_no_data_is_refused(form: str, words: str) -> None:
    with pytest.raises(BadInput, match=words) as refused:
        load(f"test_own_data:{form}")
    assert str(refused.value).startswith(f"data.dataset = 'test_own_data:{form}': ")


@given(
    st.sampled_from([(6,), (6, 3), (6, 2, 3), (6, 2, 2, 3)]),
    st.sampled_from(["uint8", "float16", "float32", "float64", ">f8"]),
    st.booleans(),
)
def test_every_form_of_samples_becomes_images(
    shape: tuple[int, ...], dtype: str, tensor: bool
) -> None:
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    x.flags.writeable = False
    y = np.arange(6, dtype=np.uint8) % 3
    given = torch.tensor(x.astype(x.dtype.newbyteorder("="))) if tensor else x[::-1][::-1]
    data = from_arrays(given, y, given, y, standardise=False)
    missing = 4 - len(shape)
    assert tuple(data.train_x.shape) == (6, *(1,) * missing, *shape[1:])
    assert data.train_x.dtype == (torch.uint8 if dtype == "uint8" else torch.float32)
    assert np.array_equal(data.train_x.numpy().ravel(), x.ravel())
    assert (data.train_y.dtype, data.classes) == (torch.int64, 3)
    assert data.scale.tolist() == [1 / (255 if dtype == "uint8" else 1)] * data.shape[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"train_x": X.astype(int)}, "train_x is of int64; must be uint8 or float"),
        ({"train_x": X.astype(complex)}, "train_x is of complex128"),
        ({"train_x": X.astype(object)}, "train_x is of object"),
        ({"train_x": torch.arange(10)}, "train_x is of int64"),
        ({"train_x": np.zeros((10, 1, 1, 1, 1))}, r"train_x is \(10, 1, 1, 1, 1\)"),
        ({"train_x": np.ones(())}, r"train_x is \(\); must be \[S\]"),
        ({"train_x": X * np.nan}, "train_x holds what is not finite"),
        ({"test_x": X[:4] * 1e300}, "test_x holds what is not finite in torch.float32"),
        ({"train_x": X[:9]}, r"train_y is \(10,\); must be \(9,\)"),
        ({"test_x": X[:4, :3]}, r"test_x is \(4, 1, 1, 3\), train_x \(10, 1, 1, 4\)"),
        ({"train_x": X[:0], "train_y": Y[:0]}, "must hold a sample or more"),
        ({"test_x": X[:0], "test_y": Y[:0]}, "must hold a sample or more"),
        ({"train_x": X[:, :0], "test_x": X[:4, :0]}, "must hold a sample or more"),
        ({"train_y": Y - 1}, r"train_y has labels -1..0; must be counted from 0"),
        ({"test_y": Y[:4] + 3, "classes": 2}, r"test_y has labels 3..4; must be 0..1"),
        ({"train_y": Y[:, None]}, r"train_y is \(10, 1\)"),
        ({"train_y": Y.astype("U1")}, "train_y is of <U1; must be whole numbers or float"),
        ({"train_y": Y / 1.0}, "test_y is of torch.int64; must be float where classes = 0"),
        ({"test_y": Y[:4] / 1.0}, "test_y is of torch.float32; must be whole numbers"),
        (
            {"train_y": np.full(10, np.inf), "test_y": Y[:4] / 1.0},
            "train_y holds what is not finite",
        ),
    ],
)
def test_bad_arrays_are_refused_by_name(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words) as refused:
        from_arrays(**arrays(**changes))
    assert "\n" not in str(refused.value)


def test_numbers_to_be_predicted_have_no_classes() -> None:
    data = from_arrays(X, X[:, 0] / 7, X, X[:, 0] / 7)
    assert (data.classes, data.train_y.dtype) == (0, torch.float32)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (Y + 1, "has no sample of class 0; classes are counted from 0 to 2"),
        (Y * 8, "has no sample of class 1, 2, 3, 4, 5, 6, …; classes are counted from 0 to 8"),
        (Y * 0, "has one class: any model is right"),
        (Y.astype(float), "holds whole numbers as float, which are predicted as numbers"),
    ],
)
def test_labels_that_are_seldom_meant_are_told(labels: np.ndarray, words: str) -> None:
    with pytest.warns(UserWarning, match=f"data 'own': train_y {words}"):
        from_arrays(X, labels, X, labels)
    if labels.dtype.kind != "f":
        from_arrays(X, labels, X, labels, classes=9)  # whoever says how many means it


def test_channels_that_come_last_are_told() -> None:
    x = np.zeros((10, 8, 6, 3), np.uint8)
    told = r"train_x is \(10, 8, 6, 3\), taken as 8 channels of 6 × 3 pixels; where channels come"
    with pytest.warns(UserWarning, match=told):
        from_arrays(x, Y, x, Y)
    first = x.transpose(0, 3, 1, 2)  # warnings are errors
    assert from_arrays(first, Y, first, Y).shape == (3, 8, 6)
    assert from_arrays(x[:, :, :1], Y, x[:, :, :1], Y).shape == (8, 1, 3)


@given(st.lists(st.integers(0, 3), max_size=60))
def test_every_fifth_of_each_class_is_for_testing(labels: list[int]) -> None:
    y = np.array(labels, int)
    test = every_fifth(y)
    for each in range(4):
        assert test[y == each].tolist() == [i % 5 == 4 for i in range((y == each).sum())]
    assert every_fifth(y / 1.0).tolist() == [i % 5 == 4 for i in range(len(y))]


def test_a_file_with_train_and_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez_compressed("my.npz", **arrays())
    data = load("file:my.npz")
    assert (len(data.train_y), len(data.test_y), data.shape) == (10, 4, (1, 1, 4))
    assert torch.equal(data.train_x, load({"name": "file", "path": "my.npz"}).train_x)


def test_a_file_of_x_and_y_is_split(tmp_path: Path) -> None:
    np.savez(tmp_path / "my.npz", x=X, y=Y)
    data = load(f"file:{tmp_path / 'my.npz'}", standardise=False)
    assert data.test_x.flatten(1)[:, 0].tolist() == [32, 36]  # samples 8 and 9
    assert len(data.train_y) == 8


@pytest.mark.parametrize(
    "names",
    [
        ("x_train", "y_train", "x_test", "y_test"),
        ("train_images", "train_labels", "test_images", "test_labels"),
        ("x", "y", "x_test", "y_test"),
    ],
)
def test_usual_names_of_arrays_are_known(tmp_path: Path, names: tuple[str, ...]) -> None:
    own = arrays()
    for file, keys in (("own.npz", own), ("usual.npz", names)):
        np.savez(tmp_path / file, **dict(zip(keys, own.values(), strict=True)))
    usual, same = (load(f"file:{tmp_path / file}") for file in ("usual.npz", "own.npz"))
    assert digest(usual) == digest(same)
    assert len(usual.test_y) == 4


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"test_y": np.full(4, np.nan)}, "test_y holds what is not finite"),
        ({"test_y": np.full(4, np.inf)}, "test_y holds what is not finite"),
        ({"train_y": np.array(3)}, r"train_y is \(\); must be \[S\]"),
    ],
)
def test_targets_that_are_no_labels_are_refused_before_they_are_counted(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(BadInput, match=words):
        from_arrays(**(arrays() | changes))


def test_many_classes_are_legal_where_there_are_as_many_samples() -> None:
    x, y = np.zeros((1200, 2)), np.arange(1200)
    assert from_arrays(x, y, x, y).classes == 1200
    assert from_arrays(X, Y, X, Y, classes=10**6).classes == 10**6
    with pytest.raises(BadInput, match="has 1000001 classes; must be at most 1000000"):
        from_arrays(X, Y, X, Y, classes=10**6 + 1)
    with pytest.raises(BadInput, match="the label 1000; must be below 1000 for 10 training"):
        from_arrays(X, Y, X, np.full(10, 1000))


@pytest.mark.parametrize(
    ("held", "words"),
    [
        ({}, "holds nothing; must hold train_x"),
        ({"x": X, "train_y": Y}, "holds train_y, x; must hold"),
        (arrays() | {"more": X}, "holds more, test_x, test_y, train_x, train_y; must hold"),
        ({"x": X, "y": Y, "x_test": X}, "holds x, x_test, y; must hold"),
        ({"x": X, "y": Y * 10**12}, r"the label 1000000000000; must be below 1000 for 8 training"),
        ({"x": X, "y": Y[:3]}, r"x is \(10, 4\), y is \(3,\)"),
        ({"x": X[:4], "y": Y[:4]}, "no class has five samples"),
        ({"x": X, "y": Y - 1}, "must be counted from 0"),
        ({"x": np.array([None]), "y": Y}, "cannot be read as .npz"),
    ],
)
def test_a_file_that_lacks_something_is_refused(
    tmp_path: Path, held: dict[str, Any], words: str
) -> None:
    np.savez(tmp_path / "my.npz", **held)
    with pytest.raises(BadInput, match=words) as refused:
        load(f"file:{tmp_path / 'my.npz'}")
    assert "\n" not in str(refused.value)


def test_what_is_no_npz_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", X)
    np.savez(tmp_path / "whole.npz", x=X, y=Y)
    whole = (tmp_path / "whole.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "spoilt.npz").write_bytes(whole[:200] + b"spoilt" + whole[206:])
    (tmp_path / "text.npz").write_text("no arrays")
    (tmp_path / "empty.npz").write_bytes(b"")
    for name in ("one.npy", "cut.npz", "spoilt.npz", "text.npz", "empty.npz", "none.npz", ""):
        with pytest.raises(BadInput, match=r"read as \.npz|is damaged|is no file") as refused:
            load(f"file:{tmp_path / name}")
        assert "\n" not in str(refused.value)


def test_a_file_can_be_tied_to_its_content(tmp_path: Path) -> None:
    path = tmp_path / "my.npz"
    np.savez(path, x=X, y=Y)
    right = hashlib.sha256(path.read_bytes()).hexdigest()
    for sha in (right, right[:8].upper()):
        load({"name": "file", "path": str(path), "sha256": sha})
    with pytest.raises(BadInput, match=f"has SHA-256 {right}; must begin with 123"):
        load({"name": "file", "path": str(path), "sha256": "123"})


class Stopped(Exception):
    pass


class Stop:
    """Cuts a run off after its second round."""

    def begin(self, experiment: object, world: object) -> None: ...
    def row(self, row: dict[str, Any]) -> None:
        if row["round"] == 2:
            raise Stopped

    def end(self, summary: object) -> None: ...


def test_a_run_on_a_file_resumes_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("my.npz", x=np.random.default_rng(0).normal(size=(60, 4)), y=np.arange(60) % 3)
    e = settings("file:my.npz", checkpoint_every=1)
    whole = airfeel.run(e, out="whole")
    with pytest.raises(Stopped):
        airfeel.run(e, out="cut", watchers=[Stop()])
    assert 'dataset = "file:my.npz"' in (tmp_path / "cut" / "config.toml").read_text()
    again = airfeel.resume("cut")
    assert torch.equal(whole.theta, again.theta)


def test_a_run_on_data_handed_in_resumes_with_the_same_data_alone(tmp_path: Path) -> None:
    data, e = as_dataset(), settings("digits", checkpoint_every=1)
    whole = airfeel.run(e, data=data)
    with pytest.raises(Stopped):
        airfeel.run(e, out=tmp_path / "cut", watchers=[Stop()], data=data)
    other = replace(data, test_y=data.test_y.flip(0))
    for wrong, words in ((None, "hand the data in"), (other, "not those that the run began with")):
        with pytest.raises(BadInput, match=words):
            airfeel.resume(tmp_path / "cut", data=wrong)
    assert torch.equal(whole.theta, airfeel.resume(tmp_path / "cut", data=data).theta)


class Pairs:
    """Like a dataset of torchvision."""

    def __init__(self, make: Any, count: int) -> None:
        self.make, self.count = make, count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> object:
        return self.make(index)


def picture(i: int) -> tuple[Image.Image, int]:
    return Image.fromarray(np.full((2, 3, 3), [i, 2 * i, 3 * i], np.uint8)), i % 2


def test_dataset_objects_are_read_sample_by_sample() -> None:
    data = from_samples(Pairs(picture, 5), Pairs(picture, 3))
    assert (data.shape, data.train_x.dtype, data.classes) == ((3, 2, 3), torch.uint8, 2)
    assert data.train_x[4, :, 1, 2].tolist() == [4, 8, 12]
    tensors = from_samples(
        [(torch.ones(2) * i, torch.tensor(i)) for i in range(3)], [(X[0, :2], 0)]
    )
    assert (tensors.shape, tensors.train_y.tolist()) == ((1, 1, 2), [0, 1, 2])
    numbers = from_samples([(0.5, 0.25), (0.75, 1.5)], [(1.0, 2.0)])
    assert (numbers.shape, numbers.classes) == ((1, 1, 1), 0)


@pytest.mark.parametrize(
    ("train", "words"),
    [
        ([], "train: is empty"),
        ([3], r"train\[0\] is int: must be a pair"),
        ([(X[0], 1), (X[0, :2], 0)], r"train\[1\] has x of \(2,\)"),
        ([(X[0], [1, 0])], r"train\[0\] has x of \(4,\), y of \(2,\)"),
    ],
)
def test_odd_samples_are_refused(train: list[object], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        from_samples(train, [(X[0], 1)])


def test_data_handed_in_are_known_by_their_digest() -> None:
    data = as_dataset()
    e = with_data(settings("digits"), data)
    assert e.data.dataset == {"name": "given", "sha256": digest(data)}
    assert build(e, data).world.data.train_x.shape == (10, 1, 1, 4)
    assert digest(data) == digest(replace(data, name="other"))
    other = replace(data, test_y=data.test_y.flip(0))
    with pytest.raises(BadInput, match="not those that the run began with"):
        build(e, other)
    with pytest.raises(BadInput, match="hand the data in from Python"):
        build(e)
    with pytest.raises(BadInput, match="must be 'given'"):
        build(settings("digits"), data)

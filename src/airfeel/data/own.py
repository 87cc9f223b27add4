"""A user's own samples: from an .npz file, from arrays, or from an object like torchvision's."""

import hashlib
import os
from functools import partial
from pathlib import Path
from typing import Annotated, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from airfeel.arrays import read_npz
from airfeel.data.samples import ARRAYS, Array, Samples, dataset, every_fifth, samples_of
from airfeel.errors import shorten
from airfeel.ranges import Positive, about
from airfeel.types import BadInput, Dataset

_SPELLINGS = (
    ARRAYS,
    ("x_train", "y_train", "x_test", "y_test"),
    ("train_images", "train_labels", "test_images", "test_labels"),
    ("x", "y", "x_test", "y_test"),
)
_TENSORS = (*ARRAYS, "shift", "scale")


@runtime_checkable
class Indexed(Protocol):
    """Samples one by one, as torchvision's datasets have them: `set[i]` is (x, y)."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> object: ...


def file(
    path: Annotated[str, about(".npz file, from the current folder")],
    sha256: Annotated[str, about("what the file's SHA-256 must begin with; empty: anything")] = "",
    gigabytes: Annotated[Positive, about("most that the file may unpack to", "GB")] = 16.0,
) -> Samples:
    """Arrays train_x, train_y, test_x and test_y of an .npz file, or x and y.

    Names in other usual orders (x_train, y_train, x_test, y_test) and x, y, x_test, y_test do as
    well; other arrays are refused. Of x and y alone, in stored order, every fifth of each class is
    for testing; every fifth of all where y is float.
    """
    blame = f"data.dataset = 'file:{shorten(path)}'"
    if not os.path.isfile(path):
        raise BadInput(f"{blame}: {shorten(os.path.abspath(path))} is no file")
    if sha256:
        _check_digest(Path(path), sha256.lower(), blame)
    arrays = read_npz(Path(path), blame, 1e9 * gigabytes, partial(_check_names, blame))
    for names in _SPELLINGS:
        if set(names) == set(arrays):
            spelled = zip(ARRAYS, names, strict=True)
            return samples_of({name: arrays[stored] for name, stored in spelled}, blame)
    return _split(arrays["x"], arrays["y"], blame)


def given(
    sha256: Annotated[str, about("digest of the data")] = "", data: Dataset | None = None
) -> Dataset:
    """Data that Python hands in: `airfeel.run(e, data=…)`, and again to `airfeel.resume`."""
    if data is None:
        raise BadInput("data.dataset = 'given': hand the data in from Python, as data=…")
    if sha256 and digest(data) != sha256:
        raise BadInput("data.dataset = 'given': the data are not those that the run began with")
    return data


def digest(data: Dataset) -> str:
    """SHA-256 of everything in a data set but its name."""
    whole = hashlib.sha256(str(data.classes).encode())
    for name in _TENSORS:
        tensor = getattr(data, name).detach().cpu()
        whole.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        copied = torch.cat([tensor.flatten()])  # of stride 1, also where there is one element
        whole.update(copied.view(torch.uint8).numpy().data)
    return whole.hexdigest()


def from_arrays(
    train_x: Array,
    train_y: Array,
    test_x: Array,
    test_y: Array,
    *,
    name: str = "own",
    classes: int | None = None,
    standardise: bool = True,
) -> Dataset:
    """Arrays or tensors as a Dataset, checked; see `Samples` for their forms.

    >>> x, y = np.zeros((6, 4)), np.arange(6) % 3
    >>> data = from_arrays(x, y, x, y)
    >>> data.shape, data.classes
    ((1, 1, 4), 3)
    """
    blame = f"data {name!r}"
    arrays = dict(zip(ARRAYS, (train_x, train_y, test_x, test_y), strict=True))
    samples = samples_of(arrays | {"classes": classes}, blame)
    return dataset(samples, name, standardise=standardise, blame=blame)


def from_samples(
    train: Indexed,
    test: Indexed,
    *,
    name: str = "own",
    classes: int | None = None,
    standardise: bool = True,
) -> Dataset:
    """Two dataset objects of torchvision's kind as a Dataset: every sample is read once, now.

    x may be a tensor, an array, a number, or an image of Pillow; y a number.
    """
    arrays = (*_stack(train, "train"), *_stack(test, "test"))
    return from_arrays(*arrays, name=name, classes=classes, standardise=standardise)


def _check_names(blame: str, names: list[str]) -> None:
    """Refuse arrays that are missing, or that nothing would be done with."""
    legal = (*_SPELLINGS, ("x", "y"))
    if set(names) in map(set, legal):
        return
    several = "; or ".join(", ".join(each) for each in legal)
    raise BadInput(f"{blame}: holds {', '.join(sorted(names)) or 'nothing'}; must hold {several}")


def _check_digest(path: Path, wanted: str, blame: str) -> None:
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if not digest.startswith(wanted):
        raise BadInput(f"{blame}: has SHA-256 {digest}; must begin with {wanted}")


def _split(x: np.ndarray, y: np.ndarray, blame: str) -> Samples:
    if x.ndim == 0 or y.shape != x.shape[:1]:
        raise BadInput(f"{blame}: x is {x.shape}, y is {y.shape}; must be a y for each x")
    test = every_fifth(y)
    if not test.any():
        raise BadInput(f"{blame}: no class has five samples; must have one, to test on its fifth")
    return Samples(x[~test], y[~test], x[test], y[test])


def _stack(each: Indexed, name: str) -> tuple[np.ndarray, np.ndarray]:
    """All samples of a dataset object in two arrays."""
    xs: list[np.ndarray] = []
    ys: list[np.ndarray] = []
    for i in range(len(each)):
        pair = each[i]
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise BadInput(f"{name}[{i}] is {type(pair).__name__}: must be a pair (x, y)")
        x, y = (_plain(part) for part in pair)
        if y.size != 1 or (xs and x.shape != xs[0].shape):
            got = f"x of {x.shape}, y of {y.shape}"
            raise BadInput(f"{name}[{i}] has {got}: must be x of one shape for all, y one number")
        xs.append(x)
        ys.append(y.reshape(()))
    if not xs:
        raise BadInput(f"{name}: is empty; must hold a sample or more")
    return np.stack(xs), np.stack(ys)


def _plain(part: object) -> np.ndarray:
    """A tensor, an array, a number or an image as an array; channels of an image come first."""
    if isinstance(part, Tensor):
        return part.detach().cpu().numpy()
    array = np.asarray(part)
    if hasattr(part, "getbands") and array.ndim == 3:
        return np.moveaxis(array, -1, 0)
    return array

"""Data sets as tensors on the CPU: those that have a name, and the door to all of them."""

import math
from importlib.resources import files as resources
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch

from airfeel.catalogue import Choice, name_of
from airfeel.catalogues import DATASETS
from airfeel.data import files, formats
from airfeel.data.samples import Samples, check, dataset, every_fifth, samples_of
from airfeel.errors import quote
from airfeel.ranges import Count, Whole, about
from airfeel.types import BadInput, Dataset

_RADIUS = 4.0  # of the sphere on which the class means of synthetic data lie
_NOISE = 0.1  # standard deviation of a synthetic regression target about its plane
_FILE = "file:"

Folder = Annotated[str | None, about("folder of the data sets, looked in first")]


def load(choice: Choice, *, standardise: bool = True, **facts: Any) -> Dataset:
    """The data set that a setting chose: a name, `module:factory`, `file:my.npz`, or a table.

    facts: what a factory may ask for by name, such as `dir` or `rng`. standardise: a model sees
    each channel with mean 0 and variance 1 over the training set; otherwise images in 0..1 and
    other samples as they are. A factory that gives a Dataset has decided that itself.
    """
    blame = f"data.dataset = {quote(choice)}"
    if isinstance(choice, str) and choice.startswith(_FILE):
        choice = {"name": "file", "path": choice.removeprefix(_FILE)}
    data = DATASETS.make(choice, standardise=standardise, **facts)
    if isinstance(data, Dataset):
        check(data, blame)
        return data
    return dataset(samples_of(data, blame), name_of(choice), standardise=standardise, blame=blame)


def synthetic(
    shape: Annotated[tuple[Count, Count, Count], about("one sample, [C H W]")] = (1, 8, 8),
    classes: Annotated[Whole, about("classes; 0 for regression")] = 10,
    samples: Annotated[Count, about("training samples")] = 2000,
    test_samples: Annotated[Count, about("test samples")] = 500,
    *,
    rng: np.random.Generator,
) -> Samples:
    """Gaussian blobs, one for each class, or a noisy plane: float32 samples of any shape.

    classes > 0: x ~ N(mean of its class, I), the means drawn uniformly on a sphere of radius 4, so
    that the task is about equally hard in every dimension; classes equally frequent.
    classes = 0: x ~ N(0, I), y = <w, x> + N(0, 0.1²), w ~ N(0, I/dim), for linear regression.
    """
    if min(*shape, samples, test_samples) < 1 or classes < 0:
        sizes = f"shape = {shape}, classes = {classes}, samples = {samples}, {test_samples}"
        raise BadInput(f"{sizes}: sizes must be at least 1 and classes at least 0")
    dim, count = math.prod(shape), samples + test_samples
    x = rng.standard_normal((count, dim), dtype=np.float32)
    if classes:
        means = rng.standard_normal((classes, dim))
        means *= _RADIUS / np.linalg.norm(means, axis=1, keepdims=True)
        y = np.concatenate([rng.permutation(n) % classes for n in (samples, test_samples)])
        x += means[y].astype(np.float32)
    else:
        w = rng.standard_normal(dim, dtype=np.float32) / np.float32(math.sqrt(dim))
        y = x @ w + np.float32(_NOISE) * rng.standard_normal(count, dtype=np.float32)
    images = torch.from_numpy(x.reshape(count, *shape))
    train, test = slice(samples), slice(samples, None)
    return Samples(images[train], y[train], images[test], y[test], classes)


def digits() -> Samples:
    """The embedded 8×8 digits; of each class, in stored order, every fifth image is for testing."""
    file = resources("airfeel.data") / "assets" / "digits.npz"
    with file.open("rb") as stream, np.load(stream) as stored:
        x, y = stored["images"][:, None], stored["labels"].astype(np.int64)
    test = every_fifth(y)
    return Samples(x[~test], y[~test], x[test], y[test], classes=10, unit=16.0)


def fashion_mnist(dir: Folder = None) -> Samples:
    """60000 training and 10000 test images of 28×28 grey pixels."""
    return _idx("fashion-mnist", dir)


def mnist(dir: Folder = None) -> Samples:
    """60000 training and 10000 test digits of 28×28 grey pixels (LeCun et al. 1998)."""
    return _idx("mnist", dir)


def _idx(name: str, dir: str | None) -> Samples:
    """A set of four files in the form of MNIST."""
    contents = files.contents(name, _path(dir))
    read = {name: formats.idx(data, name) for name, data in contents}

    def part(prefix: str) -> tuple[np.ndarray, np.ndarray]:
        images = read[f"{prefix}-images-idx3-ubyte"][:, None]
        return images, read[f"{prefix}-labels-idx1-ubyte"].astype(np.int64)

    return Samples(*part("train"), *part("t10k"), classes=10)


def cifar10(dir: Folder = None) -> Samples:
    """50000 training and 10000 test images of 32×32 coloured pixels."""
    read = {}
    for name, data in files.contents("cifar10", _path(dir)):
        decode = formats.cifar_binary if name.endswith(".bin") else formats.cifar_pickle
        read[name] = decode(data, name)

    def part(prefix: str) -> tuple[np.ndarray, np.ndarray]:
        batches = [read[name] for name in sorted(read) if name.startswith(prefix)]
        images, labels = (np.concatenate(pieces) for pieces in zip(*batches, strict=True))
        return images, labels

    return Samples(*part("data_batch"), *part("test_batch"), classes=10)


def _path(folder: str | None) -> Path | None:
    return Path(folder) if folder else None

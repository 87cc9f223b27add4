"""Data sets by name, as tensors on the CPU."""

import math
from importlib.resources import files as resources
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float64, Shaped
from torch import Tensor

from airfeel.data import files, formats
from airfeel.types import BadInput, Dataset

DATASETS = {
    "digits": "1797 handwritten digits of 8×8 pixels; embedded, works offline",
    "fashion-mnist": "70 000 pieces of clothing of 28×28 pixels; airfeel data fetch fashion-mnist",
    "cifar10": "60 000 colour photographs of 32×32 pixels; airfeel data fetch cifar10",
    "synthetic": "Gaussian classes or a linear model of any shape, made from the seed",
}

_RADIUS = 4.0  # of the sphere on which the class means of synthetic data lie
_NOISE = 0.1  # standard deviation of a synthetic regression target about its plane

_Samples = tuple[Tensor, Tensor, Tensor, Tensor]  # train_x, train_y, test_x, test_y


def load(
    name: str,
    *,
    data_dir: Path | None = None,
    standardise: bool = True,
    shape: tuple[int, int, int] = (1, 8, 8),
    classes: int = 10,
    samples: int = 2000,
    test_samples: int = 500,
    rng: np.random.Generator | None = None,
) -> Dataset:
    """Data set `name`: digits, fashion-mnist, cifar10 or synthetic.

    standardise: a model sees each channel with mean 0 and variance 1 over the training set;
    otherwise images in 0..1, and synthetic samples as they are. data_dir is where files are looked
    for first. shape, classes, samples, test_samples and rng are for synthetic data only.
    """
    unit = 1.0
    if name == "digits":
        data, classes, unit = _digits(), 10, 16.0
    elif name == "fashion-mnist":
        data, classes, unit = _fashion_mnist(data_dir), 10, 255.0
    elif name == "cifar10":
        data, classes, unit = _cifar10(data_dir), 10, 255.0
    elif name == "synthetic":
        if rng is None:
            raise BadInput("rng = None: synthetic data need a generator")
        data = synthetic(shape, classes, samples, test_samples, rng=rng)
    else:
        raise BadInput(f"data.dataset = {name!r}: must be one of {', '.join(DATASETS)}")
    shift, scale = _standard(data[0]) if standardise else _plain(data[0], unit)
    return Dataset(name, *data, classes, shift, scale)


def synthetic(
    shape: tuple[int, int, int],
    classes: int,
    samples: int,
    test_samples: int,
    *,
    rng: np.random.Generator,
) -> _Samples:
    """Gaussian blobs, one for each class, or a noisy plane: float32 samples of any shape.

    classes > 0: x ~ N(mean of its class, I), the means drawn uniformly on a sphere of radius 4, so
    that the task is about equally hard in every dimension; classes equally frequent.
    classes = 0: x ~ N(0, I), y = <w, x> + N(0, 0.1²), w ~ N(0, I/dim), for linear regression.
    """
    if min(*shape, samples, test_samples) < 1 or classes < 0:
        told = f"shape = {shape}, classes = {classes}, samples = {samples}, {test_samples}"
        raise BadInput(f"{told}: sizes must be at least 1 and classes at least 0")
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
    images, labels = torch.from_numpy(x.reshape(count, *shape)), torch.from_numpy(y)
    return images[:samples], labels[:samples], images[samples:], labels[samples:]


def _digits() -> _Samples:
    """The embedded 8x8 digits; of each class, in stored order, every fifth image is for testing."""
    file = resources("airfeel.data") / "assets" / "digits.npz"
    with file.open("rb") as stream, np.load(stream) as stored:
        images, labels = stored["images"][:, None], stored["labels"].astype(np.int64)
    test = np.zeros(len(labels), bool)
    for each in range(10):
        test[np.flatnonzero(labels == each)[4::5]] = True
    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    return x[~test], y[~test], x[test], y[test]


def _fashion_mnist(data_dir: Path | None) -> _Samples:
    """60000 training and 10000 test images of 28x28 grey pixels."""
    contents = files.contents("fashion-mnist", data_dir)
    read = {name: formats.idx(data, name) for name, data in contents}

    def part(prefix: str) -> tuple[Tensor, Tensor]:
        images = np.array(read[f"{prefix}-images-idx3-ubyte"])[:, None]
        labels = read[f"{prefix}-labels-idx1-ubyte"].astype(np.int64)
        return torch.from_numpy(images), torch.from_numpy(labels)

    return *part("train"), *part("t10k")


def _cifar10(data_dir: Path | None) -> _Samples:
    """50000 training and 10000 test images of 32x32 coloured pixels."""
    read = {}
    for name, data in files.contents("cifar10", data_dir):
        decode = formats.cifar_binary if name.endswith(".bin") else formats.cifar_pickle
        read[name] = decode(data, name)

    def part(prefix: str) -> tuple[Tensor, Tensor]:
        batches = [read[name] for name in sorted(read) if name.startswith(prefix)]
        images, labels = (np.concatenate(pieces) for pieces in zip(*batches, strict=True))
        return torch.from_numpy(images), torch.from_numpy(labels)

    return *part("data_batch"), *part("test_batch")


def _plain(
    x: Shaped[Tensor, "S C H W"], unit: float
) -> tuple[Float64[Tensor, "C"], Float64[Tensor, "C"]]:
    """Shift 0 and scale 1/unit."""
    zero = torch.zeros(x.shape[1], dtype=torch.float64)
    return zero, zero + 1 / unit


def _standard(x: Shaped[Tensor, "S C H W"]) -> tuple[Float64[Tensor, "C"], Float64[Tensor, "C"]]:
    """Mean and 1/std of each channel (std of the population); scale 1 for a constant channel."""
    moments = _byte_moments if x.dtype == torch.uint8 else _float_moments
    shift, std = torch.tensor([moments(c) for c in x.unbind(1)], dtype=torch.float64).T
    return shift, torch.where(std > 0, 1 / std, 1.0)


def _byte_moments(x: Shaped[Tensor, "S H W"]) -> tuple[float, float]:
    """Mean and standard deviation of bytes, from whole numbers: exact but for the last rounding."""
    counts = torch.bincount(x.flatten(), minlength=256).tolist()
    n, first, second = (sum(k * v**p for v, k in enumerate(counts)) for p in range(3))
    return first / n, math.sqrt((n * second - first**2) / n**2)


def _float_moments(x: Shaped[Tensor, "S H W"]) -> tuple[float, float]:
    """Mean and standard deviation in double precision."""
    std, mean = torch.std_mean(x.double(), correction=0)
    return float(mean), float(std)

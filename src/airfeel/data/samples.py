"""From arrays to a Dataset: brought to one form, checked, and standardised by channel."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float64, Shaped
from torch import Tensor

from airfeel.errors import BadInput, quote
from airfeel.types import Dataset

Array = np.ndarray | Tensor
ARRAYS = ("train_x", "train_y", "test_x", "test_y")
_FORMS = "[S], [S F], [S H W] or [S C H W]"
_FEW = 4  # channels of an image, at most
_USUAL_CLASSES, _MOST_CLASSES = 1000, 10**6  # that labels may be of, with few samples and ever
_AXES = {1: (1, 1, 1), 2: (1, 1), 3: (1,), 4: ()}  # put behind S to make [S C H W]


@dataclass(frozen=True)
class Samples:
    """What a factory of data returns, in full; four arrays in this order, or a dict, do as well.

    x: uint8 or float, [S], [S F], [S H W] or [S C H W]. y: whole numbers 0..classes-1, or float
    where a number is to be predicted. unit: what a stored 1.0 is, where inputs are not standardised
    (by default 255 for uint8).
    """

    train_x: Array
    train_y: Array
    test_x: Array
    test_y: Array
    classes: int | None = None  # None: one more than the largest label; 0: numbers
    unit: float | None = None


def samples_of(given: object, blame: str) -> Samples:
    """What a factory returned, as Samples; `blame` begins the message if it is something else."""
    if isinstance(given, Samples):
        return given
    if isinstance(given, tuple | list) and len(given) == len(ARRAYS):
        given = dict(zip(ARRAYS, given, strict=True))
    if isinstance(given, Mapping) and set(ARRAYS) <= set(given) <= {*ARRAYS, "classes", "unit"}:
        train_x, train_y, test_x, test_y = (_array(given[name], name, blame) for name in ARRAYS)
        more = given.get("classes"), given.get("unit")
        return Samples(train_x, train_y, test_x, test_y, *_legal(more, blame))
    names = ", ".join(map(str, given)) if isinstance(given, Mapping) else ""
    got = f"a dict of {names}" if isinstance(given, Mapping) else _describe(given)
    raise BadInput(f"{blame}: must give {', '.join(ARRAYS)}, or a Dataset, gave {got}")


def dataset(samples: Samples, name: str, *, standardise: bool, blame: str) -> Dataset:
    """Checked samples as a Dataset.

    standardise: a model sees each channel with mean 0 and variance 1 over the training set;
    otherwise samples in their unit. blame: what a message of bad input begins with.
    """
    x = [_inputs(getattr(samples, n), f"{blame}: {n}") for n in ("train_x", "test_x")]
    y = [_targets(getattr(samples, n), f"{blame}: {n}") for n in ("train_y", "test_y")]
    classes, _ = _legal((samples.classes, samples.unit), blame)
    if classes is None:
        for name, each in zip(("train_y", "test_y"), y, strict=True):
            if each.ndim != 1:
                raise BadInput(
                    f"{blame}: {name} is {tuple(each.shape)}; must be [S], one target each"
                )
            _finite(each, f"{blame}: {name}")
        numbers = y[0].is_floating_point()
        classes = 0 if numbers else 1 + max((int(t.max()) for t in y if len(t)), default=0)
        legal = max(_USUAL_CLASSES, len(y[0]))
        if classes > legal:
            raise BadInput(
                f"{blame}: train_y or test_y has the label {classes - 1}; must be below {legal} "
                f"for {len(y[0])} training samples: number the classes 0, 1, 2, …"
            )
    if classes > _MOST_CLASSES:
        raise BadInput(f"{blame}: has {classes} classes; must be at most {_MOST_CLASSES}")
    unit = samples.unit or (255.0 if x[0].dtype == torch.uint8 else 1.0)
    nothing = torch.zeros(x[0].shape[1], dtype=torch.float64)
    data = Dataset(name, x[0], y[0], x[1], y[1], classes, nothing, nothing + 1 / unit)
    check(data, blame)
    _warn_of_axes(x[0], f"{blame}: train_x")
    if samples.classes is None:
        _warn(y[0], classes, f"{blame}: train_y")
    shift, scale = standard(x[0]) if standardise else (data.shift, data.scale)
    return Dataset(name, x[0], y[0], x[1], y[1], classes, shift, scale)


def check(data: Dataset, blame: str) -> None:
    """Refuse a Dataset whose arrays do not fit each other or their purpose."""
    for x, y in (("train_x", "train_y"), ("test_x", "test_y")):
        samples, targets = getattr(data, x), getattr(data, y)
        if samples.ndim != 4 or samples.shape[1:] != data.train_x.shape[1:]:
            shapes = f"{tuple(samples.shape)}, train_x {tuple(data.train_x.shape)}"
            raise BadInput(f"{blame}: {x} is {shapes}; must be [S C H W] of one sample shape")
        if samples.numel() == 0:
            raise BadInput(f"{blame}: {x} is {tuple(samples.shape)}; must hold a sample or more")
        if targets.shape != samples.shape[:1]:
            shape = tuple(targets.shape)
            raise BadInput(f"{blame}: {y} is {shape}; must be ({len(samples)},), one for each {x}")
        if samples.dtype != torch.uint8 and not samples.is_floating_point():
            raise BadInput(f"{blame}: {x} is of {samples.dtype}; must be uint8 or float")
        _finite(samples, f"{blame}: {x}")
        _labels(targets, data.classes, f"{blame}: {y}")
    for scale in (data.shift, data.scale):
        if scale.shape != data.train_x.shape[1:2] or not torch.isfinite(scale).all():
            raise BadInput(f"{blame}: shift and scale must be a finite number for each channel")


def every_fifth(labels: Shaped[np.ndarray, "S"]) -> Bool[np.ndarray, "S"]:
    """Which samples are for testing: of each class, in stored order, every fifth.

    Where targets are numbers, every fifth of all.

    >>> every_fifth(np.array([7, 7, 7, 2, 7, 7, 7])).nonzero()[0]
    array([5])
    """
    test = np.zeros(len(labels), bool)
    if labels.dtype.kind == "f":
        test[4::5] = True
        return test
    for each in np.unique(labels):
        test[np.flatnonzero(labels == each)[4::5]] = True
    return test


def standard(x: Shaped[Tensor, "S C H W"]) -> tuple[Float64[Tensor, "C"], Float64[Tensor, "C"]]:
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


def _array(value: object, name: str, blame: str) -> Array:
    if not isinstance(value, np.ndarray | Tensor):
        raise BadInput(f"{blame}: {name} is {_describe(value)}; must be a NumPy array or a tensor")
    return value


def _legal(more: tuple[object, object], blame: str) -> tuple[int | None, float | None]:
    """Classes and unit."""
    classes, unit = more
    if classes is not None and (not isinstance(classes, int | np.integer) or classes < 0):
        raise BadInput(f"{blame}: classes = {quote(classes)}; must be a whole number, 0 or more")
    if unit is not None and (not isinstance(unit, int | float) or not 0 < unit < math.inf):
        raise BadInput(f"{blame}: unit = {quote(unit)}; must be a number above 0")
    return None if classes is None else int(classes), None if unit is None else float(unit)


def _describe(value: object) -> str:
    """What something is, in a word or two."""
    many = f" of {len(value)}" if isinstance(value, tuple | list) else ""
    return f"{type(value).__name__}{many}"


def _inputs(x: Array, blame: str) -> Shaped[Tensor, "S C H W"]:
    """Samples as [S C H W], uint8 or float32."""
    tensor = _tensor(x, blame, "uint8 or float", whole=torch.uint8)
    if tensor.ndim not in _AXES:
        raise BadInput(f"{blame} is {tuple(x.shape)}; must be {_FORMS}")
    return tensor.reshape(len(tensor), *_AXES[tensor.ndim], *tensor.shape[1:])


def _targets(y: Array, blame: str) -> Tensor:
    """Targets as int64 classes or float32 numbers."""
    return _tensor(y, blame, "whole numbers or float", whole=torch.int64)


def _tensor(values: Array, blame: str, legal: str, *, whole: torch.dtype) -> Tensor:
    """Floats in float32, whole numbers in the type `whole`, on the CPU and in C order."""
    if isinstance(values, np.ndarray):
        kept = values.dtype.kind == "f" or _is_whole(values.dtype, whole)
        if not kept:
            hint = ", such as numpy.unique(y, return_inverse=True)[1]" * (
                values.dtype.kind in "OUS"
            )
            raise BadInput(f"{blame} is of {values.dtype}; must be {legal}{hint}")
        native = np.float32 if values.dtype.kind == "f" else np.dtype(str(whole).split(".")[1])
        with np.errstate(over="ignore"):  # too large for float32: found when finiteness is checked
            return torch.from_numpy(np.require(values.astype(native, copy=False), None, ["C", "W"]))
    values = values.detach().cpu().contiguous()
    if values.is_floating_point():
        return values.float()
    return _tensor(values.numpy(), blame, legal, whole=whole)


def _is_whole(dtype: np.dtype, whole: torch.dtype) -> bool:
    return dtype == np.uint8 if whole == torch.uint8 else dtype.kind in "iub"


def _warn_of_axes(x: Shaped[Tensor, "S C H W"], blame: str) -> None:
    """Say where channels seem to come last: models that flatten would train all the same."""
    channels, height, width = x.shape[1:]
    if width <= _FEW < min(channels, height):
        told = f"is {tuple(x.shape)}, taken as {channels} channels of {height} × {width} pixels"
        hint = "where channels come last, give x.transpose(0, 3, 1, 2)"
        warnings.warn(f"{blame} {told}; {hint}", stacklevel=4)


def _warn(y: Tensor, classes: int, blame: str) -> None:
    """Say what is legal, but seldom meant."""
    told = ""
    if classes == 0:
        if len(y) > 1 and torch.equal(y, y.round()):
            told = "holds whole numbers as float, which are predicted as numbers; for classes give "
            told += "them as integers"
    elif classes == 1:
        told = "has one class: any model is right"
    elif lacking := sorted({*range(classes)} - {*np.unique(y.numpy()).tolist()}):
        some = ", ".join(map(str, lacking[:6])) + (", …" if len(lacking) > 6 else "")
        told = f"has no sample of class {some}; classes are counted from 0 to {classes - 1}"
    if told:
        warnings.warn(f"{blame} {told}", stacklevel=4)


def _finite(values: Tensor, blame: str) -> None:
    if values.is_floating_point() and not torch.isfinite(values).all():
        raise BadInput(f"{blame} holds what is not finite in {values.dtype}; must be numbers")


def _labels(y: Tensor, classes: int, blame: str) -> None:
    """Whole numbers 0..classes-1, or finite numbers where there are no classes."""
    if classes == 0:
        if not y.is_floating_point():
            raise BadInput(f"{blame} is of {y.dtype}; must be float where classes = 0")
        return _finite(y, blame)
    if y.dtype != torch.int64:
        raise BadInput(f"{blame} is of {y.dtype}; must be whole numbers, a class for each sample")
    low, high = int(y.min()), int(y.max())
    if low < 0:
        raise BadInput(f"{blame} has labels {low}..{high}; must be counted from 0")
    if high >= classes:
        raise BadInput(f"{blame} has labels {low}..{high}; must be 0..{classes - 1}")
    return None

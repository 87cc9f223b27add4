"""Local SGD, and scores of a model, in C++ for sequential networks; one core per call.

The kernel is compiled on first use by the system's C++ compiler. It releases the interpreter lock:
one Python thread per core trains one device each, and how devices are shared out changes no bit of
the result. A thread keeps the memory of its last network until it ends.
"""

import ctypes
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float32, Float64
from torch import Tensor

from airfeel.compiled import COUNT, FUSED, REAL, Kernel, Numbers
from airfeel.training.augment import FIELDS
from airfeel.training.native.describe import Network, Unsupported, describe
from airfeel.types import BadInput

__all__ = ["KERNEL", "Network", "Terms", "Unsupported", "describe", "evaluate", "local_sgd"]

Array = Tensor | np.ndarray
_FLOATS, _INTEGERS, _MOVES = Numbers(np.float32), Numbers(np.int64), Numbers(np.int32)
_BYTES = Numbers(np.uint8)
_ALL_KEPT = np.zeros((0, 0, 0), np.uint8)  # no dropout
_STILL = np.zeros((0, FIELDS), np.int32)  # no augmentation
_SMALLEST = float(
    np.finfo(np.float32).tiny
)  # a smaller norm would be 0 there, which is no clipping
KERNEL = Kernel(
    Path(__file__).parent,
    FUSED,
    {
        "local_sgd": (
            ctypes.c_int,
            (
                *(_INTEGERS, COUNT),  # the network's table, its layers
                *(_FLOATS, COUNT),  # theta, its parameters
                *(Numbers(None), COUNT, _INTEGERS),  # samples, whether they are bytes, labels
                *(_FLOATS, _FLOATS),  # shift, scale
                *(_INTEGERS, COUNT, COUNT, COUNT),  # batches: devices, steps, samples per step
                *(_MOVES, COUNT),  # how samples are augmented, whether they are
                *(_BYTES, COUNT, _FLOATS),  # units kept, how many in a step (0: no dropout), scales
                *(ctypes.c_float, ctypes.c_float, ctypes.c_float),  # learning rate, decay, clip
                *(ctypes.c_float, ctypes.c_float, REAL),  # momentum, pull, smoothing
                *(Numbers(np.float32, written=True), Numbers(np.float64, written=True)),  # Δ, loss
            ),
        ),
        "evaluate": (
            ctypes.c_int,
            (
                *(_INTEGERS, COUNT, _FLOATS),  # the network's table, its layers, theta
                *(Numbers(None), COUNT, _INTEGERS),  # samples, whether they are bytes, labels
                *(_FLOATS, _FLOATS, COUNT),  # shift, scale, how many samples
                *(Numbers(np.int64, written=True), Numbers(np.float64, written=True)),  # hits, loss
            ),
        ),
    },
)


@dataclass(frozen=True)
class Terms:
    """What a step has beside the gradient of the cross-entropy; nothing unless given.

    With weight decay λ, pull μ, clip_norm c and momentum β a step is g ← ∇F + λw + μ(w − w_start),
    g ← g·min(1, c/‖g‖), v ← βv + g, w ← w − ηv. label_smoothing is that of
    torch.nn.CrossEntropyLoss.
    """

    weight_decay: float = 0.0
    clip_norm: float | None = None
    momentum: float = 0.0
    pull: float = 0.0
    label_smoothing: float = 0.0

    @property
    def numbers(self) -> tuple[float, ...]:
        """The same as the kernel reads them."""
        clip = 0.0 if self.clip_norm is None else max(self.clip_norm, _SMALLEST)
        return (self.weight_decay, clip, self.momentum, self.pull, self.label_smoothing)


def local_sgd(
    network: Network,
    theta: Array,
    x: Array,
    y: Array,
    batches: Array,
    learning_rate: float,
    shift: Array,
    scale: Array,
    *,
    moves: Array | None = None,
    terms: Terms | None = None,
    keep: Array | None = None,
    out: Array | None = None,
) -> tuple[Float32[Tensor, "n D"], Float64[Tensor, "n"]]:
    """Δ_n = w_{n,H} − w with w_{n,i} = w_{n,i−1} − η ∇F_n(w_{n,i−1}; B_i), and the mean batch loss.

    Sun et al. 2022, Algorithm 1. F is the mean cross-entropy of a batch, on inputs
    (x − shift)·scale. Every array must be contiguous and on the CPU; each is checked, and what
    does not fit raises `BadInput`.

    theta:         w, float32 [D], in PyTorch's order of parameters
    x, y:          samples, uint8 or float32 [S, C, height, width], and labels, int64 [S]
    batches:       sample indices, int64 [n, H, B]: n devices, H steps, B samples per step
    learning_rate: η
    shift, scale:  for each channel, float32 [C]
    moves:         how samples are augmented, int32 [n, H, B, 7] (see `airfeel.training.augment`)
    terms:         further terms of a step; plain SGD if None
    keep:          units kept by dropout (1) or not (0), place after place of `network.places`, each
                   [B, height, width, channels]: uint8 [n, H, B·network.units]; no dropout if None
    out:           receives Δ, float32 [n, D]; allocated if None
    """
    w, samples, labels, *standard = _check_inputs(network, theta, x, y, shift, scale)
    index = _check_array("batches", batches, (None, None, None), np.int64)
    n, steps, size = index.shape
    if out is None:
        out = torch.empty((n, network.parameters), dtype=torch.float32)
    delta = _check_array("out", out, (n, network.parameters), np.float32)
    loss = np.empty(n)
    _check_values(network, labels, index, learning_rate, delta)
    terms = terms or Terms()
    if not all(map(math.isfinite, terms.numbers)):
        raise BadInput(f"terms: {terms}, must be finite")
    augmented = moves is not None
    table = _STILL if moves is None else _check_moves(network, moves, index.shape)
    kept = _ALL_KEPT
    if keep is not None:
        kept = _check_array("keep", keep, (n, steps, size * network.units), np.uint8)
    if np.may_share_memory(delta, w):
        raise BadInput("out: shares memory with theta, must have its own")
    status = KERNEL["local_sgd"](
        *(network.table, len(network.table)),
        *(w, w.size),
        *(samples, samples.dtype == np.uint8, labels),
        *standard,
        *(index, n, steps, size),
        *(table, augmented),
        *(kept, kept.shape[2], network.scales),
        *(learning_rate, *terms.numbers, delta, loss),
    )
    if status:
        raise MemoryError(f"no memory for a mini-batch of {size} samples in this network")
    return torch.as_tensor(out), torch.from_numpy(loss)


def evaluate(
    network: Network, theta: Array, x: Array, y: Array, shift: Array, scale: Array
) -> tuple[int, float]:
    """How many samples the model classifies rightly, and the sum of their cross-entropies.

    A sample counts as right where its label has the largest logit, the first among equals. Sums are
    made in the order of the samples; 3×3 convolutions go by tiles of 4×4 outputs. Arguments as for
    `local_sgd`.
    """
    w, samples, labels, *standard = _check_inputs(network, theta, x, y, shift, scale)
    _check_range("y", labels, network.classes, "labels")
    hits, loss = np.empty(1, np.int64), np.empty(1)
    status = KERNEL["evaluate"](
        *(network.table, len(network.table), w),
        *(samples, samples.dtype == np.uint8, labels),
        *(*standard, len(samples)),
        *(hits, loss),
    )
    if status:
        raise MemoryError("no memory for a look at some samples with this network")
    return int(hits[0]), float(loss[0])


def _check_inputs(
    network: Network, theta: Array, x: Array, y: Array, shift: Array, scale: Array
) -> list[np.ndarray]:
    """The same as arrays, if they fit the network."""
    samples = _check_array("x", x, (None, *network.shape), np.uint8, np.float32)
    return [
        _check_array("theta", theta, (network.parameters,), np.float32),
        samples,
        _check_array("y", y, (len(samples),), np.int64),
        _check_array("shift", shift, (network.shape[0],), np.float32),
        _check_array("scale", scale, (network.shape[0],), np.float32),
    ]


def _check_array(
    name: str, value: Array, shape: tuple[int | None, ...], *dtypes: type
) -> np.ndarray:
    """The array behind `value`, not copied, if its shape (None: any) and its type are legal."""
    if isinstance(value, Tensor):
        if value.device.type != "cpu" or value.layout != torch.strided:
            raise BadInput(f"{name}: lies on {value.device}, must be a dense tensor on the CPU")
        value = value.detach().numpy()
    if not isinstance(value, np.ndarray):
        raise BadInput(f"{name}: {type(value).__name__} is neither a tensor nor an array")
    if value.dtype not in dtypes:
        legal = " or ".join(np.dtype(d).name for d in dtypes)
        raise BadInput(f"{name}: type {value.dtype}, must be {legal}")
    fits = len(shape) == value.ndim and all(
        want in (None, have) for want, have in zip(shape, value.shape, strict=True)
    )
    if not fits:
        legal = ", ".join("any" if n is None else str(n) for n in shape)
        raise BadInput(f"{name}: shape {value.shape}, must be ({legal})")
    if not (value.flags.c_contiguous and value.flags.aligned):
        raise BadInput(f"{name}: strides {value.strides}, must be contiguous and aligned")
    return value


def _check_values(
    network: Network, labels: np.ndarray, index: np.ndarray, learning_rate: float, delta: np.ndarray
) -> None:
    if index.shape[1] < 1 or not 1 <= index.shape[2] < 2**31:
        raise BadInput(f"batches: shape {index.shape}, must hold at least one step of one sample")
    if not math.isfinite(learning_rate):
        raise BadInput(f"learning_rate: {learning_rate}, must be finite")
    if not delta.flags.writeable:
        raise BadInput("out: read-only, must be writeable")
    _check_range("batches", index, len(labels), "sample indices")
    _check_range("y", labels[index], network.classes, "labels in the batches")


def _check_moves(network: Network, moves: Array, lead: tuple[int, ...]) -> np.ndarray:
    """Shifts by at most the image's size, flips of 0 or 1, and boxes within the image."""
    table = _check_array("moves", moves, (*lead, FIELDS), np.int32)
    _, height, width = network.shape
    low = np.array([-height, -width, 0, 0, 0, 0, 0])
    high = np.array([height, width, 1, height, width, height, width])
    if ((table < low) | (table > high)).any() or (table[..., 3:5] > table[..., 5:]).any():
        legal = "shifts within the image's size, flips 0 or 1, boxes (top, left, bottom, right)"
        raise BadInput(f"moves: an integer is out of range, must be {legal} within the image")
    return table


def _check_range(name: str, values: np.ndarray, end: int, what: str) -> None:
    if values.size and (values.min() < 0 or values.max() >= end):
        bad = values[(values < 0) | (values >= end)][0]
        raise BadInput(f"{name}: {what} include {bad}, must be at least 0 and below {end}")

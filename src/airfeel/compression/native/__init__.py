"""The inner loops of compression in C++, for rows of float32 or float64 on the CPU.

Each has a plain reading beside its caller, which runs on a GPU and where there is no compiler. Both
give the same bits, but for the last digit of a quantiser's norm.
"""

import ctypes
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from airfeel.compiled import COUNT, FUSED, REAL, Kernel, Numbers, Signature
from airfeel.types import BadInput

_NAMES = {torch.float32: "float32", torch.float64: "float64"}
_NO_MEMORY = 1


def _signatures(dtype: str) -> dict[str, Signature]:
    """Of the functions on numbers of one type."""
    x, x_out = Numbers(dtype), Numbers(dtype, written=True)
    index, index_out, dice = Numbers(np.int64), Numbers(np.int64, written=True), Numbers(np.float64)
    status, finite, sent = ctypes.c_int, Numbers(np.bool_, written=True), (index, x, COUNT)
    return {
        f"top_k_{dtype}": (status, (x, COUNT, COUNT, index, COUNT, COUNT, index_out)),
        f"add_{dtype}": (None, (x, x, index, COUNT, COUNT, x_out, finite)),
        f"keep_{dtype}": (status, (x, COUNT, *sent, *sent, index, index, index, COUNT, x_out)),
        f"scatter_{dtype}": (status, (x, index, COUNT, x_out, COUNT)),
        f"norm_{dtype}": (REAL, (x, COUNT)),
        f"quantize_{dtype}": (None, (x, COUNT, COUNT, REAL, dice, COUNT, x_out)),
    }


KERNEL = Kernel(Path(__file__).parent, FUSED, _signatures("float32") | _signatures("float64"))


def serves(*tensors: Tensor) -> bool:
    """Whether the kernel is there, and made for tensors like these."""
    dtype = tensors[0].dtype
    return (
        dtype in _NAMES
        and tensors[0].shape[-1] < 2**32
        and all(v.dtype == dtype and v.device.type == "cpu" and v.is_contiguous() for v in tensors)
        and KERNEL.missing is None
    )


def top_k(x: Float[Tensor, "n D"], k: int, support: Int64[Tensor, "K"]) -> Int64[Tensor, "n {k}"]:
    """Of each row, the sorted indices of the k largest |x| outside `support`, ties to the lower."""
    out = torch.empty((len(x), k), dtype=torch.int64)
    status = _run("top_k", x, *x.shape, support.contiguous(), len(support), k, out)
    if status == _NO_MEMORY:
        raise MemoryError(f"no memory for a mask over {x.shape[-1]} entries")
    _check_inside("top_k", status, x)
    return out


def add(
    delta: Float[Tensor, "n D"],
    memory: Float[Tensor, "N D"],
    places: Int64[np.ndarray, "n"],
    x: Float[Tensor, "n D"],
) -> Bool[np.ndarray, "n"]:
    """x = delta + memory[places], and which rows are finite; others are left with the memory."""
    _check_same("shapes", delta.shape, x.shape, (len(places), memory.shape[1]))
    _check_rows(places, memory)
    finite = np.empty(len(x), dtype=bool)
    _run("add", delta, memory, places, *x.shape, x, finite)
    return finite


def keep(
    x: Float[Tensor, "n D"],
    rows: Int64[np.ndarray, "r"],
    support: Int64[Tensor, "K"],
    common: Float[Tensor, "w K"],
    index: Int64[Tensor, "w L"],
    value: Float[Tensor, "w L"],
    words: Int64[np.ndarray, "r"],
    memory: Float[Tensor, "N D"],
    places: Int64[np.ndarray, "r"],
) -> None:
    """memory[places] = x[rows] − what rows `words` of common and value say; memory may be x."""
    _check_same("widths", x.shape[1:], memory.shape[1:])
    _check_same("shapes", common.shape, (len(value), len(support)))
    _check_same("shapes", index.shape, value.shape)
    _check_same("shapes", rows.shape, words.shape, places.shape)
    _check_rows(rows, x)
    _check_rows(words, common)
    _check_rows(places, memory)
    sent = (support.contiguous(), common, len(support), index.contiguous(), value, index.shape[1])
    status = _run("keep", x, x.shape[1], *sent, rows, words, places, len(rows), memory)
    _check_inside("keep", status, x)


def quantize(
    x: Float[Tensor, "n L"], last: int, dice: Float64[np.ndarray, "n L"]
) -> Float[Tensor, "n L"]:
    """Stochastically round each row's |x|/‖x‖ to one of `last` levels above zero.

    A value goes up where its die lies below the fraction of a level that it has left.
    """
    _check_same("shapes", x.shape, dice.shape)
    if dice.strides[1] != dice.itemsize:
        dice = np.ascontiguousarray(dice)
    value, stride = torch.empty_like(x), dice.strides[0] // dice.itemsize
    _run("quantize", x, *x.shape, last, dice[:1], stride, value)  # its rows may lie apart
    return value


def scatter(
    value: Float[Tensor, "n L"], index: Int64[Tensor, "n L"], total: Float[Tensor, "D"]
) -> None:
    """total[index] += value, device by device."""
    _check_same("shapes", index.shape, value.shape)
    status = _run("scatter", value, index.contiguous(), value.numel(), total, len(total))
    _check_inside("scatter", status, total)


def norm(x: Float[Tensor, "L"]) -> float:
    """‖x‖₂, as `quantize` has it."""
    return KERNEL[f"norm_{_NAMES[x.dtype]}"](x, len(x))


def _run(name: str, x: Tensor, *arguments: Tensor | np.ndarray | int) -> float | None:
    """Run the function for numbers of x's type; returns its status, if it has one."""
    return KERNEL[f"{name}_{_NAMES[x.dtype]}"](x, *arguments)


def _check_inside(name: str, status: float | None, x: Tensor) -> None:
    if status:
        raise IndexError(f"{name}: an index lies outside of the vector's {x.shape[-1]} entries")


def _check_same(what: str, *shapes: tuple[int, ...]) -> None:
    if any(shape != shapes[0] for shape in shapes):
        raise BadInput(f"{what} {', '.join(str(s) for s in shapes)}: must be the same")


def _check_rows(rows: Int64[np.ndarray, "r"], tensor: Tensor) -> None:
    if len(rows) and not 0 <= rows.min() <= rows.max() < len(tensor):
        raise IndexError(f"rows {rows.min()} to {rows.max()}: there are {len(tensor)}")

"""The inner loops of compression in C++, for rows of float32 or float64 on the CPU.

Each has a plain reading beside its caller, which runs on a GPU and where there is no compiler. Both
give the same bits, but for the last digit of a quantiser's norm.
"""

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from airfeel.compiled import library, library_if_any
from airfeel.types import BadInput

SOURCES = Path(__file__).parent
_NAMES = {torch.float32: "float32", torch.float64: "float64"}
_POINTER, _COUNT = ctypes.c_void_p, ctypes.c_int64
_NO_MEMORY = 1


def serves(*tensors: Tensor) -> bool:
    """Whether the kernel is there, and made for tensors like these."""
    kind = tensors[0].dtype
    return (
        kind in _NAMES
        and tensors[0].shape[-1] < 2**32
        and all(v.dtype == kind and v.device.type == "cpu" and v.is_contiguous() for v in tensors)
        and library_if_any(SOURCES) is not None
    )


def top_k(x: Float[Tensor, "n D"], k: int, support: Int64[Tensor, "K"]) -> Int64[Tensor, "n {k}"]:
    """Of each row, the sorted indices of the k largest |x| outside `support`, ties to the lower."""
    out = torch.empty((len(x), k), dtype=torch.int64)
    _called("top_k", x, *x.shape, support.contiguous(), len(support), k, out)
    return out


def add(
    delta: Float[Tensor, "n D"],
    memory: Float[Tensor, "N D"],
    places: Int64[np.ndarray, "n"],
    x: Float[Tensor, "n D"],
) -> Bool[np.ndarray, "n"]:
    """x = delta + memory[places], and which rows are finite; others are left with the memory."""
    _check_same("shapes", delta.shape, x.shape, (len(places), memory.shape[1]))
    finite = np.empty(len(x), dtype=bool)
    _called("add", delta, memory, _rows(places, memory), *x.shape, x, finite)
    return finite


def keep(
    x: Float[Tensor, "n D"],
    rows: Int64[np.ndarray, "r"],
    support: Int64[Tensor, "K"],
    common: Float[Tensor, "n K"],
    index: Int64[Tensor, "n L"],
    value: Float[Tensor, "n L"],
    memory: Float[Tensor, "N D"],
    places: Int64[np.ndarray, "r"],
) -> None:
    """memory[places] = x[rows] − what was sent; x itself may be the memory."""
    _check_same("widths", x.shape[1], memory.shape[1])
    _check_same("shapes", common.shape, (len(x), len(support)))
    _check_same("shapes", index.shape, value.shape, (len(x), value.shape[1]))
    _check_same("shapes", rows.shape, places.shape)
    sent = (support.contiguous(), common, len(support), index.contiguous(), value, index.shape[1])
    where = (_rows(rows, x), _rows(places, memory), len(rows))
    _called("keep", x, x.shape[1], *sent, *where, memory)


def quantize(
    x: Float[Tensor, "n L"], last: int, dice: Float64[np.ndarray, "n L"]
) -> Float[Tensor, "n L"]:
    """Each row in whole shares, `last` to its norm, up where the die lies below the fraction."""
    _check_same("shapes", x.shape, dice.shape)
    if dice.strides[1] != dice.itemsize:
        dice = np.ascontiguousarray(dice)
    value = torch.empty_like(x)
    _called("quantize", x, *x.shape, last, dice, dice.strides[0] // dice.itemsize, value)
    return value


def norm(x: Float[Tensor, "L"]) -> float:
    """‖x‖₂, as `quantize` has it."""
    return float(_function(f"norm_{_NAMES[x.dtype]}")(x.data_ptr(), len(x)))


_ARGUMENTS: dict[str, Any] = {
    "top_k": (_POINTER, _COUNT, _COUNT, _POINTER, _COUNT, _COUNT, _POINTER),
    "add": (_POINTER, _POINTER, _POINTER, _COUNT, _COUNT, _POINTER, _POINTER),
    "keep": (_POINTER, _COUNT, *(_POINTER, _POINTER, _COUNT) * 3, _POINTER),
    "norm": (_POINTER, _COUNT),
    "quantize": (_POINTER, _COUNT, _COUNT, ctypes.c_double, _POINTER, _COUNT, _POINTER),
}
_RESULTS: dict[str, Any] = {"norm": ctypes.c_double, "add": None, "quantize": None}


@cache
def _function(name: str) -> Any:
    function = library(SOURCES)[f"airfeel_{name}"]
    what = name.rpartition("_")[0]
    function.argtypes = _ARGUMENTS[what]
    function.restype = _RESULTS.get(what, ctypes.c_int)
    return function


def _called(name: str, x: Tensor, *arguments: Tensor | np.ndarray | int) -> None:
    """Call a function on numbers of x's type, and raise what it complains of."""
    status = _function(f"{name}_{_NAMES[x.dtype]}")(*map(_plain, (x, *arguments)))
    if status == _NO_MEMORY:
        raise MemoryError(f"no memory for a mask over {x.shape[-1]} entries")
    if status:
        raise IndexError(f"{name}: an index lies outside of the vector's {x.shape[-1]} entries")


def _check_same(what: str, *things: Any) -> None:
    if any(thing != things[0] for thing in things):
        raise BadInput(f"{what} {', '.join(str(t) for t in things)}: must be the same")


def _rows(rows: Int64[np.ndarray, "r"], tensor: Tensor) -> Int64[np.ndarray, "r"]:
    """The numbers of some rows, if all of them exist."""
    if len(rows) and not 0 <= rows.min() <= rows.max() < len(tensor):
        raise IndexError(f"rows {rows.min()} to {rows.max()}: there are {len(tensor)}")
    return np.ascontiguousarray(rows, np.int64)


def _plain(argument: Tensor | np.ndarray | int) -> int:
    """An argument as C knows it."""
    if isinstance(argument, Tensor):
        return argument.data_ptr()
    return argument.ctypes.data if isinstance(argument, np.ndarray) else argument

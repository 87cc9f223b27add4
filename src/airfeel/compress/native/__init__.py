"""The inner loops of compression in C++, for float32 and float64 vectors on the CPU.

Each has a plain reading beside its caller, which runs on a GPU and where there is no compiler. Both
give the same bits, but for the last digit of a quantiser's norm.
"""

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.compiled import library, library_if_any
from airfeel.types import BadInput

SOURCES = Path(__file__).parent
_NAMES = {torch.float32: "float32", torch.float64: "float64"}
_POINTER, _COUNT = ctypes.c_void_p, ctypes.c_int64
_NO_MEMORY = 1


def serves(*vectors: Tensor) -> bool:
    """Whether the kernel is there, and made for vectors like these."""
    kind = vectors[0].dtype
    return (
        kind in _NAMES
        and vectors[0].numel() < 2**32
        and all(v.dtype == kind and v.device.type == "cpu" and v.is_contiguous() for v in vectors)
        and library_if_any(SOURCES) is not None
    )


def top_k(x: Float[Tensor, "D"], k: int, support: Int64[Tensor, "K"]) -> Int64[Tensor, "{k}"]:
    """Sorted indices of the k entries of largest |x| outside `support`, ties to the lower index."""
    out = torch.empty(k, dtype=torch.int64)
    _called("top_k", x, len(x), support.contiguous(), len(support), k, out)
    return out


def add(delta: Float[Tensor, "D"], memory: Float[Tensor, "D"], x: Float[Tensor, "D"]) -> bool:
    """x = delta + memory; whether all of it is finite."""
    _check_lengths(x, delta, memory)
    return bool(_function(f"add_{_NAMES[x.dtype]}")(*_plain(delta, memory, len(x), x)))


def keep(
    x: Float[Tensor, "D"],
    support: Int64[Tensor, "K"],
    common: Float[Tensor, "K"],
    index: Int64[Tensor, "L"],
    value: Float[Tensor, "L"],
    memory: Float[Tensor, "D"],
) -> None:
    """memory = x − what was sent."""
    _check_lengths(x, memory)
    _check_lengths(support, common)
    _check_lengths(index, value)
    sent = (support, common, len(support), index, value, len(index))
    _called("keep", x, len(x), *sent, memory)


def quantize(
    x: Float[Tensor, "L"], last: int, dice: Float64[np.ndarray, "L"]
) -> Float[Tensor, "L"]:
    """x in whole shares, `last` to its norm, up where the die lies below the fraction."""
    value, dice = torch.empty_like(x), np.ascontiguousarray(dice)
    _check_lengths(x, dice)
    told = (x.data_ptr(), len(x), last, dice.ctypes.data, value.data_ptr())
    _function(f"quantize_{_NAMES[x.dtype]}")(*told)
    return value


def norm(x: Float[Tensor, "L"]) -> float:
    """‖x‖₂, as `quantize` has it."""
    return float(_function(f"norm_{_NAMES[x.dtype]}")(x.data_ptr(), len(x)))


_ARGUMENTS = {
    "top_k": (_POINTER, _COUNT, _POINTER, _COUNT, _COUNT, _POINTER),
    "add": (_POINTER, _POINTER, _COUNT, _POINTER),
    "keep": (*(_POINTER, _COUNT), *(_POINTER, _POINTER, _COUNT) * 2, _POINTER),
    "norm": (_POINTER, _COUNT),
    "quantize": (_POINTER, _COUNT, ctypes.c_double, _POINTER, _POINTER),
}


@cache
def _function(name: str) -> Any:
    function = library(SOURCES)[f"airfeel_{name}"]
    what = name.rpartition("_")[0]
    function.argtypes = _ARGUMENTS[what]
    function.restype = ctypes.c_double if what == "norm" else ctypes.c_int
    return function


def _called(name: str, x: Tensor, *arguments: Tensor | int) -> None:
    """Call a function on vectors of x's type, and raise what it complains of."""
    status = _function(f"{name}_{_NAMES[x.dtype]}")(*_plain(x, *arguments))
    if status == _NO_MEMORY:
        raise MemoryError(f"no memory for a mask over {len(x)} entries")
    if status:
        raise IndexError(f"{name}: an index lies outside of the vector's {len(x)} entries")


def _check_lengths(*vectors: Tensor | np.ndarray) -> None:
    if len({len(v) for v in vectors}) > 1:
        raise BadInput(f"vectors of {[len(v) for v in vectors]} entries: must have the same length")


def _plain(*arguments: Tensor | int) -> list[int]:
    """Arguments as C knows them."""
    return [a.data_ptr() if isinstance(a, Tensor) else a for a in arguments]

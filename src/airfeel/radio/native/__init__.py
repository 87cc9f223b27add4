"""The steps of the paper's allocation in C++, compiled on first use by the system's C++ compiler.

Each gives the same bits as its reading in NumPy, which serves where there is no compiler:
`_bottleneck_edges` and `_complete` in `matching`, `fill_legal` in `power`; the energy of segments,
in `air`, is the same to the last digits. Shapes, values and owners are the caller's to check: the
kernel relies on them.
"""

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from airfeel.compiled import library_if_any

Array = np.ndarray
SOURCES = Path(__file__).parent
_REALS, _OWNERS = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int64)
_SIZE, _REAL = ctypes.c_int64, ctypes.c_double
_ARGUMENTS = {
    "airfeel_legal": (_REALS, _REALS, _REALS, _SIZE, _SIZE, _REAL),
    "airfeel_bottleneck": (_REALS, _SIZE, _SIZE, _REALS),
    "airfeel_complete": (_REALS, _REALS, _SIZE, _SIZE, _OWNERS),
    "airfeel_fill": (_REALS, _REALS, _SIZE, _SIZE, _REAL, _OWNERS, _REALS),
    "airfeel_energy_float32": (ctypes.c_void_p, _SIZE, _SIZE, _SIZE, _REALS),
    "airfeel_energy_float64": (ctypes.c_void_p, _SIZE, _SIZE, _SIZE, _REALS),
}


@cache
def kernel() -> ctypes.CDLL | None:
    """The compiled kernel, or None where it cannot be had."""
    found = library_if_any(SOURCES)
    if found is not None:
        for name, arguments in _ARGUMENTS.items():
            getattr(found, name).argtypes = arguments
    return found


def legal(
    kernel: ctypes.CDLL,
    power: Float[Array, "n"],
    gain2: Float[Array, "n m"],
    noise: float,
    bits: Float[Array, "n"],
) -> bool:
    """Whether the values are such that `check_radio` and the check of the bits will not object."""
    at = _reals(power), _reals(gain2), _reals(bits)
    return bool(kernel.airfeel_legal(*at, *gain2.shape, float(noise)))


def bottleneck_edges(kernel: ctypes.CDLL, rate: Float[Array, "n m"]) -> Float[Array, "n m"]:
    """The rates of at least the bottleneck value; −∞ elsewhere."""
    allowed = np.empty(rate.shape)
    _heed(kernel.airfeel_bottleneck(_reals(rate), *rate.shape, _reals(allowed)))
    return allowed


def complete(
    kernel: ctypes.CDLL, snr: Float[Array, "n m"], owner: Int[Array, "m"], bits: Float[Array, "n"]
) -> Int[Array, "m"]:
    """The owner of each sub-channel after greedy completion."""
    owner = np.array(owner, np.int64)
    _heed(kernel.airfeel_complete(_reals(snr), _reals(bits), *snr.shape, _owners(owner)))
    return owner


def fill(
    kernel: ctypes.CDLL,
    power: Float[Array, "n"],
    gain2: Float[Array, "n m"],
    noise: float,
    owner: Int[Array, "m"],
) -> Float[Array, "n m"]:
    """Water-filling of every device over the sub-channels it owns."""
    filled = np.zeros(gain2.shape)
    at = _reals(power), _reals(gain2), *gain2.shape, float(noise), _owners(owner), _reals(filled)
    _heed(kernel.airfeel_fill(*at))
    return filled


def segment_energy(
    kernel: ctypes.CDLL, common: Float[Array, "n K"], subchannels: int
) -> Float[Array, "n {subchannels}"]:
    """Squared norm of each segment of each row, in float32 or float64."""
    common, energy = np.ascontiguousarray(common), np.empty((len(common), subchannels))
    told = (common.ctypes.data, *common.shape, subchannels, _reals(energy))
    getattr(kernel, f"airfeel_energy_{common.dtype.name}")(*told)
    return energy


# A view of the buffer costs a fifth of `array.ctypes`, but only a buffer that may be written to and
# is not empty has one. Both keep the array alive as long as the call needs it.
def _reals(array: Float[Array, "..."]) -> Any:
    """Where the array lies, or a copy of it if it is not contiguous or not of float64."""
    array = np.ascontiguousarray(array, np.float64)
    if array.size and array.flags.writeable:
        return ctypes.c_double.from_buffer(array.data)
    return array.ctypes.data_as(_REALS)


def _owners(array: Int[Array, "m"]) -> Any:
    """The same for int64."""
    array = np.ascontiguousarray(array, np.int64)
    if array.size and array.flags.writeable:
        return ctypes.c_int64.from_buffer(array.data)
    return array.ctypes.data_as(_OWNERS)


def _heed(status: int) -> None:
    if status:
        raise MemoryError("no memory for the allocation of sub-channels")

"""The steps of the paper's allocation in C++, compiled on first use by the system's C++ compiler.

Each gives the same bits as its plain reading in NumPy, which serves where there is no compiler:
`bottleneck_matching` and `complete_greedily` in `matching`, `water_filling` in `links`, `superpose`
in `air`; the energy of segments, there too, is the same to the last digits. Shapes are the
caller's to check; values and owners are checked here, and None or False says that there is
something wrong with them.
"""

import ctypes
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from airfeel.compiled import AS_WRITTEN, COUNT, REAL, Kernel, Numbers, Signature

Array = np.ndarray
_REALS, _REALS_OUT = Numbers(np.float64), Numbers(np.float64, written=True)
_OWNERS, _OWNERS_OUT = Numbers(np.int64), Numbers(np.int64, written=True)
_NO_MEMORY = 1
_STATUS, _SHAPE = ctypes.c_int, (COUNT, COUNT)


def _superposing(kind: str) -> Signature:
    """Symbols and how many, what arrives, sizes of parts, rows; the sum."""
    x, places = Numbers(kind), Numbers(np.int64)
    return None, (x, COUNT, x, places, COUNT, places, COUNT, Numbers(kind, written=True))


KERNEL = Kernel(
    Path(__file__).parent,
    AS_WRITTEN,
    {
        "legal": (_STATUS, (_REALS, _REALS, _REALS, *_SHAPE, REAL)),
        "bottleneck": (_STATUS, (_REALS, *_SHAPE, _REALS_OUT)),
        "complete": (_STATUS, (_REALS, _REALS, *_SHAPE, _OWNERS_OUT)),
        "fill": (_STATUS, (_REALS, _REALS, *_SHAPE, REAL, _OWNERS, _REALS_OUT)),
        "energy_float32": (None, (Numbers(np.float32), *_SHAPE, COUNT, _REALS_OUT)),
        "energy_float64": (None, (_REALS, *_SHAPE, COUNT, _REALS_OUT)),
        **{f"superpose_{kind}": _superposing(kind) for kind in ("float32", "float64")},
    },
)


def legal(
    power: Float[Array, "n"], gain2: Float[Array, "n m"], noise: float, bits: Float[Array, "n"]
) -> bool:
    """Whether the values are such that `check_radio` and the check of the bits will not object."""
    return bool(KERNEL["legal"](power, gain2, bits, *gain2.shape, noise))


def bottleneck_edges(rate: Float[Array, "n m"]) -> Float[Array, "n m"] | None:
    """The rates of at least the bottleneck value, −∞ elsewhere; None if a rate is not finite."""
    allowed = np.empty(rate.shape)
    return allowed if _done(KERNEL["bottleneck"](rate, *rate.shape, allowed)) else None


def complete(
    snr: Float[Array, "n m"], owner: Int[Array, "m"], bits: Float[Array, "n"]
) -> Int[Array, "m"] | None:
    """The owner of each sub-channel after greedy completion; None if an owner or bits are bad."""
    owner = np.array(owner, np.int64)
    return owner if _done(KERNEL["complete"](snr, bits, *snr.shape, owner)) else None


def fill(
    power: Float[Array, "n"], gain2: Float[Array, "n m"], noise: float, owner: Int[Array, "m"]
) -> Float[Array, "n m"] | None:
    """Water-filling of every device over the sub-channels it owns; None if an owner is bad."""
    filled = np.zeros(gain2.shape)
    status = KERNEL["fill"](power, gain2, *gain2.shape, noise, owner, filled)
    return filled if _done(status) else None


def segment_energy(
    common: Float[Array, "n K"], subchannels: int
) -> Float[Array, "n {subchannels}"]:
    """Squared norm of each segment of each row, in float32 or float64."""
    energy = np.empty((len(common), subchannels))
    KERNEL[f"energy_{common.dtype.name}"](common, *common.shape, subchannels, energy)
    return energy


def superpose(
    symbols: Float[Array, "n S"],
    arriving: Float[Array, "n M"],
    sizes: Int[Array, "M"],
    rows: Int[Array, "r"],
) -> Float[Array, "S"]:
    """Σ over some rows, in their order, of the symbols times what arrives of a unit of theirs.

    Both are float32 or float64; `sizes` are those of the segments, which make up all symbols.
    """
    total = np.empty(symbols.shape[1], symbols.dtype)
    KERNEL[f"superpose_{symbols.dtype.name}"](
        *(symbols, symbols.shape[1], arriving, sizes.astype(np.int64), len(sizes)),
        *(rows.astype(np.int64), len(rows), total),
    )
    return total


def _done(status: float) -> bool:
    """Whether the kernel did its work; not if it refused the values."""
    if status == _NO_MEMORY:
        raise MemoryError("no memory for the allocation of sub-channels")
    return not status

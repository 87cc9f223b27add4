"""Channel gains from a file."""

import warnings
from pathlib import Path

import numpy as np
from jaxtyping import Float64

from airfeel import arrays, regular
from airfeel.errors import BadInput, reason, shorten


def read_gains(path: Path) -> Float64[np.ndarray, "N M"]:
    """Channel gains |h| from a .npy or a .csv file, one row per device."""
    blame = f"--gains {shorten(str(path))}"
    gain = arrays.read_gains(path, blame) if path.suffix == ".npy" else _table(path, blame)
    if gain.ndim != 2 or gain.size == 0 or not np.isfinite(gain).all() or (gain < 0).any():
        raise BadInput(
            f"{blame}: must hold one row per device and one column per sub-channel, "
            f"all finite and at least 0; its shape is {gain.shape}"
        )
    return gain


def _table(path: Path, blame: str) -> Float64[np.ndarray, "..."]:
    try:
        with warnings.catch_warnings(action="ignore"):  # of an empty file
            return np.loadtxt(regular.check(path), delimiter=",", ndmin=2)
    except (OSError, ValueError, MemoryError) as error:
        raise BadInput(f"{blame}: cannot be read as .npy or .csv ({reason(error)})") from error

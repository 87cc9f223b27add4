"""Channel gains from a file."""

from pathlib import Path

import numpy as np
from jaxtyping import Float64

from airfeel.types import BadInput


def read_gains(path: Path) -> Float64[np.ndarray, "N M"]:
    """Channel gains |h| from a .npy or a .csv file, one row per device."""
    try:
        if path.suffix == ".npy":
            gain = np.abs(np.load(path, allow_pickle=False)).astype(np.float64)
        else:
            gain = np.loadtxt(path, delimiter=",", ndmin=2)
    except (OSError, ValueError, TypeError, EOFError) as error:
        raise BadInput(f"--gains {path}: cannot be read as .npy or .csv ({error})") from error
    if gain.ndim != 2 or gain.size == 0 or not np.isfinite(gain).all() or (gain < 0).any():
        raise BadInput(
            f"--gains {path}: must hold one row per device and one column per sub-channel, "
            f"all finite and at least 0; its shape is {gain.shape}"
        )
    return gain

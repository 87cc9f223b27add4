"""One sky, several allocators: slots, rates, fairness and the distance to a proven bound."""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from jaxtyping import Float64

from airfeel.catalogue import look_up
from airfeel.radio.allocate import ALLOCATORS, Paper
from airfeel.radio.allocators.bound import slots_bound
from airfeel.radio.digital import Division, divide
from airfeel.radio.links import Links
from airfeel.types import BadInput, Fading


@dataclass(frozen=True)
class Outcome:
    """What one allocator made of one sky."""

    allocator: str
    division: Division
    seconds: float
    over: float  # slots over the proven bound, less 1; NaN where no bound is known

    @property
    def fairness(self) -> float:
        """Jain's index of the rates: 1 where all are equal, 1/n where one device has all."""
        rate = self.rates
        return float(rate.sum() ** 2 / (len(rate) * np.square(rate).sum())) if len(rate) else np.nan

    @property
    def rates(self) -> Float64[np.ndarray, "n"]:
        """Rates of the devices that were served [bits/slot]."""
        return self.division.rate[self.division.batch >= 0]


def outcomes(
    names: list[str],
    fading: Fading,
    power: Float64[np.ndarray, "N"],
    bits: float,
    bound_seconds: float = 10.0,
) -> list[Outcome]:
    """Every named allocator on the same sky."""
    parts = {name: look_up(name, "--allocators", ALLOCATORS)() for name in names}
    everyone = np.arange(len(power))
    divide(everyone, power, fading, bits, Paper())  # the first call pays for warming up
    found = []
    for name, part in parts.items():
        clock = perf_counter()
        division = divide(everyone, power, fading, bits, part)
        found.append((name, division, perf_counter() - clock))
    fewest = min(division.slots for _, division, _ in found)
    bound = _bound(fading, power, bits, fewest, bound_seconds)
    return [Outcome(n, d, s, d.slots / bound - 1.0) for n, d, s in found]


def _bound(
    fading: Fading, power: Float64[np.ndarray, "N"], bits: float, known: int, seconds: float
) -> float:
    """The proven bound; NaN where devices speak in batches or somebody cannot be served."""
    n, m = fading.gain.shape
    served = (power * fading.gain2.max(axis=1) > 0).all()
    if n > m or not served or bits == 0:
        return float("nan")
    links = Links(power, fading.gain2, fading.noise, np.full(n, bits))
    return slots_bound(links, float(known), seconds)


def read_gains(path: Path) -> Float64[np.ndarray, "N M"]:
    """Channel gains |h| from a .npy or a .csv file, one row a device."""
    try:
        if path.suffix == ".npy":
            gain = np.abs(np.load(path, allow_pickle=False)).astype(np.float64)
        else:
            gain = np.loadtxt(path, delimiter=",", ndmin=2)
    except (OSError, ValueError, TypeError, EOFError) as error:
        raise BadInput(f"--gains {path}: cannot be read as .npy or .csv ({error})") from error
    if gain.ndim != 2 or gain.size == 0 or not np.isfinite(gain).all() or (gain < 0).any():
        raise BadInput(
            f"--gains {path}: must hold one row a device and one column a sub-channel, all finite "
            f"and at least 0; its shape is {gain.shape}"
        )
    return gain


def draw(path: Path, found: list[Outcome], fading: Fading, power: Float64[np.ndarray, "N"]) -> None:
    """The picture: gains as colour, owners as marks, and each sub-channel's water level."""
    plt = _pyplot()
    n, m = fading.gain.shape
    size = (0.28 * m + 2.5, len(found) * (0.2 * n + 2.2))
    figure, axes = plt.subplots(
        len(found) * 2,
        1,
        figsize=size,
        squeeze=False,
        layout="constrained",
        height_ratios=[0.2 * n + 0.8, 1.4] * len(found),
    )
    with np.errstate(divide="ignore"):
        decibels = 20.0 * np.log10(fading.gain)
    decibels = np.maximum(decibels, decibels[np.isfinite(decibels)].max(initial=0.0) - 40.0)
    for i, outcome in enumerate(found):
        picture, levels = axes[2 * i, 0], axes[2 * i + 1, 0]
        image = picture.imshow(decibels, aspect="auto", cmap="cividis", interpolation="nearest")
        figure.colorbar(image, ax=picture, label="|h|² in dB", pad=0.01)
        for owner in outcome.division.owner:
            column = np.flatnonzero(owner >= 0)
            picture.plot(column, owner[column], "o", ms=7, mfc="none", mec="#d55e00", mew=2)
        slots = f"{outcome.division.slots:,} slots"
        picture.set(title=f"{outcome.allocator}: {slots}", ylabel="device", xticks=range(m))
        picture.set(yticks=range(0, n, max(n // 10, 1)))
        _water(levels, outcome.division, fading)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _water(axis: Any, division: Division, fading: Fading) -> None:
    """Below each sub-channel its floor noise/|h|² for its owner, and on it the owner's power."""
    owner = division.owner[0] if len(division.owner) else np.zeros(0, dtype=int)
    column = np.flatnonzero(owner >= 0)
    who = owner[column]
    floor = 1e3 * fading.noise / fading.gain2[who, column]
    axis.bar(column, floor, color="#999999", label="floor σ0²/|h|²")
    axis.bar(
        column, 1e3 * division.power[who, column], bottom=floor, color="#56b4e9", label="power"
    )
    axis.set(
        xlim=(-0.5, fading.gain.shape[1] - 0.5), xlabel="sub-channel", ylabel="mW", yscale="log"
    )
    axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise BadInput('--plot needs matplotlib: pip install "airfeel[report]"') from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt

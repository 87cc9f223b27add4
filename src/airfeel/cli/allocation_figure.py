"""A picture of allocations: who owns which sub-channel, and how high the water stands."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from airfeel.cli.allocation import Outcome
from airfeel.plotting import SKY, VERMILION, blank, save
from airfeel.radio.transmission.digital import Division
from airfeel.types import Fading

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(path: Path, outcomes: list[Outcome], fading: Fading) -> None:
    """The picture: gains as colour, owners as marks, and each sub-channel's water level."""
    n, m = fading.gain.shape
    figure = blank(0.28 * m + 2.5, len(outcomes) * (0.2 * n + 2.2))
    heights = [0.2 * n + 0.8, 1.4] * len(outcomes)
    axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)
    with np.errstate(divide="ignore"):
        decibels = 20.0 * np.log10(fading.gain)
    decibels = np.maximum(decibels, decibels[np.isfinite(decibels)].max(initial=0.0) - 40.0)
    for i, outcome in enumerate(outcomes):
        picture, levels = axes[2 * i, 0], axes[2 * i + 1, 0]
        image = picture.imshow(decibels, aspect="auto", cmap="cividis", interpolation="nearest")
        figure.colorbar(image, ax=picture, label="|h|² in dB", pad=0.01)
        for owner in outcome.division.owner:
            column = np.flatnonzero(owner >= 0)
            picture.plot(column, owner[column], "o", ms=7, mfc="none", mec=VERMILION, mew=2)
        slots = f"{outcome.division.slots:,} slots"
        picture.set(title=f"{outcome.allocator}: {slots}", ylabel="device", xticks=range(m))
        picture.set(yticks=range(0, n, max(n // 10, 1)))
        _water(levels, outcome.division, fading)
    save(figure, path, 150)


def _water(axis: "Axes", division: Division, fading: Fading) -> None:
    """Below each sub-channel its floor noise/|h|² for its owner, and on it the owner's power."""
    owner = division.owner[0] if len(division.owner) else np.zeros(0, dtype=int)
    column = np.flatnonzero(owner >= 0)
    who = owner[column]
    floor = 1e3 * fading.noise / fading.gain2[who, column]
    axis.bar(column, floor, color="#999999", label="floor σ0²/|h|²")
    axis.bar(column, 1e3 * division.power[who, column], bottom=floor, color=SKY, label="power")
    axis.set(
        xlim=(-0.5, fading.gain.shape[1] - 0.5), xlabel="sub-channel", ylabel="mW", yscale="log"
    )
    axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=8)

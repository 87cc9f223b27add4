"""The toolkit of all figures: colours, looks, panels, bands, legends and files.

Only this file imports matplotlib, and only when something is drawn.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from airfeel.optional import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Panels = Sequence[Axes]

Dashes = str | tuple[float, tuple[float, ...]]  # as matplotlib has them: "--", or (offset, on/off)

# Okabe and Ito's palette without yellow and black, which vanish on white and on dark paper.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = PALETTE
GREY, BLACK, RULE = "#808080", "#000000", "#555555"

# Figures for a paper: an IEEE column of Times, and fonts that its checks let pass.
PRINT: Mapping[str, str | float] = {
    "font.family": "STIXGeneral",  # the Times of matplotlib itself: the same on every machine
    "mathtext.fontset": "stix",
    "font.size": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.color": "#dddddd",
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # TrueType, which IEEE asks for, instead of Type 3
    "ps.fonttype": 42,
    "svg.hashsalt": "airfeel",
    "pgf.texsystem": "pdflatex",
    "pgf.rcfonts": False,  # the fonts of the document that takes the figure in
}
# Figures for a page.
SCREEN: Mapping[str, str | float] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "axes.linewidth": 0.7,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "svg.hashsalt": "airfeel",
}
# No date inside: the same rows give the same file.
_METADATA: Mapping[str, dict[str, None]] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}


@dataclass(frozen=True)
class Band:
    """Mean and sample standard deviation over seeds at some points; the spread is NaN for one."""

    x: Float[np.ndarray, "p"]
    mean: Float[np.ndarray, "p"]
    spread: Float[np.ndarray, "p"]


@dataclass(frozen=True)
class Stroke:
    """How the line of a group looks."""

    colour: str
    dashes: Dashes = "-"


@contextmanager
def drawn(look: Mapping[str, str | float]) -> Iterator[None]:
    """Figures that are made and saved inside have this look."""
    with needed("matplotlib").rc_context(look):
        yield


def blank(width: float, height: float) -> "Figure":
    """An empty figure of so many inches."""
    needed("matplotlib")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def canvas(width: float, height: float, panels: int = 1) -> "tuple[Figure, Panels]":
    """A figure of so many inches, and its panels side by side."""
    figure = blank(width, height)
    axes: Panels = figure.subplots(1, panels, squeeze=False)[0].tolist()
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
        each.set_axisbelow(True)
    return figure, axes


def live(width: float, height: float, panels: int) -> "Panels":
    """Panels of a figure that a notebook shows, with one y axis for all."""
    needed("matplotlib")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(width, height), layout="constrained")
    axes: Panels = figure.subplots(1, panels, sharey=True, squeeze=False)[0].tolist()
    return axes


def draw_band(
    axes: "Axes", band: Band, stroke: Stroke, label: str, scale: float = 1.0, steps: bool = False
) -> None:
    """A line, and its spread over seeds as a band; with `steps` a value holds until the next."""
    mean, spread = scale * band.mean, scale * band.spread
    (line,) = axes.plot(band.x, mean, color=stroke.colour, linestyle=stroke.dashes, label=label)
    line.set_drawstyle("steps-post" if steps else "default")
    if not np.isnan(spread).all():
        low, high = mean - spread, mean + spread
        step: Literal["post"] | None = "post" if steps else None
        axes.fill_between(band.x, low, high, color=stroke.colour, alpha=0.15, lw=0, step=step)


def draw_level(axes: "Axes", value: float, stroke: Stroke, label: str) -> None:
    """A reference that has no place on the x axis."""
    axes.axhline(value, color=stroke.colour, linestyle=stroke.dashes, linewidth=1.2, label=label)


def legend_below(figure: "Figure", axes: "Axes", columns: int, row: float) -> None:
    """The labels of one panel once, below all: the figure grows by so many inches per row."""
    handles, labels = axes.get_legend_handles_labels()
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + row * -(-len(labels) // columns))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def save(figure: "Figure", path: Path, dpi: int) -> Path:
    """Write a figure in the format that the name ends with."""
    suffix = path.suffix.removeprefix(".")
    figure.savefig(path, format=suffix or None, dpi=dpi, metadata=_METADATA.get(suffix))
    return path

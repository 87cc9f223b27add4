"""Figures for a paper, from stored rows: IEEE column widths, embedded fonts, safe colours."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from airfeel.analysis.criterion import Judge, shared
from airfeel.analysis.groups import Groups
from airfeel.analysis.ranking import Line, lines
from airfeel.analysis.series import column
from airfeel.analysis.tables import tex
from airfeel.plotting import (
    ORANGE,
    PRINT,
    RULE,
    SKY,
    Band,
    Dashes,
    Stroke,
    canvas,
    draw_band,
    draw_level,
    drawn,
    legend_below,
    save,
)
from airfeel.reports.curves import accuracy_by, each_round
from airfeel.reports.devices import Devices, devices
from airfeel.reports.runs import extra_columns
from airfeel.reports.styles import Style, styles
from airfeel.storage.run import Run
from airfeel.types import BadInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from airfeel.plotting import Panels

FORMATS = ("pdf", "svg", "png", "pgf")
_COLUMN, _PAGE = 3.5, 7.16  # widths of an IEEE column and of both [inch]
_POINTS, _WINDOWS, _FEW = 1000, 250, 4
# Paper may be grey: lines differ in their dashes too. Dashed is kept for free references.
_FREE = "--"
_DASHES: tuple[Dashes, ...] = ("-", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (9, 2)))
_MARKERS = dict(
    zip(("circle", "square", "diamond", "triangle-up", "cross", "x"), "osD^PX", strict=True)
)
_DPI = 600


@dataclass(frozen=True)
class _Series:
    """One group, ready to be drawn."""

    label: str
    stroke: Stroke
    marker: str
    free: bool


def save_figures(
    groups: Groups, folder: Path, formats: list[str], judge: Judge | None = None
) -> list[Path]:
    """Every figure that the rows can fill, in each format, as folder/name.format.

    A format that fails stops no other: it is told once those are done.
    """
    paths, faults = [], []
    for suffix in formats:
        try:
            with drawn(PRINT):
                for name, figure in _figures(groups, tex if suffix == "pgf" else _no_math, judge):
                    paths.append(_save(figure, folder / f"{name}.{suffix}"))
        except BadInput as error:
            faults.append(error)
    for fault in faults:
        raise fault
    return paths


def _save(figure: "Figure", path: Path) -> Path:
    try:
        return save(figure, path, _DPI)
    except (RuntimeError, ValueError) as error:
        if path.suffix != ".pgf":
            raise
        reason = str(error).splitlines()[0]
        raise BadInput(f"--format pgf: needs pdflatex with the package pgf ({reason})") from error


def _no_math(label: str) -> str:
    """A label is text: matplotlib would read formulas between dollar signs."""
    return label.replace("$", r"\$")


def _figures(
    groups: Groups, text: Callable[[str], str], judge: Judge | None
) -> Iterator[tuple[str, "Figure"]]:
    """Name and figure, one after the other."""
    table = lines(groups, judge)
    groups = {line.label: groups[line.label] for line in table}
    looks = styles([line.label for line in table], [line.free for line in table])
    pairs = enumerate(zip(table, looks, strict=True))
    series = [_series(line, look, i, text) for i, (line, look) in pairs]
    by_rounds = accuracy_by(groups, "round", _POINTS)
    by_blocks = accuracy_by(groups, "resource_blocks", _POINTS)
    figure, (left, right) = _canvas(_PAGE, 2.5, 2)
    _accuracy(left, series, by_rounds, "rounds", "(a)")
    _accuracy(right, series, by_blocks, "resource blocks", "(b)")
    _legend(figure, "lower right")
    yield "accuracy", figure
    for name, curves, x in (
        ("accuracy-rounds", by_rounds, "rounds"),
        ("accuracy-blocks", by_blocks, "resource blocks"),
    ):
        figure, (axes,) = _canvas(_COLUMN, 2.4)
        _accuracy(axes, series, curves, x)
        _legend(figure, "lower right")
        yield name, figure
    yield "scheduled", _by_round(groups, series, "scheduled", "devices scheduled")
    overlap = {k: runs for k, runs in groups.items() if _has_overlap(runs, table, k)}
    if overlap:
        kept = [s for s, label in zip(series, groups, strict=True) if label in overlap]
        yield "mask-overlap", _by_round(overlap, kept, "mask_overlap", "mask overlap")
    if not np.isnan(shared(groups)):
        yield from _costs(groups, series)
    for name in extra_columns(groups):
        title = text(f"{name.replace('_', ' ')} per round")
        safe = re.sub(r"[^\w.-]", "-", name)  # a column's name may be no file's
        yield f"column-{safe}", _by_round(groups, series, name, title)


def _costs(groups: Groups, series: list[_Series]) -> "Iterator[tuple[str, Figure]]":
    """Slots and energy of the groups that use any and have stored them."""
    paid = [(one, runs) for one, runs in zip(series, groups.values(), strict=True) if not one.free]
    slots = [(one, runs) for one, runs in paid if not np.isnan(_mean_slots(runs, "air"))]
    if slots:
        yield "slots", _slots(slots)
    stored = [(one, devices(runs)) for one, runs in paid]
    energy = [(one, each) for one, each in stored if each is not None]
    if energy:
        yield "energy", _energy(energy)


def _mean_slots(runs: list[Run], phase: str) -> float:
    return float(np.mean([column(run, f"slots_{phase}")[1:].mean() for run in runs]))


def _series(line: Line, style: Style, place: int, text: Callable[[str], str]) -> _Series:
    dashes = _FREE if line.free else _DASHES[place % len(_DASHES)]
    stroke = Stroke(style.colour, dashes)
    return _Series(text(line.label), stroke, _MARKERS[style.symbol], line.free)


def _has_overlap(runs: list[Run], table: list[Line], label: str) -> bool:
    """Free references keep the whole model: their masks are always the same."""
    free = next(line.free for line in table if line.label == label)
    return not free and any(not np.isnan(column(r, "mask_overlap")).all() for r in runs)


def _canvas(width: float, height: float, panels: int = 1) -> "tuple[Figure, Panels]":
    figure, axes = canvas(width, height, panels)
    for each in axes:
        each.locator_params(integer=True)
    return figure, axes


def _legend(figure: "Figure", place: Literal["best", "lower right"] = "best") -> None:
    """Few groups are named inside; many below the axes, for which the figure grows."""
    labels = figure.axes[-1].get_legend_handles_labels()[1]
    if len(labels) <= _FEW:
        for axes in figure.axes:
            axes.legend(loc=place)
        return
    entry = (max(map(len, labels)) + 8) / 22  # about so wide [inch]
    columns = int(min(max(figure.get_size_inches()[0] / entry, 1), 4))
    legend_below(figure, figure.axes[-1], columns, 0.15)


def _accuracy(
    axes: "Axes", series: list[_Series], curves: dict[str, Band], x: str, panel: str = ""
) -> None:
    steps = x == "resource blocks"
    for one, curve in zip(series, curves.values(), strict=True):
        if steps and one.free:
            draw_level(axes, 100 * curve.mean[-1], one.stroke, one.label)
        else:
            draw_band(axes, curve, one.stroke, one.label, 100, steps)
    axes.set_xlabel(f"{panel} {x}".strip())
    axes.set_ylabel("test accuracy (%)")
    axes.margins(x=0.01)
    if steps:
        axes.ticklabel_format(axis="x", style="sci", scilimits=(0, 4), useMathText=True)


def _by_round(groups: Groups, series: list[_Series], name: str, title: str) -> "Figure":
    figure, (axes,) = _canvas(_COLUMN, 2.2)
    lowest = 0.0
    for one, runs in zip(series, groups.values(), strict=True):
        band = each_round(runs, name, _WINDOWS)[0]
        if not np.isnan(band.mean).all():
            draw_band(axes, band, one.stroke, one.label)
            lowest = min(lowest, axes.get_ylim()[0] if np.nanmin(band.mean) < 0 else 0.0)
    axes.set(xlabel="rounds", ylabel=title)
    axes.locator_params(axis="y", integer=name == "scheduled")
    axes.set_ylim(bottom=lowest)
    axes.margins(x=0.01)
    _legend(figure)
    return figure


def _slots(paid: list[tuple[_Series, list[Run]]]) -> "Figure":
    """Mean slots per round, by air and digital."""
    figure, (axes,) = _canvas(_COLUMN, 0.8 + 0.25 * len(paid))
    labels = [one.label for one, _ in paid]
    start = np.zeros(len(paid))
    for phase, colour, hatch in (("air", ORANGE, "////"), ("digital", SKY, "")):
        mean = [_mean_slots(runs, phase) for _, runs in paid]
        axes.barh(
            labels,
            mean,
            left=start,
            height=0.6,
            label=phase,
            color=colour,
            hatch=hatch,
            edgecolor="white",
            linewidth=0,
        )
        start = start + mean
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.set_xlabel("slots per round")
    figure.legend(loc="outside upper right", ncols=2)
    return figure


def _energy(paid: list[tuple[_Series, Devices]]) -> "Figure":
    """Energy of each device as a share of what its average power limit allows."""
    figure, (axes,) = _canvas(_COLUMN, 2.2)
    for one, energy in paid:
        share = energy.spent / energy.allowed
        axes.scatter(
            range(len(share)),
            share,
            s=12,
            lw=0,
            color=one.stroke.colour,
            marker=one.marker,
            label=one.label,
        )
    axes.axhline(1.0, color=RULE, linestyle="--", linewidth=0.8)
    axes.set(xlabel="device", ylabel="energy spent / allowed")
    axes.locator_params(axis="y", integer=False)
    axes.set_ylim(bottom=0)
    _legend(figure)
    return figure

"""Figures for a paper, from stored rows: IEEE column widths, embedded fonts, safe colours."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from airfeel.experiment.compare import lines, shared_blocks
from airfeel.experiment.report.curves import Curve, accuracy_by, each_round
from airfeel.experiment.report.devices import devices
from airfeel.experiment.report.extra import needed
from airfeel.experiment.report.runs import Groups
from airfeel.experiment.report.styles import Style, styles
from airfeel.experiment.report.summary import tex
from airfeel.types import BadInput

FORMATS = ("pdf", "svg", "png", "pgf")
_COLUMN, _PAGE = 3.5, 7.16  # widths of an IEEE column and of both [inch]
_POINTS, _WINDOWS, _FEW = 1000, 250, 4
# Paper may be grey: lines differ in their dashes too. Dashed is kept for free references.
_FREE, _DASHES = "--", ("-", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (9, 2)))
_MARKERS = dict(
    zip(("circle", "square", "diamond", "triangle-up", "cross", "x"), "osD^PX", strict=True)
)
_LOOK = {
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
# No date inside: the same rows give the same file.
_OPTIONS: dict[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
_OPTIONS = {kind: {"metadata": metadata} for kind, metadata in _OPTIONS.items()}


@dataclass(frozen=True)
class _Series:
    """One group, ready to be drawn."""

    label: str
    style: Style
    dash: Any
    free: bool


def save_figures(groups: Groups, folder: Path, formats: list[str]) -> list[Path]:
    """Every figure that the rows can fill, in each format, as folder/name.format."""
    matplotlib = needed("matplotlib")
    made = []
    for kind in formats:
        with matplotlib.rc_context(_LOOK):
            for name, figure in _figures(groups, tex if kind == "pgf" else _no_math):
                path = folder / f"{name}.{kind}"
                _save(figure, path, kind)
                made.append(path)
    return made


def _save(figure: Any, path: Path, kind: str) -> None:
    try:
        figure.savefig(path, format=kind, dpi=600, **_OPTIONS.get(kind, {}))
    except (RuntimeError, ValueError) as error:
        if kind != "pgf":
            raise
        reason = str(error).splitlines()[0]
        raise BadInput(f"--format pgf: needs pdflatex with the package pgf ({reason})") from error


def _no_math(label: str) -> str:
    """A label is text: matplotlib would read formulas between dollar signs."""
    return label.replace("$", r"\$")


def _figures(groups: Groups, text: Callable[[str], str]) -> Iterator[tuple[str, Any]]:
    """Name and figure, one after the other."""
    table = lines(groups)
    groups = {line.label: groups[line.label] for line in table}
    looks = styles([line.label for line in table], [line.free for line in table])
    series = [
        _Series(text(line.label), look, _FREE if line.free else _DASHES[i % 5], line.free)
        for i, (line, look) in enumerate(zip(table, looks, strict=True))
    ]
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
        figure, (axes,) = _canvas(_COLUMN, 2.4, 1)
        _accuracy(axes, series, curves, x)
        _legend(figure, "lower right")
        yield name, figure
    yield "scheduled", _by_round(groups, series, "scheduled", "devices scheduled")
    overlap = {k: runs for k, runs in groups.items() if _has_overlap(runs, table, k)}
    if overlap:
        kept = [s for s, label in zip(series, groups, strict=True) if label in overlap]
        yield "mask-overlap", _by_round(overlap, kept, "mask_overlap", "mask overlap")
    if not np.isnan(shared_blocks(groups)):
        yield "slots", _slots(groups, series)
        yield "energy", _energy(groups, series)


def _has_overlap(runs: list[Any], table: list[Any], label: str) -> bool:
    """Free references keep the whole model: their masks are always the same."""
    free = next(line.free for line in table if line.label == label)
    return not free and any(not np.isnan(r.columns["mask_overlap"]).all() for r in runs)


def _canvas(width: float, height: float, panels: int) -> tuple[Any, Any]:
    figure = needed("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
        each.set_axisbelow(True)
        each.locator_params(integer=True)
    return figure, axes


def _legend(figure: Any, place: str = "best") -> None:
    """Few groups are named inside; many below the axes, for which the figure grows."""
    handles, labels = figure.axes[-1].get_legend_handles_labels()
    if len(labels) <= _FEW:
        for axes in figure.axes:
            axes.legend(loc=place)
        return
    width, height = figure.get_size_inches()
    entry = (max(map(len, labels)) + 8) / 22  # about so wide [inch]
    columns = int(min(max(width / entry, 1), 4))
    figure.set_size_inches(width, height + 0.15 * -(-len(labels) // columns))
    figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def _accuracy(
    axes: Any, series: list[_Series], curves: dict[str, Curve], x: str, panel: str = ""
) -> None:
    steps = x == "resource blocks"
    for one, curve in zip(series, curves.values(), strict=True):
        curve = Curve(curve.x, 100 * curve.mean, 100 * curve.spread)
        if steps and one.free:
            axes.axhline(curve.mean[-1], **_look(one))
        else:
            _draw(axes, one, curve, steps)
    axes.set_xlabel(f"{panel} {x}".strip())
    axes.set_ylabel("test accuracy (%)")
    axes.margins(x=0.01)
    if steps:
        axes.ticklabel_format(axis="x", style="sci", scilimits=(0, 4), useMathText=True)


def _draw(axes: Any, one: _Series, curve: Curve, steps: bool = False) -> None:
    drawn = {"drawstyle": "steps-post"} if steps else {}
    axes.plot(curve.x, curve.mean, **_look(one), **drawn)
    if not np.isnan(curve.spread).all():
        low, high = curve.mean - curve.spread, curve.mean + curve.spread
        step = {"step": "post"} if steps else {}
        axes.fill_between(curve.x, low, high, color=one.style.colour, alpha=0.15, lw=0, **step)


def _look(one: _Series) -> dict[str, Any]:
    return {"color": one.style.colour, "linestyle": one.dash, "label": one.label}


def _by_round(groups: Groups, series: list[_Series], column: str, title: str) -> Any:
    figure, (axes,) = _canvas(_COLUMN, 2.2, 1)
    for one, runs in zip(series, groups.values(), strict=True):
        _draw(axes, one, each_round(runs, column, _WINDOWS)[0])
    axes.set(xlabel="rounds", ylabel=title)
    axes.locator_params(axis="y", integer=column == "scheduled")
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    _legend(figure)
    return figure


def _slots(groups: Groups, series: list[_Series]) -> Any:
    """Mean slots of a round, by air and digital."""
    paid = [(s, runs) for s, runs in zip(series, groups.values(), strict=True) if not s.free]
    figure, (axes,) = _canvas(_COLUMN, 0.8 + 0.25 * len(paid), 1)
    labels = [one.label for one, _ in paid]
    start = np.zeros(len(paid))
    for column, colour, hatch in (("air", "#E69F00", "////"), ("digital", "#56B4E9", "")):
        mean = [
            np.mean([r.columns[f"slots_{column}"][1:].mean() for r in runs]) for _, runs in paid
        ]
        look = {"color": colour, "hatch": hatch, "edgecolor": "white", "linewidth": 0}
        axes.barh(labels, mean, left=start, height=0.6, label=column, **look)
        start = start + mean
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.set_xlabel("slots a round")
    figure.legend(loc="outside upper right", ncols=2)
    return figure


def _energy(groups: Groups, series: list[_Series]) -> Any:
    """Energy of each device as a share of what its average power limit allows."""
    figure, (axes,) = _canvas(_COLUMN, 2.2, 1)
    for one, runs in zip(series, groups.values(), strict=True):
        if not one.free:
            found = devices(runs)
            look = {
                "color": one.style.colour,
                "marker": _MARKERS[one.style.symbol],
                "s": 12,
                "lw": 0,
            }
            axes.scatter(
                range(len(found.spent)), found.spent / found.allowed, label=one.label, **look
            )
    axes.axhline(1.0, color="#555555", linestyle="--", linewidth=0.8)
    axes.set(xlabel="device", ylabel="energy spent / allowed")
    axes.locator_params(axis="y", integer=False)
    axes.set_ylim(bottom=0)
    _legend(figure)
    return figure

"""Results over settings: a heat map over two of them, or lines over one. Nothing is pooled.

A point is a group of runs that differ in the seed alone. Settings that vary and are on no axis
make panels of their own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from airfeel.analysis.criterion import Judge
from airfeel.analysis.groups import Groups, deciding, short, unique, varied
from airfeel.analysis.ranking import Line, lines
from airfeel.catalogue import Value, suggestion
from airfeel.plotting import PALETTE, SCREEN, canvas, drawn, legend_below, save
from airfeel.settings.config import Experiment
from airfeel.storage.run import Run
from airfeel.types import BadInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS, _LINES, _DPI = 12, 12, 160
_DASHES = ("-", "--")
_WIDE = 20.0  # positive numbers that span this factor go on a logarithmic axis


@dataclass(frozen=True)
class Axis:
    """Two settings for a map, or one and perhaps a colour for lines; and names to show."""

    x: str
    y: str | None = None
    color: str | None = None
    names: Mapping[str, str] | None = None

    def name(self, key: str) -> str:
        return (self.names or {}).get(key, key.partition(".")[2] or key)


@dataclass(frozen=True)
class _Point:
    settings: dict[str, Value]
    line: Line


def save_map(
    groups: Groups, judge: Judge, axis: Axis, out: Path, formats: Sequence[str] = ("png",)
) -> list[Path]:
    """The map or the lines as out/map-x-y.format or out/lines-x.format."""
    keys = [key.split(".")[-1] for key in (axis.x, axis.y) if key]
    stem = f"{'map' if axis.y else 'lines'}-{'-'.join(keys)}"
    try:
        out.mkdir(parents=True, exist_ok=True)
        with drawn(SCREEN):
            figure = over_settings(groups, judge, axis)
            return [save(figure, out / f"{stem}.{suffix}", _DPI) for suffix in formats]
    except OSError as error:
        raise BadInput(f"--out {out}: cannot be written ({error.strerror or error})") from error


def over_settings(groups: Groups, judge: Judge, axis: Axis) -> "Figure":
    """The figure; panels for what varies besides."""
    by = judge.settled(groups)
    every = [runs[0].experiment for runs in groups.values()]
    vary, axis = varied(every), resolved(axis, every)
    axis = replace(axis, names=_names(groups, axis.names or {}))
    points = [_Point(_settings(groups[x.label][0]), x) for x in lines(groups, by)]
    rest = [key for key in vary if key not in (axis.x, axis.y, axis.color)]
    found: dict[str, list[_Point]] = {}
    for point in sorted(points, key=lambda p: [_order(p.settings.get(k)) for k in rest]):
        found.setdefault(str([point.settings.get(k) for k in rest]), []).append(point)
    if len(found) > _PANELS:
        many = f"{', '.join(rest)} vary too, which makes {len(found)} panels"
        raise BadInput(f"--x {axis.x}: {many}; leave out some runs")
    titles = unique([_title(own[0], rest, axis) for own in found.values()])
    panels = dict(zip(titles, found.values(), strict=True))
    return _heat_map(panels, by, axis) if axis.y else _line_plot(panels, by, axis)


def _settings(run: Run) -> dict[str, Value]:
    return deciding(run.experiment) | {"scheme.name": run.name}


def _names(groups: Groups, given: Mapping[str, str]) -> dict[str, str]:
    """What is called otherwise; an own scheme may be meant by its `module:factory`, too."""
    schemes = {runs[0].experiment.scheme.name: runs[0].name for runs in groups.values()}
    return {schemes.get(old, old): new for old, new in given.items()}


def resolved(axis: Axis, experiments: Sequence[Experiment]) -> Axis:
    """With whole names of settings; lines are coloured by scheme unless told otherwise."""
    vary, known = varied(experiments), list(deciding(experiments[0]))
    if axis.y and axis.color:
        raise BadInput(f"--color {axis.color}: is of lines; a map over --x and --y has none")
    x, y, color = (key and _whole(key, vary, known) for key in (axis.x, axis.y, axis.color))
    if not y and not color and x != "scheme.name" and "scheme.name" in vary:
        color = "scheme.name"
    return Axis(x or "", y, color, axis.names)


def _whole(key: str, vary: Sequence[str], known: Sequence[str]) -> str:
    """The section.key that a word stands for."""
    meant = [k for k in vary if key in (k, k.partition(".")[2])]
    meant = meant or [k for k in known if k == key]
    if len(meant) != 1:
        legal = (
            f"must be one setting that varies in these runs: {', '.join(vary) or 'there is none'}"
        )
        raise BadInput(f"{key}: {legal:.200}{suggestion(key, vary)}")
    return meant[0]


def _title(point: _Point, rest: Sequence[str], axis: Axis) -> str:
    """The scheme, unless an axis tells it, and what else tells a panel from the others."""
    own = {key: short(point.settings.get(key)) for key in rest if key != "scheme.name"}
    told = "scheme.name" in (axis.x, axis.y, axis.color)
    scheme = [] if told else [axis.name(short(point.settings["scheme.name"]))]
    return ", ".join([*scheme, *(f"{axis.name(key)} = {value}" for key, value in own.items())])


def _order(value: Value) -> tuple[int, float, str]:
    """Numbers by size, then everything else by its text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return 0, float(value), ""
    return 1, 0.0, str(value)


def _values(points: Sequence[_Point], key: str) -> list[Value]:
    """The values of a setting, each once, in order."""
    found = {str(p.settings.get(key)): p.settings.get(key) for p in points}
    return sorted(found.values(), key=_order)


def _heat_map(panels: dict[str, list[_Point]], judge: Judge, axis: Axis) -> "Figure":
    every = [point for points in panels.values() for point in points]
    assert axis.y is not None
    across, down = _values(every, axis.x), _values(every, axis.y)
    width = 1.2 + len(panels) * (0.95 * len(across) + 0.8)
    figure, axes = canvas(width, 1.6 + 0.6 * len(down), len(panels))
    scores = [_shown(p.line, judge) for p in every if p.line.there]
    low, high = (min(scores), max(scores)) if scores else (0.0, 1.0)
    for one, (title, points) in zip(axes, panels.items(), strict=True):
        table = np.full((len(down), len(across)), math.nan)
        for p in points:
            place = down.index(p.settings.get(axis.y)), across.index(p.settings.get(axis.x))
            table[place] = _shown(p.line, judge)
            light = table[place] < (low + high) / 2
            one.text(
                *place[::-1],
                _cell(p.line, judge),
                ha="center",
                va="center",
                fontsize=7,
                color="white" if light else "black",
            )
        image = one.imshow(
            table, cmap="cividis", vmin=low, vmax=high, aspect="auto", origin="lower"
        )
        one.set_xticks(range(len(across)), [short(v) for v in across])
        one.set_yticks(range(len(down)), [short(v) for v in down])
        one.grid(False)
        one.set(xlabel=axis.name(axis.x), ylabel=axis.name(axis.y), title=title)
    figure.colorbar(image, ax=axes, label=_measured(judge), shrink=0.9)
    return figure


def _line_plot(panels: dict[str, list[_Point]], judge: Judge, axis: Axis) -> "Figure":
    every = [point for points in panels.values() for point in points]
    values = _values(every, axis.x)
    figure, axes = canvas(max(4.2 * len(panels), 4.8), 3.4, len(panels))
    colours = _values(every, axis.color) if axis.color else [None]
    if len(colours) > _LINES:
        raise BadInput(f"--color {axis.color}: has {len(colours)} values, at most {_LINES} lines")
    for one, (title, points) in zip(axes, panels.items(), strict=True):
        for i, value in enumerate(colours):
            own = [p for p in points if not axis.color or p.settings.get(axis.color) == value]
            label = axis.name(short(value)) if axis.color == "scheme.name" else ""
            label = label or (f"{axis.name(axis.color)} = {short(value)}" if axis.color else "")
            _line(one, own, judge, axis, values, i, label)
        one.set(xlabel=axis.name(axis.x), title=title)
        _scale(one, values)
        if one is not axes[0]:
            one.sharey(axes[0])
            one.sharex(axes[0])
    axes[0].set_ylabel(_measured(judge))
    fullest = max(axes, key=lambda one: len(one.get_legend_handles_labels()[1]))
    if axis.color:
        legend_below(figure, fullest, 3 if len(colours) % 3 == 0 else 4, 0.22)
    return figure


def _line(
    one: "Axes",
    points: list[_Point],
    judge: Judge,
    axis: Axis,
    values: list[Value],
    place: int,
    label: str,
) -> None:
    """One line with its spread; hollow where not all runs got there, a cross where none did."""
    numbers = all(_order(v)[0] == 0 for v in values)
    at = {i: _order(v)[1] if numbers else float(i) for i, v in enumerate(values)}
    points = sorted(points, key=lambda p: values.index(p.settings.get(axis.x)))
    x = np.array([at[values.index(p.settings.get(axis.x))] for p in points])
    y = np.array([_shown(p.line, judge) for p in points])  # NaN where none got there
    scale = 1.0 if judge.by == "target" else 100.0
    bars = np.nan_to_num([scale * p.line.score_spread for p in points])
    colour, dash = PALETTE[place % len(PALETTE)], _DASHES[place // len(PALETTE)]
    one.errorbar(x, y, bars, color=colour, ls=dash, marker="o", ms=4, capsize=2, label=label)
    none = x[np.isnan(y)]
    one.plot(none, 0.03 + 0 * none, "x", color=colour, transform=one.get_xaxis_transform())
    for left, up, p in zip(x, y, points, strict=True):
        if p.line.there and _remark(p.line):
            one.plot(left, up, "o", ms=4, mfc="white", color=colour, zorder=5)
            one.text(left, up, f"  {_remark(p.line)}", color=colour, fontsize=6.5, va="bottom")


def _scale(one: "Axes", values: list[Value]) -> None:
    if any(_order(v)[0] for v in values):
        one.set_xticks(range(len(values)), [short(v) for v in values])
        one.margins(x=0.1)
        return
    numbers = [_order(v)[1] for v in values]
    if numbers[0] > 0 and numbers[-1] / numbers[0] >= _WIDE:
        one.set_xscale("log")
    one.set_xticks(numbers, [f"{v:g}" for v in numbers], minor=False)
    one.minorticks_off()


def _shown(line: Line, judge: Judge) -> float:
    return line.score if judge.by == "target" else 100.0 * line.score


def _cell(line: Line, judge: Judge) -> str:
    score = judge.show(line.score, line.score_spread).replace(" ± ", "\n± ")
    remark = _remark(line)
    return f"{score}\n{remark}" if remark else score


def _remark(line: Line) -> str:
    """What a point must not hide: runs that did not get there, or ended before their time."""
    soon = " ".join(r for r in ("stalled", "diverged", "not finished") if r in line.ended)
    if line.stale:
        soon = " ".join(filter(None, [soon, "stale"]))
    if line.there < line.seeds:
        return f"{line.there} of {line.seeds}" + (f", {soon}" if soon else "")
    return soon


def _measured(judge: Judge) -> str:
    return f"final {judge.head}" if judge.by == "final" else judge.head

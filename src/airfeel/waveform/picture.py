"""Curves of the experiments: samples as marks, the model beside them as a line."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from airfeel.plotting import GREY, PALETTE, SCREEN, canvas, drawn, save
from airfeel.waveform.coded import reached
from airfeel.waveform.scene import Finding, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _HEIGHT = 3.6, 3.2  # inches of a panel
_DECADE = 10.0  # numbers that span more are drawn by their logarithms


def curves(findings: Sequence[Finding]) -> list[Finding]:
    """Those that have something to draw; beside packets, what their table reaches of capacity."""
    more = [reached()] if any(each.key == "W8" for each in findings) else []
    return [each for each in (*findings, *more) if each.axis and each.points]


def draw(findings: Sequence[Finding], path: Path) -> Path:
    """A panel for each experiment that has a curve, side by side."""
    shown = curves(findings)
    with drawn(SCREEN):
        figure, axes = canvas(_WIDTH * len(shown), _HEIGHT, len(shown))
        for axis, finding in zip(axes, shown, strict=True):
            _panel(axis, finding)
        return save(figure, path, 120)


def _panel(axes: "Axes", finding: Finding) -> None:
    labels = dict.fromkeys(point.label for point in finding.points)
    told = set[str]()
    for colour, label in zip(PALETTE, labels, strict=False):
        points = [p for p in finding.points if p.label == label and p.measured > 0.0]
        x = [p.x * finding.scale for p in points]
        name = f"{finding.marks}, {label}" if label else finding.marks
        axes.plot(x, [p.measured for p in points], "o", color=colour, label=name)
        _model(axes, finding, points, told)
    axes.set(title=finding.key, xlabel=finding.axis, ylabel=finding.unit)
    found = [p.measured for p in finding.points if p.measured > 0.0]
    if max(found) > _DECADE * min(found):
        axes.set_yscale("log")
    if finding.wide:
        axes.set_xscale("log")
    axes.legend()


def _model(axes: "Axes", finding: Finding, points: Sequence[Point], told: set[str]) -> None:
    """The model's line, once where curves share it."""
    line = [(p.x * finding.scale, p.expected) for p in points if not math.isnan(p.expected)]
    if not line:
        return
    name = finding.model if finding.model not in told else "_"
    told.add(finding.model)
    axes.plot(*zip(*line, strict=True), "-", color=GREY, linewidth=1.2, label=name, zorder=1)

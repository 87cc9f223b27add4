"""The paper's figures and the one on starvation, from stored rows."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from airfeel.analysis.groups import Groups
from airfeel.analysis.series import accuracy_band, column
from airfeel.plotting import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    PALETTE,
    RULE,
    SCREEN,
    SKY,
    VERMILION,
    Band,
    Stroke,
    canvas,
    draw_band,
    draw_level,
    drawn,
    legend_below,
    save,
)
from airfeel.reports.curves import each_round
from airfeel.reproduce.curves import SETS, Curve, Found
from airfeel.storage.run import Run
from airfeel.types import BadInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WINDOWS, _FEW = 200, 60
_MUCH_LONGER = 3  # times the rounds of the shortest run: then the axis of rounds is logarithmic
_DPI = 160
# Colours of Okabe and Ito by scheme; variants of one scheme differ in shade and dashes.
_STROKES = {
    "tcs-h": Stroke(BLUE),
    "tcs-h-wide": Stroke(SKY, "-."),
    "tcs-h-thin": Stroke("#003a5c", ":"),
    "tcs-d": Stroke(VERMILION),
    "top-k": Stroke(GREEN),
    "fedavg": Stroke(GREY, "--"),
}
COLOURS = (*PALETTE, BLACK, GREY)
_TITLES = {
    "iid": "CIFAR-10, i.i.d. data, H = 10",
    "noniid": "CIFAR-10, two classes a device, H = 1",
    "sparse": "CIFAR-10, two classes a device, H = 1, second reading",
}


def write(make: "Callable[[], Figure]", path: Path) -> Path:
    """Draw a figure for a page, and write it."""
    with drawn(SCREEN):
        figure = make()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return save(figure, path, _DPI)
        except (OSError, ValueError) as error:
            raise BadInput(f"--out {path}: cannot be written ({error})") from error


def save_paper(stored: Found, curves: dict[str, Curve], out: Path, kind: str = "png") -> list[Path]:
    """Every figure that the rows can fill: one per split, one of its devices, and starvation."""
    paths = []
    for split, title in _TITLES.items():
        names = [name for name in SETS[split] if name in stored]
        if split == "sparse" and names and "noniid-fedavg" in stored:
            names.append("noniid-fedavg")
        if not all(name.endswith("fedavg") for name in names):
            groups = {curves[name].label: stored[name] for name in names}
            strokes = [_STROKES[_scheme(name)] for name in names]
            for draw, what in ((accuracy_figure, ""), (devices_figure, "-devices")):
                path = out / f"{split}{what}.{kind}"
                paths.append(write(partial(draw, groups, strokes, title), path))
    if "noniid-sparse-tcs-h" in stored:
        names = ["noniid-sparse-tcs-h", "noniid-sparse-tcs-d", "noniid-tcs-h"]
        names = [name for name in names if name in stored]
        groups = {curves[name].label: stored[name] for name in names}
        paths.append(write(partial(starvation_figure, groups), out / f"starvation.{kind}"))
    return paths


def _scheme(name: str) -> str:
    return name.removeprefix("noniid-sparse-").removeprefix("noniid-").removeprefix("iid-")


def accuracy_figure(groups: Groups, strokes: Sequence[Stroke], title: str) -> "Figure":
    """Accuracy over rounds and over resource blocks; free references are a level in the latter."""
    figure, (left, right) = canvas(9.0, 3.6, 2)
    for (label, runs), stroke in zip(groups.items(), strokes, strict=True):
        draw_band(left, accuracy_band(runs, "round"), stroke, label, 100.0)
        curve = accuracy_band(runs, "resource_blocks")
        if curve.x[-1] > 0:
            paid = slice(1, None)  # round 0 costs nothing, and has no place on a logarithmic axis
            cut = Band(curve.x[paid], curve.mean[paid], curve.spread[paid])
            draw_band(right, cut, stroke, label, 100.0)
        else:
            draw_level(right, 100 * curve.mean[-1], stroke, label)
    left.set(xlabel="rounds", ylabel="test accuracy (%)", title=title)
    right.set(xlabel="resource blocks", xscale="log")
    right.sharey(left)
    left.margins(x=0.01)
    _legend(figure, left)
    return figure


def devices_figure(groups: Groups, strokes: Sequence[Stroke], title: str) -> "Figure":
    """Devices heard, and how much of the global mask stays, over rounds."""
    figure, (left, right) = canvas(9.0, 3.4, 2)
    for (label, runs), stroke in zip(groups.items(), strokes, strict=True):
        draw_band(left, each_round(runs, "scheduled", _WINDOWS)[0], stroke, label)
        if runs[0].experiment.scheme.name in ("tcs-h", "tcs-d"):
            draw_band(right, each_round(runs, "mask_overlap", _WINDOWS)[0], stroke, label)
    left.set(xlabel="rounds", ylabel="devices heard", title=title)
    _devices_axis(left, groups)
    right.set(xlabel="rounds", ylabel="mask overlap with the last round", ylim=(0, 1))
    _legend(figure, left)
    return figure


def starvation_figure(groups: Groups) -> "Figure":
    """Devices heard, the median device's P[g] against its budget, and accuracy, over rounds."""
    figure, (heard, asked, learnt) = canvas(11.0, 3.6, 3)
    ends = [int(run.columns["round"][-1]) for runs in groups.values() for run in runs]
    for (label, runs), colour in zip(groups.items(), COLOURS * len(groups), strict=False):
        stroke = Stroke(colour)
        draw_band(heard, each_round(runs, "scheduled", _FEW)[0], stroke, label)
        draw_band(learnt, accuracy_band(runs, "round"), stroke, label, 100.0)
        if not np.isnan(column(runs[0], "needed_median")).all():
            curve = each_round([_with_asked(r) for r in runs], "asked", _FEW)[0]
            asked.plot(curve.x, curve.mean, color=colour)  # no band: it may not reach 0 here
    asked.axhline(1.0, color=RULE, ls="--", lw=1.0)
    for axes in (heard, asked, learnt):
        if max(ends) > _MUCH_LONGER * min(ends):  # it would press the others together
            axes.set_xscale("log")
        else:
            axes.set_xlim(0, max(ends))
    heard.set(xlabel="rounds", title="devices heard")
    _devices_axis(heard, groups)
    asked.set(xlabel="rounds", title="P[g] needed / allowed, median device", yscale="log")
    learnt.set(xlabel="rounds", title="test accuracy (%)")
    _legend(figure, heard)
    return figure


def _devices_axis(axes: "Axes", groups: Groups) -> None:
    axes.set_ylim(0, 1.03 * max(runs[0].experiment.training.devices for runs in groups.values()))
    axes.locator_params(axis="y", integer=True, steps=[1, 2, 5, 10])


def _with_asked(run: Run) -> Run:
    ratio = column(run, "needed_median") / column(run, "budget_median")
    return Run(run.experiment, run.columns | {"asked": ratio}, run.summary, folder=run.folder)


def _legend(figure: "Figure", axes: "Axes") -> None:
    """All groups once, below the panels, in rows of about equal length."""
    labels = axes.get_legend_handles_labels()[1]
    fit = max(int(figure.get_size_inches()[0] * 13 / (max(map(len, labels)) + 8)), 1)
    rows = -(-len(labels) // min(fit, len(labels)))
    legend_below(figure, axes, -(-len(labels) // rows), 0.2)

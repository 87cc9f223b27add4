"""The paper's figures and the one on starvation, from stored rows."""

from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from airfeel.experiment.report.curves import Curve as Points
from airfeel.experiment.report.curves import each_round
from airfeel.experiment.report.extra import needed
from airfeel.experiment.reproduce.curves import SETS, Curve, Found
from airfeel.experiment.runner import Run
from airfeel.types import BadInput

Groups = dict[str, list[Run]]
_WINDOWS, _FEW = 200, 60
_LOOK = {
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
# Colours of Okabe and Ito by scheme; variants of one scheme differ in shade and dashes.
_STYLES: dict[str, tuple[str, Any]] = {
    "tcs-h": ("#0072B2", "-"),
    "tcs-h-wide": ("#56B4E9", "-."),
    "tcs-h-thin": ("#003a5c", ":"),
    "tcs-d": ("#D55E00", "-"),
    "top-k": ("#009E73", "-"),
    "fedavg": ("#808080", "--"),
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#808080")
_TITLES = {
    "iid": "CIFAR-10, i.i.d. data, H = 10",
    "noniid": "CIFAR-10, two classes a device, H = 1",
    "sparse": "CIFAR-10, two classes a device, H = 1, second reading",
}


def canvas(width: float, height: float, panels: int = 1) -> tuple[Any, Any]:
    """A figure and its panels side by side."""
    figure = needed("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
        each.set_axisbelow(True)
    return figure, axes


def save(make: Callable[[], Any], path: Path) -> Path:
    """Draw a figure in the house's look and write it."""
    with needed("matplotlib").rc_context(_LOOK):
        figure = make()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(path, dpi=160)
        except (OSError, ValueError) as error:
            raise BadInput(f"--out {path}: cannot be written ({error})") from error
    return path


def save_paper(found: Found, known: dict[str, Curve], out: Path, kind: str = "png") -> list[Path]:
    """Every figure that the rows can fill: one a split, one of its devices, and starvation."""
    made = []
    for split, title in _TITLES.items():
        names = [name for name in SETS[split] if name in found]
        if split == "sparse" and names and "noniid-fedavg" in found:
            names.append("noniid-fedavg")
        if not all(name.endswith("fedavg") for name in names):
            groups = {known[name].label: found[name] for name in names}
            looks = [_STYLES[_scheme(name)] for name in names]
            draw = _both(accuracy_figure, groups, looks, title)
            made.append(save(draw, out / f"{split}.{kind}"))
            draw = _both(devices_figure, groups, looks, title)
            made.append(save(draw, out / f"{split}-devices.{kind}"))
    if "noniid-sparse-tcs-h" in found:
        names = ["noniid-sparse-tcs-h", "noniid-sparse-tcs-d", "noniid-tcs-h"]
        names = [name for name in names if name in found]
        groups = {known[name].label: found[name] for name in names}
        made.append(save(lambda: starvation_figure(groups), out / f"starvation.{kind}"))
    return made


def _both(draw: Any, groups: Groups, looks: Any, title: str) -> Callable[[], Any]:
    return lambda: draw(groups, looks, title)


def _scheme(name: str) -> str:
    return name.removeprefix("noniid-sparse-").removeprefix("noniid-").removeprefix("iid-")


def accuracy_figure(groups: Groups, looks: Sequence[tuple[str, Any]], title: str) -> Any:
    """Accuracy over rounds and over resource blocks; free references are a level in the latter."""
    figure, (left, right) = canvas(9.0, 3.6, 2)
    for (label, runs), look in zip(groups.items(), looks, strict=True):
        _band(left, at_looks(runs, "round"), look, label, 100.0)
        curve = at_looks(runs, "resource_blocks")
        if curve.x[-1] > 0:
            paid = slice(1, None)  # round 0 costs nothing, and has no place on a logarithmic axis
            cut = Points(curve.x[paid], curve.mean[paid], curve.spread[paid])
            _band(right, cut, look, label, 100.0)
        else:
            right.axhline(100 * curve.mean[-1], color=look[0], ls=look[1], lw=1.2, label=label)
    left.set(xlabel="rounds", ylabel="test accuracy (%)", title=title)
    right.set(xlabel="resource blocks", xscale="log")
    right.sharey(left)
    left.margins(x=0.01)
    _legend(figure, left)
    return figure


def at_looks(runs: Sequence[Run], column: str) -> Points:
    """Accuracy at the rounds at which all runs looked, against the mean of `column` there."""
    seen = [run.columns["round"][~np.isnan(run.columns["test_accuracy"])] for run in runs]
    rounds = reduce(np.intersect1d, seen)
    x, y = (
        np.stack([run.columns[name][rounds].astype(float) for run in runs])
        for name in (column, "test_accuracy")
    )
    spread = y.std(axis=0, ddof=1) if len(runs) > 1 else np.full(len(rounds), np.nan)
    return Points(x.mean(axis=0), y.mean(axis=0), spread)


def devices_figure(groups: Groups, looks: Sequence[tuple[str, Any]], title: str) -> Any:
    """Devices heard, and how much of the global mask stays, over rounds."""
    figure, (left, right) = canvas(9.0, 3.4, 2)
    for (label, runs), look in zip(groups.items(), looks, strict=True):
        _band(left, each_round(runs, "scheduled", _WINDOWS)[0], look, label)
        if runs[0].experiment.scheme.name in ("tcs-h", "tcs-d"):
            _band(right, each_round(runs, "mask_overlap", _WINDOWS)[0], look, label)
    left.set(xlabel="rounds", ylabel="devices heard", title=title)
    _devices_axis(left, groups)
    right.set(xlabel="rounds", ylabel="mask overlap with the last round", ylim=(0, 1))
    _legend(figure, left)
    return figure


def starvation_figure(groups: Groups) -> Any:
    """Devices heard, the median device's P[g] against its budget, and accuracy, over rounds."""
    figure, (heard, asked, learnt) = canvas(11.0, 3.6, 3)
    ends = [int(run.columns["round"][-1]) for runs in groups.values() for run in runs]
    for (label, runs), colour in zip(groups.items(), COLOURS * len(groups), strict=False):
        look = (colour, "-")
        _band(heard, each_round(runs, "scheduled", _FEW)[0], look, label)
        _band(learnt, at_looks(runs, "round"), look, label, 100.0)
        if not np.isnan(runs[0].columns["needed_median"]).all():
            curve = each_round([_asked(r) for r in runs], "asked", _FEW)[0]
            asked.plot(curve.x, curve.mean, color=colour)  # a band may not cross nought here
    asked.axhline(1.0, color="#555555", ls="--", lw=1.0)
    for axes in (heard, asked, learnt):  # a much longer run would press the others together
        axes.set_xlim(0, min(max(ends), 3 * min(ends)))
    heard.set(xlabel="rounds", title="devices heard")
    _devices_axis(heard, groups)
    asked.set(xlabel="rounds", title="P[g] needed / allowed, median device", yscale="log")
    learnt.set(xlabel="rounds", title="test accuracy (%)")
    _legend(figure, heard)
    return figure


def _devices_axis(axes: Any, groups: Groups) -> None:
    axes.set_ylim(0, 1.03 * max(runs[0].experiment.training.devices for runs in groups.values()))
    axes.locator_params(axis="y", integer=True, steps=[1, 2, 5, 10])


def _asked(run: Run) -> Run:
    ratio = run.columns["needed_median"] / run.columns["budget_median"]
    return Run(run.experiment, run.columns | {"asked": ratio}, run.summary, folder=run.folder)


def _band(axes: Any, curve: Points, look: tuple[str, Any], label: str, factor: float = 1.0) -> None:
    """A line, and its spread over seeds as a band."""
    mean, spread = factor * curve.mean, factor * curve.spread
    axes.plot(curve.x, mean, color=look[0], ls=look[1], label=label)
    if not np.isnan(spread).all():
        low, high = mean - spread, mean + spread
        axes.fill_between(curve.x, low, high, color=look[0], alpha=0.15, lw=0)


def _legend(figure: Any, axes: Any) -> None:
    """All groups once, below the panels."""
    handles, labels = axes.get_legend_handles_labels()
    longest = max(map(len, labels))
    columns = max(int(figure.get_size_inches()[0] * 13 / (longest + 8)), 1)
    columns = min(columns, len(labels))
    lines = -(-len(labels) // columns)
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + 0.2 * lines)
    figure.legend(handles, labels, loc="outside lower center", ncols=-(-len(labels) // lines))

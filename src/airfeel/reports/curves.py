"""Bands over rounds and over resource blocks: means and spreads over seeds, thinned for a page."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float

from airfeel.analysis.criterion import shared
from airfeel.analysis.groups import Groups
from airfeel.analysis.series import column, held, over_seeds
from airfeel.plotting import Band
from airfeel.storage.run import Run

Array = np.ndarray


def thin(points: Float[Array, "p"], limit: int, keep: Iterable[float] = ()) -> Float[Array, "q"]:
    """At most about `limit` of some increasing points, evenly by place, with both ends.

    >>> thin(np.arange(9.0), 3, keep=[5.0])
    array([0., 4., 5., 8.])
    """
    if len(points) > limit:
        points = points[np.linspace(0, len(points) - 1, limit).round().astype(int)]
    return np.union1d(points, np.array(list(keep), dtype=float))


def accuracy_by(groups: Groups, name: str, limit: int) -> dict[str, Band]:
    """Test accuracy against a column (round, resource_blocks), all groups on one grid of points.

    The value at a point is the last one measured until then, as in a comparison at equal cost; a
    group's curve ends where the first of its runs does.
    """
    ends = {label: min(float(r.columns[name][-1]) for r in runs) for label, runs in groups.items()}
    keep = {*ends.values(), shared(groups)} if name == "resource_blocks" else ends.values()
    measured = np.concatenate([_measured(r, name) for runs in groups.values() for r in runs])
    grid = thin(np.unique(measured), limit, [k for k in keep if not math.isnan(k)])
    curves = {}
    for label, runs in groups.items():
        x = grid[grid <= ends[label]]
        curves[label] = over_seeds(x, [held(r.columns[name], r.accuracy, x) for r in runs])
    return curves


def each_round(runs: Sequence[Run], name: str, limit: int) -> tuple[Band, int]:
    """A column by round, and over how many rounds each point is a mean.

    A point is the mean of a window of rounds, named by its last; idle cells (NaN) do not count.
    """
    last = min(int(r.columns["round"][-1]) for r in runs)
    width = max(-(-last // limit), 1)
    rounds = np.minimum(np.arange(width, last + width, width), last).astype(float)
    means = [_window_means(column(r, name)[1 : last + 1].astype(float), width) for r in runs]
    return over_seeds(rounds, means), width


def first_reach(curve: Band, value: float) -> float:
    """The first point at which a curve's mean reaches a value; NaN if it never does."""
    reached = curve.mean >= value
    return float(curve.x[np.argmax(reached)]) if reached.any() else float("nan")


def _measured(run: Run, name: str) -> Float[Array, "p"]:
    return run.columns[name][~np.isnan(run.accuracy)].astype(float)


def _window_means(values: Float[Array, "r"], width: int) -> Float[Array, "p"]:
    starts = np.arange(0, len(values), width)
    if not len(starts):
        return np.zeros(0)
    measured = ~np.isnan(values)
    total = np.add.reduceat(np.where(measured, values, 0.0), starts)
    count = np.add.reduceat(measured.astype(float), starts)
    return np.where(count > 0, total / np.maximum(count, 1.0), np.nan)

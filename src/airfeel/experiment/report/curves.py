"""Curves over rounds and over resource blocks: means and spreads over seeds, thinned for a page."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Real

from airfeel.experiment.compare import shared_blocks
from airfeel.experiment.report.runs import Groups
from airfeel.experiment.runner import Run

Array = np.ndarray


@dataclass(frozen=True)
class Curve:
    """Mean and sample standard deviation over seeds; the spread is NaN for one seed."""

    x: Float[Array, "p"]
    mean: Float[Array, "p"]
    spread: Float[Array, "p"]


def held(x: Real[Array, "r"], y: Float[Array, "r"], at: Float[Array, "p"]) -> Float[Array, "p"]:
    """The last known value of y up to each point; NaN before the first.

    >>> held(np.array([0, 10, 20]), np.array([0.1, np.nan, 0.3]), np.array([0.0, 15.0, 20.0]))
    array([0.1, 0.1, 0.3])
    """
    known = ~np.isnan(y)
    x, y = x[known], y[known]
    place = np.searchsorted(x, at, side="right") - 1
    return np.where(place >= 0, y[place], np.nan) if len(y) else np.full(len(at), np.nan)


def thin(points: Float[Array, "p"], limit: int, keep: Iterable[float] = ()) -> Float[Array, "q"]:
    """At most about `limit` of some increasing points, evenly by place, with both ends.

    >>> thin(np.arange(9.0), 3, keep=[5.0])
    array([0., 4., 5., 8.])
    """
    if len(points) > limit:
        points = points[np.linspace(0, len(points) - 1, limit).round().astype(int)]
    return np.union1d(points, np.array(list(keep), dtype=float))


def accuracy_by(groups: Groups, column: str, limit: int) -> dict[str, Curve]:
    """Test accuracy against `column`, all groups on one grid of points.

    The value at a point is the last one measured until then, as in a comparison at equal cost; a
    group's curve ends where the first of its runs does.
    """
    ends = {
        label: min(float(r.columns[column][-1]) for r in runs) for label, runs in groups.items()
    }
    keep = {*ends.values(), shared_blocks(groups)} if column == "resource_blocks" else ends.values()
    measured = np.concatenate([_measured(r, column) for runs in groups.values() for r in runs])
    grid = thin(np.unique(measured), limit, [k for k in keep if not math.isnan(k)])
    curves = {}
    for label, runs in groups.items():
        x = grid[grid <= ends[label]]
        curves[label] = _over_seeds(
            x, [held(r.columns[column], r.columns["test_accuracy"], x) for r in runs]
        )
    return curves


def each_round(runs: Sequence[Run], column: str, limit: int) -> tuple[Curve, int]:
    """A column by round, and over how many rounds each point is a mean.

    A point is the mean of a window of rounds, named by its last; idle cells (NaN) do not count.
    """
    last = min(int(r.columns["round"][-1]) for r in runs)
    width = max(-(-last // limit), 1)
    rounds = np.minimum(np.arange(width, last + width, width), last).astype(float)
    means = [_window_means(r.columns[column][1 : last + 1].astype(float), width) for r in runs]
    return _over_seeds(rounds, means), width


def first_reach(curve: Curve, value: float) -> float:
    """The first point at which a curve's mean reaches a value; NaN if it never does."""
    reached = curve.mean >= value
    return float(curve.x[np.argmax(reached)]) if reached.any() else float("nan")


def _measured(run: Run, column: str) -> Float[Array, "p"]:
    return run.columns[column][~np.isnan(run.columns["test_accuracy"])].astype(float)


def _window_means(values: Float[Array, "r"], width: int) -> Float[Array, "p"]:
    starts = np.arange(0, len(values), width)
    if not len(starts):
        return np.zeros(0)
    known = ~np.isnan(values)
    total = np.add.reduceat(np.where(known, values, 0.0), starts)
    count = np.add.reduceat(known.astype(float), starts)
    return np.where(count > 0, total / np.maximum(count, 1.0), np.nan)


def _over_seeds(x: Float[Array, "p"], values: Sequence[Float[Array, "p"]]) -> Curve:
    """Mean and spread of the known values at each point."""
    table = np.stack(values)
    count = (~np.isnan(table)).sum(axis=0)
    total = np.nansum(table, axis=0)
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    square = np.nansum((table - mean) ** 2, axis=0)
    spread = np.where(count > 1, np.sqrt(square / np.maximum(count - 1, 1)), np.nan)
    return Curve(x, mean, spread)

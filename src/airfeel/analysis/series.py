"""Reading stored rows: a column, an accuracy at some point, and means and spreads over seeds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from jaxtyping import Float, Real

from airfeel.plotting import Band
from airfeel.storage import provenance
from airfeel.storage.provenance import Arithmetic
from airfeel.storage.run import Run

Array = np.ndarray
STALE = 0.05  # evaluations at a budget that are older than this part of it are not compared
_LATE = 0.9  # a late accuracy at x is the mean of the looks between so much of x and x


def column(run: Run, name: str) -> Real[Array, "r"]:
    """A column of rounds.csv; NaN throughout where the run has none of that name."""
    values = run.columns.get(name)
    return np.full(len(run.columns["round"]), math.nan) if values is None else values


def arithmetic(run: Run) -> Sequence[Arithmetic]:
    """What has computed a run: one entry, and one more for each time that it was resumed by
    another backend, kernel or CPU. Of older runs the backend is known at most."""
    stored = provenance.read(run.folder) if run.folder else None
    steps = stored.arithmetic if stored else run.summary.get("arithmetic")
    backend = run.summary.get("backend")
    return steps or ([{"from_round": 0, "backend": backend}] if backend else [])


def computed_by(run: Run) -> str:
    """The same in words: the same seed gives the same bytes where these are the same."""
    return provenance.in_words(arithmetic(run))


def not_alike(groups: Mapping[str, Sequence[Run]]) -> list[str]:
    """A sentence where not all runs were computed alike, so that their last digits differ."""
    ways: dict[str, list[str]] = {}
    mixed = False
    for label, runs in groups.items():
        for run in runs:
            mixed |= len(arithmetic(run)) > 1
            ways.setdefault(computed_by(run), []).append(f"{label} seed {run.experiment.run.seed}")
    ways.pop("", None)  # not known
    if len(ways) < 2 and not mixed:
        return []
    shown = "; ".join(f"{', '.join(who)} by {way}" for way, who in ways.items())
    return [f"Not all rounds were computed alike, which changes last digits: {shown}."]


def round_mean(run: Run, name: str) -> float:
    """The mean of a column over the rounds in which it is known; NaN where it never is."""
    values = column(run, name)[1:].astype(float)
    measured = values[~np.isnan(values)]
    return float(measured.mean()) if len(measured) else math.nan


def first_and_last(run: Run, name: str) -> tuple[float, float]:
    """Means of a column over the first and over the last tenth of the rounds, at least one."""
    values = column(run, name)[1:].astype(float)
    tenth = max(len(values) // 10, 1)
    return float(values[:tenth].mean()), float(values[-tenth:].mean())


def held(x: Real[Array, "r"], y: Float[Array, "r"], at: Float[Array, "p"]) -> Float[Array, "p"]:
    """The last known value of y up to each point; NaN before the first.

    >>> held(np.array([0, 10, 20]), np.array([0.1, np.nan, 0.3]), np.array([0.0, 15.0, 20.0]))
    array([0.1, 0.1, 0.3])
    """
    measured = ~np.isnan(y)
    x, y = x[measured], y[measured]
    place = np.searchsorted(x, at, side="right") - 1
    return np.where(place >= 0, y[place], np.nan) if len(y) else np.full(len(at), np.nan)


@dataclass(frozen=True)
class Evaluation:
    """A test accuracy at a budget, and how stale it is.

    age: the part of the budget that was spent after it, in rounds that fit into the budget.
    """

    accuracy: float
    age: float

    @property
    def stale(self) -> bool:
        """Whether it is too old to be compared."""
        return self.age > STALE * (1.0 + 1e-9)


def evaluated(x: Real[Array, "r"], y: Float[Array, "r"], at: float) -> Evaluation:
    """The last evaluation within a budget.

    Args:
        x: what was spent up to each round.
        y: accuracy after each round, NaN where unknown.
        at: the budget.

    >>> evaluated(np.array([0, 50, 90, 120]), np.array([0.1, 0.4, np.nan, 0.6]), 100.0)
    Evaluation(accuracy=0.4, age=0.4)
    """
    within = int(np.searchsorted(x, at, side="right"))
    known = np.flatnonzero(~np.isnan(y[:within]))
    if not len(known):
        return Evaluation(math.nan, 0.0)
    since = float(x[within - 1] - x[known[-1]])
    return Evaluation(float(y[known[-1]]), since / at if since else 0.0)


def evaluated_below(
    x: Real[Array, "r"], y: Float[Array, "r"], at: float, whole: bool = True
) -> float:
    """The largest budget up to `at` with an evaluation that is not stale; −∞ if there is none.

    The start does not count where a round that costs something fits into `at`. Arguments as of
    `evaluated`; whole: budgets are whole numbers.

    >>> x, y = np.array([0, 50, 90, 120]), np.array([0.1, 0.4, np.nan, 0.6])
    >>> evaluated_below(x, y, 100.0), evaluated_below(x, y, 130.0)
    (89.0, 130.0)
    """
    last = np.maximum.accumulate(np.where(np.isnan(y), -1, np.arange(len(y))))
    first = np.where(last < 0, np.inf, np.maximum(x, (x - x[last]) / STALE))
    below = np.nextafter(np.append(x[1:].astype(float), np.inf), 0.0)
    largest = np.minimum(np.floor(below) if whole else below, at)
    fits = (first <= largest) & ((x > 0) | (x[np.searchsorted(x, at, side="right") - 1] == 0))
    return float(largest[fits].max(initial=-math.inf))


def evaluated_by_all(
    curves: Sequence[tuple[Real[Array, "r"], Float[Array, "r"]]], at: float, whole: bool = True
) -> float:
    """The largest budget up to `at` with an evaluation of every run that is not stale; NaN if none.

    curves: x and y of each run, as of `evaluated`.
    """
    while at > 0.0:
        lower = min((evaluated_below(x, y, at, whole) for x, y in curves), default=at)
        if lower == at:
            return at
        at = lower
    return math.nan


def final_accuracy(run: Run) -> float:
    """The last test accuracy that is known of a run; NaN where there is none."""
    return evaluated(run.columns["resource_blocks"], run.accuracy, math.inf).accuracy


def late_accuracy(run: Run, name: str, at: float) -> float:
    """Mean test accuracy of the late looks when a column (round, resource_blocks) has reached `at`.

    Late are the looks in the last tenth before `at`, or the last one. NaN before the first look
    that follows a round, for the start is the same for all schemes, and where the last is stale.
    """
    x, y = run.columns[name], run.accuracy
    measured = ~np.isnan(y) & (x <= at) & (run.columns["round"] > 0)
    late = measured & (x >= _LATE * at)
    if not measured.any() or evaluated(x, y, at).stale:
        return math.nan
    return float(y[late].mean() if late.any() else y[measured][-1])


def accuracy_band(runs: Sequence[Run], name: str) -> Band:
    """Accuracy at the rounds at which all runs looked, against the mean of a column there."""
    seen = [run.columns["round"][~np.isnan(run.accuracy)] for run in runs]
    rounds = reduce(np.intersect1d, seen)
    x = np.stack([run.columns[name][rounds].astype(float) for run in runs]).mean(axis=0)
    return over_seeds(x, [run.accuracy[rounds] for run in runs])


def over_seeds(x: Float[Array, "p"], values: Sequence[Float[Array, "p"]]) -> Band:
    """Mean and spread of the known values at each point."""
    table = np.stack(values)
    count = (~np.isnan(table)).sum(axis=0)
    mean = np.where(count > 0, np.nansum(table, axis=0) / np.maximum(count, 1), np.nan)
    square = np.nansum((table - mean) ** 2, axis=0)
    return Band(x, mean, np.where(count > 1, np.sqrt(square / np.maximum(count - 1, 1)), np.nan))


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample standard deviation of one number of each seed; no spread (NaN) for one seed.

    >>> mean_and_spread([1.0, 3.0]), mean_and_spread([2.0])
    ((2.0, 1.4142135623730951), (2.0, nan))
    """
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    return float(np.mean(values)), spread

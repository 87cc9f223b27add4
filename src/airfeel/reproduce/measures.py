"""What a claim speaks of, measured on stored rows."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from airfeel.analysis.series import column as column_of
from airfeel.analysis.series import late_accuracy
from airfeel.storage.run import Run

LOOKS = (
    "An accuracy is the mean of the looks at the test set in the last tenth before the point where "
    "it is read, or the last look before it; all runs of a claim are read at the same point, the "
    "furthest that all of them have reached and at which each has a look that is at most 5 % old."
)


@dataclass(frozen=True)
class Reach:
    """As far as all runs of a claim got, and whether that is as far as the claim speaks of."""

    rounds: int
    blocks: float
    over: bool  # it will not move: each is the paper's length, has ended by itself, or is past one
    complete: bool = False  # each is as long as the paper's, or past one at equally many blocks
    start: int = 0  # a mean over rounds begins after this one
    seen_rounds: float = math.nan  # the most at which the evaluation of no run is stale
    seen_blocks: float = math.nan


Measure = Callable[[Sequence[Run], Reach], float]


def accuracy(run: Run, column: str, at: float) -> float:
    """Late test accuracy in percent when `column` (round or resource_blocks) has reached `at`."""
    return 100.0 * late_accuracy(run, column, at)


def gain_by_rounds(runs: Sequence[Run], reach: Reach) -> float:
    """Points of accuracy by which the first is ahead of the second after equally many rounds."""
    first, second = (accuracy(run, "round", reach.seen_rounds) for run in runs)
    return first - second


def gain_by_blocks(runs: Sequence[Run], reach: Reach) -> float:
    """Points by which the first is ahead of the second at equally many resource blocks."""
    first, second = (accuracy(run, "resource_blocks", reach.seen_blocks) for run in runs)
    return first - second


def gain_within(budget: float) -> Measure:
    """Points by which the first is ahead within a budget of blocks, or at fewer if not reached."""

    def measure(runs: Sequence[Run], reach: Reach) -> float:
        first, second = (accuracy(run, "resource_blocks", _end(run, reach)) for run in runs)
        return first - second

    def _end(run: Run, reach: Reach) -> float:
        # A run may end by its round limit before the budget does.
        return min(budget, _blocks(run)) if reach.over else reach.seen_blocks

    return measure


def accuracy_within(budget: float) -> Measure:
    """Accuracy of the one run within a budget of blocks; unknown while it may go on."""

    def measure(runs: Sequence[Run], reach: Reach) -> float:
        (run,) = runs
        end = min(budget, _blocks(run))
        return accuracy(run, "resource_blocks", end) if reach.over else math.nan

    return measure


def rounds_within(budget: float) -> Measure:
    """Rounds of the one run within a budget of blocks; unknown while it may go on."""

    def measure(runs: Sequence[Run], reach: Reach) -> float:
        (run,) = runs
        return _rounds(run, budget) if reach.over else math.nan

    return measure


def more_rounds(runs: Sequence[Run], reach: Reach) -> float:
    """Percent of rounds that the first has more than the second, at equally many blocks."""
    first, second = (_rounds(run, reach.blocks) for run in runs)
    return 100.0 * (first / second - 1.0) if second else math.nan


def saving(runs: Sequence[Run], reach: Reach) -> float:
    """Percent of the second's resource blocks that the first saves, over the same rounds."""
    first, second = (float(run.columns["resource_blocks"][reach.rounds]) for run in runs)
    return 100.0 * (1.0 - first / second) if second else math.nan


def mean_of(column: str, share: bool = False) -> Measure:
    """The mean of a column over the rounds; as a share of all devices if asked."""

    def measure(runs: Sequence[Run], reach: Reach) -> float:
        (run,) = runs
        values = column_of(run, column)[reach.start + 1 : reach.rounds + 1].astype(float)
        measured = values[~np.isnan(values)]
        mean = float(measured.mean()) if len(measured) else math.nan
        return mean / run.experiment.training.devices if share else mean

    return measure


def _blocks(run: Run) -> float:
    return float(run.columns["resource_blocks"][-1])


def _rounds(run: Run, blocks: float) -> float:
    return float(np.count_nonzero(run.columns["resource_blocks"][1:] <= blocks))

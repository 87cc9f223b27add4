"""By what runs are compared: at their end, at an equal cost, or by the cost of a target."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from airfeel.experiment import energy
from airfeel.experiment.groups import Groups
from airfeel.experiment.readings import accuracy_at, held
from airfeel.experiment.runner import Run
from airfeel.experiment.summary import End
from airfeel.types import BadInput

Array = np.ndarray
By = Literal["final", "rounds", "blocks", "joules", "target"]
_LEGAL = "final, blocks, blocks=B, joules, joules=E, rounds, rounds=T or target=ACCURACY"
_UNITS = {"rounds": "rounds", "blocks": "resource blocks", "joules": "J"}
NOT_FINISHED = "not finished"
_EARLY = (End.STALLED, End.DIVERGED, NOT_FINISHED)


@dataclass(frozen=True)
class Judge:
    """By what, and where; `at` is NaN for as far as every run got that did not end early."""

    by: By = "blocks"
    at: float = math.nan  # rounds, resource blocks, joules; or the accuracy to be reached
    shared: bool = False  # whether `at` was found by how far the runs got

    def settled(self, groups: Groups) -> "Judge":
        """With `at` filled in from how far the runs of some groups got."""
        if self.by in ("final", "target") or not math.isnan(self.at):
            return self
        return replace(self, at=shared(groups, self.by), shared=True)

    def reached(self, run: Run) -> bool:
        """Whether a run got there: it used as much, or its budget had no room for another round."""
        if self.by == "target":
            return bool((run.columns["test_accuracy"] >= self.at).any())
        if self.by == "final" or math.isnan(self.at) or self._free(run):
            return True
        full = ended(run) == End.BUDGET and self.by == "blocks"
        return float(spent(run, self.by)[-1]) >= self.at or (full and budget(run) >= self.at)

    def score(self, run: Run) -> float:
        """What is compared: an accuracy, or the resource blocks up to one; NaN if not reached."""
        if self.by == "final" or self._free(run) or (self.by != "target" and math.isnan(self.at)):
            return accuracy_at(run.columns)
        if not self.reached(run):
            return math.nan
        if self.by == "target":
            there = np.argmax(run.columns["test_accuracy"] >= self.at)
            return float(run.columns["resource_blocks"][there])
        x, at = spent(run, self.by), np.array([self.at])
        return float(held(x, run.columns["test_accuracy"], at)[0])

    def _free(self, run: Run) -> bool:
        """Whether a run is a reference that never gets to any cost, and is read at its end."""
        return self.by in ("blocks", "joules") and free(run)

    @property
    def text(self) -> str:
        """As the command line has it."""
        found = self.shared or math.isnan(self.at)
        return self.by if found else f"{self.by}={self.at:.15g}"

    @property
    def head(self) -> str:
        """The title of its column."""
        if self.by == "final" or math.isnan(self.at):
            return "accuracy %"
        if self.by == "target":
            return f"blocks to {100 * self.at:g} %"
        where = amount(self.by, self.at).replace("resource ", "")
        return f"accuracy % {'after' if self.by == 'rounds' else 'at'} {where}"

    def show(self, score: float, spread: float) -> str:
        """A score and its spread as they stand in tables."""
        if math.isnan(score):
            return "–"
        if self.by == "target":
            return f"{score:,.0f}" + ("" if math.isnan(spread) else f" ± {spread:,.0f}")
        return f"{100 * score:.1f}" + ("" if math.isnan(spread) else f" ± {100 * spread:.1f}")


def parse_judge(text: str) -> Judge:
    """A judge from the command line.

    >>> parse_judge("blocks=500000")
    Judge(by='blocks', at=500000.0, shared=False)
    """
    found = re.fullmatch(r"(\w+)(?:=([0-9.eE+]+))?", text)
    by = next((name for name in get_args(By) if found and found[1] == name), None)
    try:
        at = float(found[2]) if found and found[2] else math.nan
    except ValueError:
        by = None
    bare = by in ("final", "rounds", "blocks", "joules")
    if by is None or not (bare if math.isnan(at) else by != "final" and 0.0 < at < math.inf):
        raise BadInput(f"--judge {text!r:.200}: must be {_LEGAL}")
    if by == "target" and at > 1.0:
        raise BadInput(f"--judge {text!r}: an accuracy must be above 0 and at most 1")
    return Judge(by, at)


def spent(run: Run, by: By) -> Float[Array, "r"]:
    """What a run had used after each round: rounds, resource blocks or joules; NaN if unknown."""
    if by == "joules":
        return energy.until_each_row(run)
    return run.columns["round" if by == "rounds" else "resource_blocks"].astype(float)


def shared(groups: Groups, by: By = "blocks") -> float:
    """The most that every run reached, free ones and those that ended early aside; NaN if none."""
    every = [run for runs in groups.values() for run in runs]
    reached = [(early(run), float(spent(run, by)[-1])) for run in every]
    paid = [(soon, used) for soon, used in reached if used > 0]
    full = [used for soon, used in paid if not soon]
    return min(full or [used for _, used in paid], default=math.nan)


def free(run: Run) -> bool:
    """Whether a run used no resource blocks though devices were heard; FedAvg does so.

    One in which nobody spoke used none either, and is no reference.
    """
    return not run.columns["resource_blocks"][-1] and bool(run.columns["scheduled"][1:].any())


def ended(run: Run) -> str:
    """Why a run ended."""
    return str(run.summary.get("reason", NOT_FINISHED))


def early(run: Run) -> bool:
    """Whether a run ended before its time: stalled, diverged, or not finished."""
    return ended(run) in _EARLY


def budget(run: Run) -> float:
    """The resource blocks that a run was allowed; infinite where it was given no limit."""
    e = run.experiment
    return float(e.budget.resource_blocks or e.slots * e.radio.subchannels)


def amount(by: By, value: float) -> str:
    """So many rounds, resource blocks or joules in words.

    >>> amount("blocks", 712250.0), amount("joules", 0.0123)
    ('712,250 resource blocks', '0.0123 J')
    """
    return f"{value:.4g} J" if by == "joules" else f"{value:,.0f} {_UNITS[by]}"


def endings(runs: Iterable[Run]) -> dict[str, int]:
    """How many runs ended for which reason."""
    count: dict[str, int] = {}
    for run in runs:
        count[ended(run)] = count.get(ended(run), 0) + 1
    return count

"""By what runs are compared: at their end, at an equal cost, or by the cost of a target."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

from airfeel.analysis import energy
from airfeel.analysis.groups import Groups
from airfeel.analysis.series import Evaluation, evaluated, evaluated_by_all
from airfeel.runs.summary import End
from airfeel.storage.run import Run
from airfeel.types import BadInput

Array = np.ndarray
By = Literal["final", "rounds", "blocks", "joules", "target"]
_LEGAL = "final, blocks, blocks=B, joules, joules=E, rounds, rounds=T or target=ACCURACY"
_UNITS = {"rounds": "rounds", "blocks": "resource blocks", "joules": "J"}
_MOST_BLOCKS = 2.0**63  # what a setting can hold
NOT_FINISHED = "not finished"
_EARLY = (End.STALLED, End.DIVERGED, NOT_FINISHED)


@dataclass(frozen=True)
class Judge:
    """By what, and where; `at` is NaN for as far as every run got that did not end early."""

    by: By = "blocks"
    at: float = math.nan  # rounds, resource blocks, joules; or the accuracy to be reached
    shared: bool = False  # whether `at` was found by how far the runs got
    lowered: bool = False  # it is below that: the most at which every run was evaluated

    def settled(self, groups: Groups) -> "Judge":
        """With `at` filled in from how far the runs of some groups got."""
        if self.by in ("final", "target") or not math.isnan(self.at):
            return self
        at = shared(groups, self.by)
        return replace(self, at=at, shared=True, lowered=at < _reach(groups, self.by)[0])

    @property
    def blocks(self) -> int | None:
        """The resource blocks that were asked for, in whole ones; None where none were."""
        named = self.by == "blocks" and not self.shared and 1.0 <= self.at < _MOST_BLOCKS
        return int(self.at) if named else None

    def reached(self, run: Run) -> bool:
        """Whether a run got there: it used as much, or its budget had no room for another round."""
        if self.by == "target":
            return bool((run.accuracy >= self.at).any())
        if self.by == "final" or math.isnan(self.at) or self._free(run):
            return True
        full = ended(run) == End.BUDGET and self.by == "blocks"
        return float(spent(run, self.by)[-1]) >= self.at or (full and budget(run) >= self.at)

    def score(self, run: Run) -> float:
        """What is compared: an accuracy, or the resource blocks up to one.

        NaN if not reached, and where the evaluation is stale.
        """
        if not self.reached(run):
            return math.nan
        if self.by == "target":
            return float(run.columns["resource_blocks"][np.argmax(run.accuracy >= self.at)])
        found = self.evaluation(run)
        return math.nan if found.stale else found.accuracy

    def evaluation(self, run: Run) -> Evaluation:
        """The evaluation that is compared, and its age; of age 0 where blocks are compared."""
        if self.by == "target":
            return Evaluation(math.nan, 0.0)
        if self.by == "final" or self._free(run) or math.isnan(self.at):
            x = spent(run, "rounds" if free(run) else "blocks")
            return evaluated(x, run.accuracy, float(x[-1]))
        return evaluated(spent(run, self.by), run.accuracy, self.at)

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
    Judge(by='blocks', at=500000.0, shared=False, lowered=False)
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
    """The most that every run reached, with an evaluation of each there that is not stale.

    Free runs and those that ended early are left aside. Where no budget has such evaluations, it
    is what all have reached; NaN if none has reached anything.
    """
    reach, runs = _reach(groups, by)
    at = evaluated_by_all([(spent(r, by), r.accuracy) for r in runs], reach, by != "joules")
    return reach if math.isnan(at) else at


def _reach(groups: Groups, by: By) -> tuple[float, list[Run]]:
    """The most that every run reached, free and early ones aside; and the runs that did."""
    used = [(run, float(spent(run, by)[-1])) for runs in groups.values() for run in runs]
    paid = [(run, most) for run, most in used if most > 0]
    full = [most for run, most in paid if not early(run)]
    reach = min(full or [most for _, most in paid], default=math.nan)
    return reach, [run for run, most in paid if most >= reach]


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

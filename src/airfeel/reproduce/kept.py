"""Which runs a table is judged by: how far each is, how it ended, what has computed it, and what
it came to."""

import numpy as np

from airfeel.analysis import series
from airfeel.analysis.tables import Sheet
from airfeel.catalogue import Table
from airfeel.reproduce.curves import Curve, Found
from airfeel.reproduce.results import facts_of
from airfeel.runs.summary import End
from airfeel.storage import provenance
from airfeel.storage.run import Run

_UNKNOWN = "not on record"
_SEEN = (
    "best and last: looks at the test set; heard: devices per round, in the first and in the last "
    "tenth of the rounds."
)
_ALIKE = (
    "The same seed gives the same bytes on one backend, its kernels and instructions only: runs of "
    "other commits or CPUs differ in last digits, and these grow over the rounds."
)


def runs_sheet(stored: Found, curves: dict[str, Curve]) -> Sheet:
    """One row for each run of the paper's curves."""
    head = ("curve", "seed", "rounds", "state", "commit", "computed by")
    rows = [_row(curves[name], run) for name in curves for run in stored.get(name, [])]
    return Sheet(head, rows, [_ALIKE])


def outcome_sheet(stored: Found, curves: dict[str, Curve]) -> Sheet:
    """What each of them came to: blocks, accuracies and devices heard."""
    head = ("curve", "seed", "rounds", "blocks", "best %", "in round", "last %")
    rows = [_outcome(name, run) for name in curves for run in stored.get(name, [])]
    return Sheet((*head, "heard, first tenth", "last tenth"), rows, [_SEEN])


def _outcome(name: str, run: Run) -> tuple[str, ...]:
    rounds, accuracy = run.columns["round"], 100.0 * run.accuracy
    best, last = np.nanargmax(accuracy), 100.0 * series.final_accuracy(run)
    return (
        *(name, str(run.experiment.run.seed), f"{rounds[-1]:,}"),
        f"{run.columns['resource_blocks'][-1]:.3g}",
        *(f"{accuracy[best]:.1f}", f"{rounds[best]:,}", f"{last:.1f}"),
        *(f"{heard:.1f}" for heard in series.first_and_last(run, "scheduled")),
    )


def _row(curve: Curve, run: Run) -> tuple[str, ...]:
    played, facts = int(run.columns["round"][-1]), facts_of(run)
    return (
        curve.name,
        str(run.experiment.run.seed),
        f"{played:,} of {curve.rounds:,}",
        _state(run, played >= curve.rounds),
        str(facts.get("commit") or "")[:7] or _UNKNOWN,
        series.computed_by(run) or _of_copy(facts) or _UNKNOWN,
    )


def _state(run: Run, whole: bool) -> str:
    reason = run.summary.get("reason")
    if reason != End.ROUNDS:
        return str(reason or "unfinished")
    return "complete" if whole else "shortened"


def _of_copy(facts: Table) -> str:
    """What has computed a run that is not finished, from what its small copy tells."""
    steps = facts.get("arithmetic")
    if not isinstance(steps, list):
        return ""
    return provenance.in_words([s for s in steps if isinstance(s, dict) and "from_round" in s])

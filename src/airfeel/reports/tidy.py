"""A tidy table: one row per run, one column per setting that varies, and the results."""

import csv
import io
import json
import math

from airfeel.analysis.criterion import Judge
from airfeel.analysis.groups import Groups, deciding, varied
from airfeel.catalogue import Value
from airfeel.reports.data import run_facts

_RESULTS = (
    *("rounds", "resource_blocks", "joules", "test_accuracy"),
    *("score", "evaluation_age", "reached", "ended", "backend", "folder"),
)


def tidy(groups: Groups, judge: Judge | None = None) -> str:
    """Settings × results as CSV: numbers in full, an empty cell where there is none.

    `score` is what the judge compares: an accuracy, or resource blocks up to one; `reached` says
    whether the run got as far as the judge looks. A stale evaluation is no score; its age, as part
    of the budget, is a column where a run has one.
    """
    by = (judge or Judge()).settled(groups)
    settings = varied([run.experiment for runs in groups.values() for run in runs])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    aged = any(by.evaluation(run).age > 0.0 for runs in groups.values() for run in runs)
    names = [name for name in _RESULTS if aged or name != "evaluation_age"]
    writer.writerow(["group", *settings, "seed", *names])
    for label, runs in groups.items():
        for run in runs:
            own, f = deciding(run.experiment), run_facts(run)
            results: list[Value] = [f.rounds, f.resource_blocks, f.joules, f.test_accuracy]
            age = by.evaluation(run).age
            results += [by.score(run), *[age] * aged, int(by.reached(run))]
            results += [f.stopped, f.backend, f.folder]
            row = [label, *(own.get(key) for key in settings), f.seed, *results]
            writer.writerow(map(_cell, row))
    return text.getvalue()


def _cell(value: Value) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return json.dumps(value) if isinstance(value, bool | dict | list | tuple) else str(value)

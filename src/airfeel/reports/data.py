"""Everything a page shows, computed from stored rows."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from airfeel.analysis.criterion import Judge, ended, shared, spent
from airfeel.analysis.groups import Groups
from airfeel.analysis.ranking import Line, lines, unlike, untuned, verdict
from airfeel.analysis.series import final_accuracy, mean_and_spread, over_seeds, round_mean
from airfeel.plotting import Band
from airfeel.reports import Json
from airfeel.reports.arithmetic import backend, computed_by
from airfeel.reports.curves import accuracy_by, each_round, first_reach, thin
from airfeel.reports.devices import devices
from airfeel.reports.inspector import recorded
from airfeel.reports.ran import what_was_run
from airfeel.reports.runs import extra_columns
from airfeel.reports.styles import styles
from airfeel.storage.run import Run
from airfeel.types import Reason
from airfeel.version import VERSION

_T = TypeVar("_T")
_POINTS = 1500  # of a curve
_ALL_POINTS = 60_000  # of a chart with many groups
_WINDOWS = 400  # of a curve by round


def page_data(groups: Groups, judge: Judge | None = None) -> dict[str, Json]:
    """The page's data: groups in the order of the comparison, numbers ready for JSON."""
    table = lines(groups, judge)
    groups = {line.label: groups[line.label] for line in table}
    ran = what_was_run(groups)
    limit = max(min(_POINTS, _ALL_POINTS // len(groups)), 100)
    looks = styles([line.label for line in table], [line.free for line in table])
    return {
        "version": VERSION,
        "blocks": _number(shared(groups)),
        "groups": [
            {"label": line.label, "free": line.free, "seeds": line.seeds, **asdict(look)}
            | {"settings": ran.by_group[line.label]}
            for line, look in zip(table, looks, strict=True)
        ],
        "settings": ran.differing,
        "accuracy": {
            "rounds": _on_one_grid(accuracy_by(groups, "round", limit)),
            "blocks": _on_one_grid(accuracy_by(groups, "resource_blocks", limit)),
        },
        "train_loss": [_by_round(runs, "train_loss", limit) for runs in groups.values()],
        "test_loss": [_by_round(runs, "test_loss", limit) for runs in groups.values()],
        "joules": [_spent_joules(runs, limit) for runs in groups.values()],
        "scheduled": [_by_round(runs, "scheduled", limit) for runs in groups.values()],
        "overlap": [_by_round(runs, "mask_overlap", limit) for runs in groups.values()],
        "slots": [
            [_slots(runs, "slots_air"), _slots(runs, "slots_digital")] for runs in groups.values()
        ],
        "devices": [_devices(runs) for runs in groups.values()],
        "reasons": [reason.value.replace("-", " ") for reason in Reason],
        "more": [
            {"name": name, "curves": [_by_round(runs, name, limit) for runs in groups.values()]}
            for name in extra_columns(groups)
        ],
        "inspector": _clean(recorded(groups)),
    }


def comparison(
    groups: Groups, spare: Sequence[Run] = (), judge: Judge | None = None
) -> dict[str, Json]:
    """The comparison as a table for other programs."""
    by, blocks = (judge or Judge()).settled(groups), shared(groups)
    table = lines(groups, by)
    return {
        "airfeel": VERSION,
        "resource_blocks": _number(blocks),
        "judge": {"by": by.by, "at": _exact(by.at)},
        "verdict": verdict(table, by),
        "notes": [*unlike(groups), *untuned(groups)],
        "computed_by": computed_by(groups),
        "groups": [
            {key: _clean(value) for key, value in asdict(line).items()}
            | {"runs": [_clean(asdict(run_facts(run))) for run in groups[line.label]]}
            | _more(groups, line.label)
            for line in table
        ],
        "savings": savings(groups, table, blocks),
        "left_out": [str(run.folder) for run in spare],
    }


def _more(groups: Groups, label: str) -> dict[str, Json]:
    """The mean per round of columns that are none of ours, where there are such."""
    means = {}
    for name in extra_columns(groups):
        mean, spread = mean_and_spread([round_mean(run, name) for run in groups[label]])
        means[name] = {"mean": _exact(mean), "spread": _exact(spread)}
    return {"more": means} if means else {}


def savings(groups: Groups, table: Sequence[Line], blocks: float) -> list[dict[str, Json]]:
    """Resource blocks that each group needs to be as accurate as each other is at `blocks`."""
    curves = accuracy_by(groups, "resource_blocks", _ALL_POINTS)
    paid = [line for line in table if not line.free]
    pairs: list[dict[str, Json]] = []
    for line in paid:
        for other in paid:
            if line is not other:
                needs = first_reach(curves[line.label], other.accuracy)
                saved = _exact(1.0 - needs / blocks)
                pairs.append(
                    {
                        "label": line.label,
                        "against": other.label,
                        "saving": saved,
                        "resource_blocks": _number(needs),
                    }
                )
    return pairs


@dataclass(frozen=True)
class RunFacts:
    """One run, in a row."""

    folder: str
    seed: int
    rounds: int
    resource_blocks: int
    joules: float
    test_accuracy: float
    stopped: str
    backend: str


def run_facts(run: Run) -> RunFacts:
    """How far a run got, and why it ended."""
    return RunFacts(
        folder=str(run.folder or Path()),
        seed=run.experiment.run.seed,
        rounds=int(run.columns["round"][-1]),
        resource_blocks=int(run.columns["resource_blocks"][-1]),
        joules=float(spent(run, "joules")[-1]),
        test_accuracy=final_accuracy(run),
        stopped=ended(run),
        backend=backend(run),
    )


def _on_one_grid(curves: dict[str, Band]) -> dict[str, Json]:
    """The points of the longest curve, and every curve's values at as many of them as it has."""
    longest = max(curves.values(), key=lambda curve: len(curve.x))
    return {
        "x": _numbers(longest.x),
        "curves": [
            {"mean": _numbers(c.mean), "spread": _numbers(c.spread)} for c in curves.values()
        ],
    }


def _by_round(runs: list[Run], column: str, limit: int) -> dict[str, Json]:
    curve, width = each_round(runs, column, min(_WINDOWS, limit))
    return {
        "x": _numbers(curve.x),
        "mean": _numbers(curve.mean),
        "spread": _numbers(curve.spread),
        "width": width,
        "of": runs[0].experiment.training.devices,
    }


def _spent_joules(runs: list[Run], limit: int) -> dict[str, Json]:
    """Energy of all devices together, from the start to each round."""
    last = min(int(run.columns["round"][-1]) for run in runs)
    rounds = thin(np.arange(last + 1.0), min(_WINDOWS, limit))
    curve = over_seeds(rounds, [spent(run, "joules")[rounds.astype(int)] for run in runs])
    return {
        "x": _numbers(curve.x),
        "mean": _numbers(curve.mean),
        "spread": _numbers(curve.spread),
        "width": 1,
    }


def _slots(runs: list[Run], name: str) -> float | int | None:
    """Mean slots per round."""
    return _number(float(np.mean([round_mean(run, name) for run in runs])))


def _devices(runs: list[Run]) -> dict[str, Json]:
    spending = devices(runs)
    if spending is None:
        return {"spent": [], "allowed": [], "heard": [], "reasons": [None] * len(Reason)}
    return {
        "spent": _numbers(spending.spent),
        "allowed": _numbers(spending.allowed),
        "heard": _numbers(spending.heard),
        "reasons": _numbers(spending.reasons.mean(axis=0)),
    }


def _numbers(values: np.ndarray) -> list[float | int | None]:
    return [_number(v) for v in values.tolist()]


def _number(value: float) -> float | int | None:
    """Five digits are enough for a page; whole numbers stay exact, and JSON knows no NaN."""
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) else float(f"{value:.5g}")


def _exact(value: _T) -> _T | None:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _clean(value: Json) -> Json:
    """A nested value with what JSON does not know taken out."""
    if isinstance(value, dict):
        return {key: _clean(v) for key, v in value.items()}
    if isinstance(value, list):
        return [_clean(v) for v in value]
    return _exact(value)

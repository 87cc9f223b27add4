"""What tuning has found, as a file: so that it is kept, and need not be done again."""

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from airfeel import regular
from airfeel.storage import atomic
from airfeel.sweeps.benchmark.rules import League, Point
from airfeel.types import BadInput

# A file of an older version has no seeds and no validation: it was tuned on the test samples.
_COLUMNS = (
    *("contender", "slots", "settings", "accuracies", "mean", "chosen"),
    *("seeds", "validation"),
)


@dataclass(frozen=True)
class Tried:
    """A point of a contender's tuning at a budget, and what it reached on each tuning seed."""

    label: str
    slots: int
    point: Point
    accuracies: tuple[float, ...]
    chosen: bool
    seeds: tuple[int, ...] = ()  # of the tuning runs, where they are on record
    validation: float = 0.0  # share of the training samples that they were evaluated on; 0: test

    @property
    def mean(self) -> float:
        """Over the tuning seeds; NaN where nothing was tuned."""
        return float(np.mean(self.accuracies)) if self.accuracies else math.nan


def write_tuning(tried: Sequence[Tried], path: Path) -> None:
    """A row for each point of each contender and budget."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for t in tried:
        reached = " ".join(f"{a:.6g}" for a in t.accuracies)
        mean = "" if math.isnan(t.mean) else f"{t.mean:.6g}"
        how = " ".join(map(str, t.seeds)), t.validation or ""
        writer.writerow((t.label, t.slots, _spelled(t.point), reached, mean, int(t.chosen), *how))
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(path, text.getvalue().encode())


def read_tuning(league: League, path: Path) -> list[Tried]:
    """What `write_tuning` has written of a league, which must try what it tried then."""
    points = {
        (who.label, slots, _spelled(point)): point
        for who in league.contenders
        for slots in league.slots
        for point in who.points
    }
    tried = [
        replace(t, point=points[key])
        for t in _rows(path)
        if (key := (t.label, t.slots, _spelled(t.point))) in points
    ]
    for who in league.contenders:
        for slots in league.slots:
            chosen = [t for t in tried if t.chosen and (t.label, t.slots) == (who.label, slots)]
            if len(chosen) != 1:
                raise BadInput(
                    f"{path}: chooses {len(chosen)} settings of {who.label} at {slots} slots among "
                    "those that the league tries; must be one"
                )
    return tried


def candidates(tried: Sequence[Tried]) -> dict[str, int]:
    """Return how many settings each contender had to choose from, at a budget."""
    return dict(Counter(t.label for t in tried if t.slots == tried[0].slots))


def how(tried: Sequence[Tried]) -> dict[str, Any]:
    """Return how settings were chosen, for other programs; see `told_how`."""
    tuned = [t for t in tried if t.accuracies]
    share = min((t.validation for t in tuned), default=0.0)
    return {
        "evaluated_on": ("validation" if share else "test") if tuned else None,
        "validation": share or None,
        "seeds": sorted({seed for t in tuned for seed in t.seeds}),
        "runs_per_candidate": min((len(t.accuracies) for t in tuned), default=0),
        "candidates": candidates(tried),
    }


def told_how(tried: Sequence[Tried]) -> str:
    """Say how settings were chosen: on which samples and seeds, and from how many candidates."""
    known = how(tried)
    if known["evaluated_on"] is None:
        return "Nothing was tuned."
    counts = ", ".join(f"{label} {count}" for label, count in known["candidates"].items())
    if known["evaluated_on"] == "test":
        runs = known["runs_per_candidate"]
        seeds = "one seed" if runs == 1 else f"{runs} seeds"
        text = f"Tuned on test images with {seeds}; to be run again."
    else:
        seeds = ", ".join(map(str, known["seeds"]))
        text = (
            f"Tuned on {100 * known['validation']:g} % of the training samples, held out of "
            f"training, with seeds {seeds} (not in the table): the largest mean accuracy there "
            "was chosen, the test set was not used."
        )
    return f"{text} Candidate settings at each budget: {counts}."


def _spelled(point: Point) -> str:
    return json.dumps(point, sort_keys=True)


def _rows(path: Path) -> list[Tried]:
    try:
        with io.TextIOWrapper(regular.opened(path), encoding="utf-8", newline="") as file:
            return [
                Tried(
                    row["contender"],
                    int(row["slots"]),
                    json.loads(row["settings"]),
                    tuple(float(a) for a in row["accuracies"].split()),
                    row["chosen"] == "1",
                    tuple(int(s) for s in row.get("seeds", "").split()),
                    float(row.get("validation") or 0.0),
                )
                for row in csv.DictReader(file)
            ]
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
    except (KeyError, TypeError, AttributeError, ValueError, csv.Error) as error:
        raise BadInput(f"{path}: is not the tuning.csv of a league ({error!r})") from error

"""What tuning has found, as a file: so that it is kept, and need not be done again."""

import csv
import io
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from airfeel.experiment import atomic
from airfeel.experiment.league.rules import League, Point
from airfeel.types import BadInput

_COLUMNS = ("contender", "slots", "settings", "accuracies", "mean", "chosen")


@dataclass(frozen=True)
class Tried:
    """A point of a contender's tuning at a budget, and what it reached on the held-out seeds."""

    label: str
    slots: int
    point: Point
    accuracies: tuple[float, ...]
    chosen: bool

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
        writer.writerow((t.label, t.slots, _spelled(t.point), reached, mean, int(t.chosen)))
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
        Tried(label, slots, points[label, slots, settings], reached, chosen)
        for label, slots, settings, reached, chosen in _rows(path)
        if (label, slots, settings) in points
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


def _spelled(point: Point) -> str:
    return json.dumps(point, sort_keys=True)


def _rows(path: Path) -> list[tuple[str, int, str, tuple[float, ...], bool]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return [
                (
                    row["contender"],
                    int(row["slots"]),
                    _spelled(json.loads(row["settings"])),
                    tuple(float(a) for a in row["accuracies"].split()),
                    row["chosen"] == "1",
                )
                for row in csv.DictReader(file)
            ]
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
    except (KeyError, TypeError, AttributeError, ValueError, csv.Error) as error:
        raise BadInput(f"{path}: is not the tuning.csv of a league ({error!r})") from error

"""From folders to runs as far as they got, in groups that differ in the seed only."""

import math
from collections.abc import Sequence
from pathlib import Path

from airfeel.analysis.groups import Groups, group
from airfeel.settings.columns import BEFORE, ROUND_COLUMNS
from airfeel.storage.reader import open_run
from airfeel.storage.run import Run
from airfeel.types import BadInput


def find(places: Sequence[Path]) -> list[Path]:
    """The run folders among and below some folders, each once, in the order given."""
    folders: dict[Path, Path] = {}
    for place in places:
        if not place.is_dir():
            raise BadInput(f"{place}: must be a run's folder, or a folder that holds some")
        below = sorted(path.parent for path in place.rglob("rounds.csv"))
        if not below:
            raise BadInput(f"{place}: holds no run (a run's folder has a rounds.csv)")
        for folder in below:
            folders.setdefault(folder.resolve(), folder)
    return list(folders.values())


def read(folder: Path) -> Run:
    """A run as far as it got; the summary is empty if it is not finished."""
    run = open_run(folder)
    fault = _fault(run)
    if fault:
        raise BadInput(f"{folder}/rounds.csv: {fault}")
    return run


def load(places: Sequence[Path]) -> tuple[Groups, list[Run]]:
    """The groups of all runs in some folders, and the runs left out."""
    return group([read(folder) for folder in find(places)])


def extra_columns(groups: Groups) -> list[str]:
    """Columns of numbers that are none of ours, such as those of a user's own meter."""
    every = [run.columns for peers in groups.values() for run in peers]
    return [
        name
        for name in dict.fromkeys(name for columns in every for name in columns)
        if name not in (*ROUND_COLUMNS, *BEFORE)
        and all(columns[name].dtype.kind in "if" for columns in every if name in columns)
    ]


def lacks(groups: Groups) -> list[str]:
    """What some runs did not store, so that it cannot be shown, in sentences."""
    notes: dict[str, list[str]] = {}
    for label, peers in groups.items():
        names = [n for n in ROUND_COLUMNS if any(n not in run.columns for run in peers)]
        if names:
            notes.setdefault(f"rounds.csv has no column {', '.join(names)}.", []).append(label)
        if any(run.folder and not (run.folder / "devices.csv").exists() for run in peers):
            notes.setdefault("there is no devices.csv: no energy, no reasons.", []).append(label)
    return [
        f"{'All groups' if len(who) == len(groups) else ', '.join(who)}: {what}"
        for what, who in notes.items()
    ]


def _fault(run: Run) -> str | None:
    """What keeps a run from being reported on; one whose budget had no room for a round is none."""
    if len(run.columns["round"]) < 2 and run.summary.get("rounds") != 0:
        return "holds no round yet"
    if math.isnan(run.columns["test_accuracy"][0]):
        return "has no test accuracy to report on (regression?)"
    return None

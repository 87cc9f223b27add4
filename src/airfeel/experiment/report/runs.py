"""From folders to runs as far as they got, in groups that differ in the seed only."""

import json
import math
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from airfeel.catalogue import Value
from airfeel.experiment.config import SECTIONS, Experiment
from airfeel.experiment.fields import STORED
from airfeel.experiment.groups import Groups, group
from airfeel.experiment.rows import ROUND_COLUMNS, read_columns
from airfeel.experiment.runner import Run
from airfeel.types import BadInput

_NEEDED = ("round", "scheduled", "resource_blocks", "test_accuracy")  # for any comparison


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
    experiment = _settings(folder / "config.toml")
    try:
        columns = read_columns(folder / "rounds.csv")
    except (OSError, UnicodeDecodeError, ValueError, IndexError, StopIteration) as error:
        raise BadInput(f"{folder}/rounds.csv: cannot be read ({error})") from error
    fault = _fault(columns)
    if fault:
        raise BadInput(f"{folder}/rounds.csv: {fault}")
    return Run(experiment, columns, _summary(folder / "summary.json"), folder=folder)


def load(places: Sequence[Path]) -> tuple[Groups, list[Run]]:
    """The groups of all runs in some folders, and the runs left out."""
    return group([read(folder) for folder in find(places)])


def extra_columns(groups: Groups) -> list[str]:
    """Columns of numbers that are none of ours, such as those of a user's own meter."""
    every = [run.columns for peers in groups.values() for run in peers]
    return [
        name
        for name in dict.fromkeys(name for columns in every for name in columns)
        if name not in ROUND_COLUMNS
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


def _fault(columns: dict[str, np.ndarray]) -> str | None:
    """What keeps rows from being reported on."""
    for name in _NEEDED:
        if name not in columns:
            return f"has no column {name}"
    rounds = columns["round"]
    if len(rounds) < 2:
        return "holds no round yet"
    for name in columns.keys() & set(ROUND_COLUMNS):
        if columns[name].dtype.kind not in "if":
            return f"column {name} holds what is not a number"
    if not np.array_equal(rounds, np.arange(len(rounds))):
        return "column round must count 0, 1, 2, …"
    if math.isnan(columns["test_accuracy"][0]):
        return "has no test accuracy to report on (regression?)"
    return None


def _settings(path: Path) -> Experiment:
    """The settings of a stored run.

    Each section is checked on its own: a report imports no user's scheme or model by its
    name, and knows runs of schemes that this version does not.
    """
    try:
        table = tomllib.loads(path.read_text("utf-8"))
        sections: dict[str, Any] = {
            name: section.model_validate(table.get(name, {}), context=STORED)
            for name, section in SECTIONS.items()
        }
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"{path}: {error.title} {key}: {first['msg']}") from error
    return Experiment.model_construct(**sections)


def _summary(path: Path) -> dict[str, Value]:
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from error
    if not isinstance(content, dict):
        raise BadInput(f"{path}: must hold a table")
    return content

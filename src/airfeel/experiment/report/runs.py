"""From folders to groups of runs that differ in the seed only, each with a telling label."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from airfeel.catalogue import Value
from airfeel.experiment.config import Experiment
from airfeel.experiment.deciding import settings_that_decide
from airfeel.experiment.fields import Changes
from airfeel.experiment.readings import not_alike
from airfeel.experiment.rows import ROUND_COLUMNS
from airfeel.experiment.runner import Run
from airfeel.experiment.stored import open_run
from airfeel.types import BadInput

Groups = dict[str, list[Run]]

# What may differ between two runs of one group.
_ASIDE = (Changes.NOTHING, Changes.RECORDS, Changes.SEED)


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
    fault = _fault(run.columns)
    if fault:
        raise BadInput(f"{folder}/rounds.csv: {fault}")
    return run


def group(runs: Iterable[Run]) -> tuple[Groups, list[Run]]:
    """Runs by label, by seed; and those left out since another has the same settings and seed."""
    same: dict[str, list[Run]] = {}
    spare = []
    for run in sorted(runs, key=_progress, reverse=True):
        key = json.dumps(flat(settings_that_decide(run.experiment, _ASIDE)), sort_keys=True)
        peers = same.setdefault(key, [])
        if any(run.experiment.run.seed == peer.experiment.run.seed for peer in peers):
            spare.append(run)
        else:
            peers.append(run)
    members = [sorted(peers, key=lambda r: r.experiment.run.seed) for peers in same.values()]
    names = _labels([peers[0].experiment for peers in members])
    return dict(sorted(zip(names, members, strict=True))), spare


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
    ] + not_alike(groups)


def _fault(columns: dict[str, np.ndarray]) -> str | None:
    """What keeps rows from being reported on."""
    if len(columns["round"]) < 2:
        return "holds no round yet"
    if math.isnan(columns["test_accuracy"][0]):
        return "has no test accuracy to report on (regression?)"
    return None


def _progress(run: Run) -> tuple[bool, int]:
    return bool(run.summary), int(run.columns["round"][-1])


def flat(sections: Mapping[str, Mapping[str, Value]]) -> dict[str, Value]:
    """Settings by section as section.key.

    >>> flat({"scheme": {"bits": 8}, "run": {}})
    {'scheme.bits': 8}
    """
    return {
        f"{name}.{key}": value for name, keys in sections.items() for key, value in keys.items()
    }


def _labels(experiments: Sequence[Experiment]) -> list[str]:
    """The scheme's name, with the settings that tell groups of one scheme apart."""
    every = [flat(settings_that_decide(e, _ASIDE)) for e in experiments]
    labels = []
    for e, own in zip(experiments, every, strict=True):
        peers = [other for other in every if other["scheme.name"] == own["scheme.name"]]
        differ = [key for key in own if any(other[key] != own[key] for other in peers)]
        words = [f"{key.partition('.')[2]}={_short(own[key])}" for key in differ]
        labels.append(e.scheme.name + (f" ({', '.join(words)})" if words else ""))
    return _unique(labels)


def _short(value: Value) -> str:
    text = "none" if value is None else json.dumps(value) if isinstance(value, bool) else str(value)
    return text if len(text) <= 24 else text[:23] + "…"


def _unique(labels: list[str]) -> list[str]:
    """Labels that were cut short to the same text are numbered."""
    seen: dict[str, int] = {}
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
    count = dict.fromkeys(seen, 0)
    unique = []
    for label in labels:
        count[label] += 1
        unique.append(f"{label} #{count[label]}" if seen[label] > 1 else label)
    return unique

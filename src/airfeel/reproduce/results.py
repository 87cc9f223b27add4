"""Small copies of runs, to be kept beside the code: settings, rows, and how the run ended.

results/<curve>/             seed 0; other seeds in <curve>-seed<S>
    config.toml              every setting but the folder of the data sets
    rounds.csv               one row per round, numbers to six digits
    summary.json             of a finished run; or
    partial.json             of one that is not: rounds run, of how many, and on what machine
"""

import csv
import io
import json
import math
from pathlib import Path

import numpy as np

from airfeel import regular
from airfeel.analysis.series import column
from airfeel.catalogue import Value
from airfeel.reproduce.curves import Curve, match
from airfeel.settings.relevance import as_toml
from airfeel.storage import atomic
from airfeel.storage.checksums import checksums
from airfeel.storage.run import Run
from airfeel.types import BadInput

_DIGITS = 6


def export(
    places: list[Path], to: Path, curves: dict[str, Curve], others: bool = False
) -> tuple[list[Path], list[Run]]:
    """Copy the runs of the paper's curves; where they went, and the runs that were left out.

    A longer run takes the place of a shorter copy, and a shorter one is left out.
    With `others` the rest is copied too, such as the points of a study, under their folders' names.
    """
    stored, spare = match(places, curves.values())
    copies = []
    for name, run in [(name, run) for name, runs in stored.items() for run in runs]:
        folder = to / _name(name, run)
        if _rounds_of_copy(folder, curves[name]) > run.columns["round"][-1]:
            spare.append(run)
        else:
            copies.append(_copy(run, folder))
    if others:
        copies += [_copy(run, to / run.folder.name) for run in spare if run.folder]
    return copies, [] if others else spare


def _name(curve: str, run: Run) -> str:
    seed = run.experiment.run.seed
    return f"{curve}-seed{seed}" if seed else curve


def _rounds_of_copy(folder: Path, curve: Curve) -> int:
    """How long the run of a curve is that was copied before; 0 if none is there, or only a part.

    A run of other settings is never replaced.
    """
    try:
        kept, others = match([folder], [curve])
    except BadInput:
        return 0
    if others:
        raise BadInput(f"--to {folder}: holds a run of other settings; name another folder")
    runs = kept.get(curve.name, [])
    return max((int(run.columns["round"][-1]) for run in runs), default=0)


def _copy(run: Run, folder: Path) -> Path:
    source = run.folder
    assert source is not None
    if source.resolve() == folder.resolve():
        raise BadInput(f"--to {folder.parent}: holds the very runs that are to be copied")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("summary.json", "partial.json"):
            (folder / name).unlink(missing_ok=True)
        atomic.write(folder / "rounds.csv", _rows(run).encode())
        atomic.write(folder / "config.toml", _settings(run).encode())
        name = "summary.json" if run.summary else "partial.json"
        facts = facts_of(run)
        if "files" in facts:  # the rows of a copy have fewer digits
            facts = facts | {"files": checksums(folder, ("config.toml", "rounds.csv"))}
        atomic.write(folder / name, (json.dumps(facts, indent=2) + "\n").encode())
    except OSError as error:
        raise BadInput(f"--to {folder}: cannot be written ({error.strerror or error})") from error
    return folder


def facts_of(run: Run) -> dict[str, Value]:
    """What is on record of a run: its summary, or of one that is not finished how far it is."""
    source = run.folder
    if run.summary or source is None:
        return dict(run.summary)
    return _read(source / "partial.json") or {
        "rounds": int(run.columns["round"][-1]),
        "of": run.experiment.training.rounds,
        "resource_blocks": int(run.columns["resource_blocks"][-1]),
        "seed": run.experiment.run.seed,
        "seconds": float(np.nansum(column(run, "seconds"))),
    } | {k: v for k, v in _read(source / "facts.json").items() if k != "settings"}


def _read(path: Path) -> dict[str, Value]:
    try:
        facts = json.loads(regular.text(path))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _settings(run: Run) -> str:
    """All settings but where the data sets lay: that is of one machine, and changes nothing."""
    e = run.experiment
    return as_toml(e.model_copy(update={"data": e.data.model_copy(update={"dir": None})}))


def _rows(run: Run) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(run.columns)
    columns = [column.tolist() for column in run.columns.values()]
    writer.writerows(map(_short, row) for row in zip(*columns, strict=True))
    return text.getvalue()


def _short(value: int | float | str) -> str:
    if not isinstance(value, float):
        return str(value)
    return "" if math.isnan(value) else f"{value:.{_DIGITS}g}"

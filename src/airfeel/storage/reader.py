"""A run from its folder: the one reader of what a run has left, finished or not."""

from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from airfeel.settings.columns import ROUND_COLUMNS
from airfeel.settings.config import SECTIONS, Experiment
from airfeel.settings.fields import STORED
from airfeel.settings.load import stored_table
from airfeel.settings.relevance import settings_that_decide
from airfeel.storage import checkpoint, checksums
from airfeel.storage.provenance import changed
from airfeel.storage.rows import read_columns
from airfeel.storage.run import Run
from airfeel.types import BadInput

_NEEDED = ("round", "scheduled", "resource_blocks", "test_accuracy")  # for any comparison


def open_run(folder: Path) -> Run:
    """A run as far as it got, each file checked; the summary is empty if it is not finished."""
    if not (folder / "config.toml").is_file():
        raise BadInput(f"{folder}: is no run folder, it has no config.toml")
    summary = checksums.read_summary(folder)
    if not summary:
        fault = checksums.misfit(folder, *checkpoint.known_rows(folder))
        if fault:
            raise BadInput(fault)
    columns = read_columns(folder / "rounds.csv", growing=not summary)
    fault = _fault(columns)
    if fault:
        raise BadInput(f"{folder}/rounds.csv: {fault}")
    return Run(settings(folder), columns, summary, folder=folder)


def settings(folder: Path) -> Experiment:
    """The settings of a stored run.

    Each section is checked on its own: a report imports no user's scheme or model by its
    name, and knows runs of schemes that this version does not.
    """
    table = stored_table(folder)
    try:
        sections: dict[str, Any] = {
            name: section.model_validate(table.get(name, {}), context=STORED)
            for name, section in SECTIONS.items()
        }
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"{folder}/config.toml: {error.title} {key}: {first['msg']}") from error
    return Experiment.model_construct(**sections)


def check_same(stored: Experiment, asked: Experiment, folder: Path) -> None:
    """Refuse a folder of other settings than those asked for."""
    difference = changed(settings_that_decide(asked), settings_that_decide(stored))
    if difference:
        raise BadInput(f"{folder}/config.toml: is not the run that its name says: {difference}")


def _fault(columns: dict[str, np.ndarray]) -> str | None:
    """What keeps rows from being compared."""
    for name in _NEEDED:
        if name not in columns:
            return f"has no column {name}"
    for name in columns.keys() & set(ROUND_COLUMNS):
        if columns[name].dtype.kind not in "if":
            return f"column {name} holds what is not a number"
    rounds = columns["round"]
    if not len(rounds):
        return "holds no round yet"
    if not np.array_equal(rounds, np.arange(len(rounds))):
        return "column round must count 0, 1, 2, …"
    return None

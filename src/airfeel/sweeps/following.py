"""Runs of other processes as they go by: told from their files, as if they went on here."""

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from airfeel import regular
from airfeel.settings.config import Experiment
from airfeel.storage.rows import Row
from airfeel.storage.run import Facts
from airfeel.sweeps.pool import Trial
from airfeel.sweeps.sweep import Sweep


@runtime_checkable
class Teller(Protocol):
    """What shows a run from its rows alone, as `progress.Display` does."""

    def begin(self, experiment: Experiment) -> None: ...
    def row(self, row: Row) -> None: ...
    def end(self, summary: Facts) -> None: ...


Tellers = Callable[[str, Experiment], Iterable[Teller]]


@dataclass
class _Followed:
    """One run: what shows it, and how far it has been told."""

    shown: list[Teller]
    last: int  # round
    columns: list[str] = field(default_factory=list)
    at: int = 0  # bytes of rounds.csv

    def rows(self, path: Path) -> Iterator[Row]:
        """The whole lines that have come since the last look; what was cut off is read again."""
        try:
            with regular.opened(path) as file:
                self.at = self.at if file.seek(0, 2) >= self.at else 0
                file.seek(self.at)
                fresh = file.read()
        except OSError:
            return
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self.at += len(whole)
        for cells in csv.reader(whole.decode("utf-8", "replace").splitlines()):
            if cells[:1] == ["round"]:
                self.columns = cells
            elif len(cells) == len(self.columns) and int(cells[0]) > self.last:
                self.last = int(cells[0])
                yield {k: _number(c) for k, c in zip(self.columns, cells, strict=True)}


class Following:
    """Shows what the runs of a sweep have stored since the last look; finished ones are silent."""

    def __init__(self, trials: Sequence[Trial], shown: Tellers) -> None:
        self._shown = shown
        self._before = {trial.folder: _ended(trial) for trial in trials}
        self._begun = {trial.folder: _stamp(trial.folder / "config.toml") for trial in trials}
        self._told = {trial.folder: -1 if trial.fresh else _played(trial) for trial in trials}
        self._runs: dict[Path, _Followed] = {}
        self._over: set[Path] = set()

    def look(self, work: Sweep) -> None:
        """Tell what is new of every run that is under way, or was at the last look."""
        for trial in work.trials:
            ended = trial.folder not in work.running and _ended(trial) != self._before[trial.folder]
            if trial.folder not in self._over and (trial.folder in work.running or ended):
                self._tell(trial, ended)

    def _tell(self, trial: Trial, ended: bool) -> None:
        folder = trial.folder
        if trial.fresh and _stamp(folder / "config.toml") == self._begun[folder]:
            return  # what lies there is about to be deleted
        if folder not in self._runs:
            shown = list(self._shown(trial.label, trial.experiment))
            self._runs[folder] = _Followed(shown, self._told[folder])
            for each in shown:
                each.begin(trial.experiment)
        run = self._runs[folder]
        for row in run.rows(folder / "rounds.csv"):
            for each in run.shown:
                each.row(row)
        if ended:
            self._over.add(folder)
            summary = json.loads(regular.text(folder / "summary.json"))
            for each in run.shown:
                each.end(summary)


def _number(cell: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(cell or math.nan)
        except ValueError:
            continue
    return cell


def _stamp(path: Path) -> int:
    """When a file was written; 0 where there is none."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _ended(trial: Trial) -> int:
    return _stamp(trial.folder / "summary.json")


def _played(trial: Trial) -> int:
    """The last round in the rows of a run that is gone on with; -1 where there is none."""
    try:
        return regular.data(trial.folder / "rounds.csv").count(b"\n") - 2
    except OSError:
        return -1

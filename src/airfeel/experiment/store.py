"""The folder of a run: settings, facts, rows, checkpoints, the model and a summary.

config.toml        every setting, resolved
facts.json         versions, machine, git commit
rounds.csv         one row per round
devices.csv        one row per device and round
records/           Fading and Plan of some rounds (run.record_every)
checkpoint*.safetensors   the newest State and the one before
model.safetensors  the final model, by parameter name
summary.json       written last: a run that has one is complete
"""

import hashlib
import json
import os
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import IO, Any

import tomli_w
from filelock import FileLock, Timeout
from safetensors.torch import save
from torch import Tensor

from airfeel.experiment import atomic, checkpoint, record
from airfeel.experiment.checkpoint import Checkpoint
from airfeel.experiment.config import Experiment
from airfeel.experiment.deciding import as_table, settings_that_decide
from airfeel.experiment.rows import DEVICE_COLUMNS, ROUND_COLUMNS, Row, device_lines, round_line
from airfeel.types import BadInput, Report, State

VERSION = metadata.version("airfeel")
_TABLES = ("rounds.csv", "devices.csv")
_SECONDS = 1.0  # that a row may wait for others
_LEFTOVERS = {".lock", "config.toml.part"}


def as_toml(e: Experiment) -> str:
    """The fully resolved settings as TOML; a setting that is off is left out."""
    return tomli_w.dumps(as_table(e))


def fingerprint(e: Experiment) -> str:
    """What decides a run's result, hashed: the version, and the settings that change any of it."""
    text = json.dumps([VERSION, settings_that_decide(e)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def facts() -> dict[str, Any]:
    """The machine, the packages and the commit, for the record; looked up once per process."""
    packages = ("airfeel", "torch", "numpy", "scipy")
    return {
        "versions": {"python": platform.python_version()}
        | {name: metadata.version(name) for name in packages},
        "machine": {"system": platform.platform(), "cores": os.cpu_count()},
        "commit": _commit(),
    }


def _commit() -> str | None:
    here = Path(__file__).parent
    try:
        answer = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return answer.stdout.strip() or None


def _free(folder: Path) -> bool:
    """Whether a folder holds at most what a start leaves that was cut off before its settings."""
    return folder.is_dir() and {p.name for p in folder.iterdir()} <= _LEFTOVERS


class Store:
    """Writes one run, and is its only writer.

    Rows are written by whole lines, those of a second together; a checkpoint writes all that wait.
    A new folder must be new or empty. With `resume` the folder is taken up where its newest whole
    checkpoint left it: `found` is that one, and `faults` says what was wrong with newer ones.
    `more` names the columns of rounds.csv after the usual ones.
    """

    def __init__(
        self, folder: Path, e: Experiment, *, resume: bool = False, more: Sequence[str] = ()
    ) -> None:
        self.folder = folder
        self._columns = [*ROUND_COLUMNS, *more]
        self.found: Checkpoint | None = None
        self.faults: list[str] = []
        if not resume and folder.exists() and not _free(folder):
            raise BadInput(f"--out {folder}: already holds something; name a new or empty folder")
        try:
            atomic.make_folder(folder)
            self._lock = FileLock(folder / ".lock")
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise BadInput(f"{folder}: another process is writing this run") from error
        except OSError as error:
            raise BadInput(f"--out {folder}: cannot be written ({error.strerror})") from error
        self._loose: set[Path] = set()  # written, but perhaps not on the disk yet
        try:
            self._open(e, resume)
        except OSError as error:
            self._lock.release()
            raise BadInput(f"--out {folder}: cannot be written ({error.strerror})") from error

    def go_back(self, e: Experiment) -> None:
        """To the newest whole checkpoint: what was written after it is cut off."""
        self._flush()
        for file in self._files.values():
            file.close()
        self._open(e, resume=True)

    def _open(self, e: Experiment, resume: bool) -> None:
        if resume:
            self.found, self.faults = checkpoint.newest(self.folder)
        else:
            self._begin("config.toml", as_toml(e))
        if self.found is None:
            self._begin("facts.json", json.dumps(facts(), indent=2))
        self._waiting: list[tuple[Row, Report | None, bool]] = []
        self._due = time.monotonic() + _SECONDS
        self._files = {name: self._table(name) for name in _TABLES}

    def _begin(self, name: str, text: str) -> None:
        """A file that appears in one step, and is on the disk before the first checkpoint is."""
        self._loose.add(atomic.write(self.folder / name, text.encode(), durable=False))

    def _table(self, name: str) -> IO[str]:
        """A CSV file opened at its end, cut to what the checkpoint knows or to its header."""
        path = self.folder / name
        if self.found is None:
            columns = self._columns if name == "rounds.csv" else DEVICE_COLUMNS
            path.write_text(",".join(columns) + "\n", "utf-8")
        else:
            os.truncate(path, self.found.bytes[name])
        return path.open("a", newline="", encoding="utf-8")

    def add(self, row: Row, report: Report | None = None, *, keep: bool = False) -> None:
        """Append a round; `keep` also stores its Fading and Plan."""
        self._waiting.append((row, report, keep))
        if time.monotonic() >= self._due:
            self._flush()

    def save(self, state: State, buffers: Mapping[str, Tensor]) -> None:
        """A checkpoint of everything up to now."""
        self._flush()
        sizes = {name: os.fstat(file.fileno()).st_size for name, file in self._files.items()}
        checkpoint.write(self.folder, Checkpoint(state, buffers, sizes), self._take_loose())

    def finish(self, summary: dict[str, Any], model: dict[str, Tensor]) -> None:
        """The final model, then the summary: a run that has one is complete."""
        self._flush()
        text = json.dumps(summary | facts(), indent=2, allow_nan=False) + "\n"
        last = {"model.safetensors": save(model), "summary.json": text.encode()}
        files = {self.folder / name: content for name, content in last.items()}
        atomic.write_all(files, self._take_loose())

    def _take_loose(self) -> list[Path]:
        """Files to be on the disk before the next checkpoint is; clears the list."""
        loose, self._loose = self._loose, set()
        return [path for path in (*loose, *(self.folder / n for n in _TABLES)) if path.exists()]

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as stack:  # on a full disk closing may fail; the lock goes all the same
            stack.callback(self._lock.release)
            for file in self._files.values():
                stack.callback(file.close)
            stack.callback(self._flush)

    def _flush(self) -> None:
        """Write the rounds that wait: together they cost half as much as one by one."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            reports = [(report, keep) for _, report, keep in waiting if report]
            self._append("devices.csv", [device_lines(report) for report, _ in reports])
            self._append("rounds.csv", [round_line(row, self._columns) for row, *_ in waiting])
            self._keep([report for report, keep in reports if keep])
        self._due = time.monotonic() + _SECONDS

    def _append(self, name: str, lines: list[str]) -> None:
        """Write lines in one piece."""
        self._files[name].write("".join(lines))
        self._files[name].flush()

    def _keep(self, reports: list[Report]) -> None:
        self._loose |= {record.save(self.folder, report) for report in reports}

"""The folder of a run: settings, facts, rows, checkpoints, the model and a summary.

config.toml        every setting, resolved
facts.json         versions, machine, git commit; what decides the run, and what computes it
rounds.csv         one row per round
devices.csv        one row per device and round
records/           Fading and Plan of some rounds (run.record_every)
checkpoint*.safetensors   the newest State and the one before
model.safetensors  the final model, by parameter name
summary.json       written last, with checksums: a run that has one is complete
"""

import hashlib
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from safetensors.torch import save
from torch import Tensor

from airfeel.settings.columns import ROUND_COLUMNS
from airfeel.settings.config import Experiment
from airfeel.settings.relevance import as_toml, settings_that_decide
from airfeel.storage import atomic, checkpoint, provenance, records
from airfeel.storage.checkpoint import NEWEST, PREVIOUS, Checkpoint
from airfeel.storage.checksums import ROWS, Growing
from airfeel.storage.environment import facts
from airfeel.storage.provenance import Arithmetic, Origin
from airfeel.storage.rows import DEVICE_COLUMNS, REAL_COLUMNS, Row, device_lines, round_line
from airfeel.types import BadInput, Report, State
from airfeel.version import VERSION

_SECONDS = 1.0  # that a row may wait for others
_LEFTOVERS = {".lock", "config.toml.part", "facts.json.part", "facts.json"}


def fingerprint(e: Experiment) -> str:
    """What decides a run's result, hashed: the version, and the settings that change any of it."""
    text = json.dumps([VERSION, settings_that_decide(e)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _free(folder: Path) -> bool:
    """Whether a folder holds at most what a start leaves that was cut off before its settings."""
    return folder.is_dir() and {p.name for p in folder.iterdir()} <= _LEFTOVERS


def _clear(folder: Path) -> None:
    """Delete a run but for its lock: the summary first and the settings last.

    Wherever that is cut off, what is left is an unfinished run that can be resumed.
    """
    ends = {"summary.json": -1, "config.toml": 1}
    for path in sorted(folder.iterdir(), key=lambda p: (ends.get(p.name, 0), p.name)):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != ".lock":
            path.unlink()


class Store:
    """Writes one run, and is its only writer.

    Rows are written by whole lines, those of a second together; a checkpoint writes all that wait.
    A new folder must be new or empty. With `resume` the folder is taken up where its newest whole
    checkpoint left it: `found` is that one, and `faults` says what was wrong with newer ones. It
    must be of the same settings and, unless `other` is allowed, of the same arithmetic.
    With `fresh` the run that is there is deleted, once nobody else can be writing it.
    `more` names the columns of rounds.csv after the usual ones; `here` is what computes the run.
    `real`: packets may be lost, and devices.csv says whose; `told`: further facts.
    """

    def __init__(
        self,
        folder: Path,
        e: Experiment,
        *,
        resume: bool = False,
        fresh: bool = False,
        more: Sequence[str] = (),
        here: Arithmetic | None = None,
        other: bool = False,
        real: bool = False,
        told: Mapping[str, Any] | None = None,
    ) -> None:
        self.folder = folder
        self._columns = [*ROUND_COLUMNS, *more]
        self._here, self._other = here or {}, other
        self._real, self._told = real, told or {}
        self.found: Checkpoint | None = None
        self.faults: list[str] = []
        self._beginning: Future[Path] | None = None
        self._files: dict[str, Growing] = {}
        if folder.exists() and not fresh:
            self._look(resume)
        try:
            new = {path for path in folder.parents if not path.exists()}
            folder.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(folder / ".lock")
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise BadInput(f"{folder}: another process is writing this run") from error
        except OSError as error:
            raise BadInput(f"--out {folder}: cannot be written ({error.strerror})") from error
        self._loose = {folder, *new}  # made or written, but perhaps not on the disk yet
        try:
            if fresh:
                _clear(folder)
            self._look(resume)  # again: others may have been here before the lock was taken
            self._open(e, resume)
        except OSError as error:
            self._lock.release()
            raise BadInput(f"--out {folder}: cannot be written ({error.strerror})") from error
        except BadInput:
            self._lock.release()
            raise

    def _look(self, resume: bool) -> None:
        """Refuse a folder that is not what this run may write into."""
        if resume and (self.folder / "summary.json").exists():
            raise BadInput(f"{self.folder}: is complete, there is nothing to resume")
        if not resume and not _free(self.folder):
            begun = (self.folder / "config.toml").exists()
            finished = (self.folder / "summary.json").exists()
            hint = f", or go on with `airfeel resume {self.folder}`" * (begun and not finished)
            raise BadInput(
                f"--out {self.folder}: already holds something; name a new or empty folder{hint}"
            )

    def go_back(self, e: Experiment) -> None:
        """To the newest whole checkpoint: what was written after it is cut off."""
        self._flush()
        self._begun()
        for file in self._files.values():
            file.close()
        self._files = {}
        self._open(e, resume=True)

    def _open(self, e: Experiment, resume: bool) -> None:
        if resume:
            self.found, self.faults = checkpoint.newest(self.folder)
        source = PREVIOUS if self.faults else NEWEST
        known = self._known(e, source) if resume else None
        at, past = (self.found.state.round, known) if self.found else (0, None)
        steps = provenance.gone_on(past, self._here, at, allow=self._other, folder=self.folder)
        self.origin = Origin(settings_that_decide(e), steps)
        if self.origin != past:
            self._begin(e, new=not resume)
        if resume:
            self._settings = (self.folder / "config.toml").read_bytes()
        self._waiting: list[tuple[Row, Report | None, bool]] = []
        self._due = time.monotonic() + _SECONDS
        if self.found and source == PREVIOUS:  # the next checkpoint must not push it out
            (self.folder / NEWEST).unlink(missing_ok=True)
        if resume:
            self._begun()

    def _known(self, e: Experiment, source: str) -> Origin | None:
        """What the checkpoint, or facts.json before there is one, knows of the run's origin."""
        name = source if self.found else "facts.json"
        known = self.found.origin if self.found else provenance.read(self.folder)
        if known:
            known.check(e, self.folder / name)
        else:
            self.faults.append(f"{name}: does not tell settings and backend, as older versions")
        return known

    def _begin(self, e: Experiment, new: bool) -> None:
        """Facts and settings: without them on the disk a folder is of another run.

        A new run does not wait for the disk: its first rounds are played meanwhile, and nothing
        else is written before (`_begun`).
        """
        begun = provenance.stored_facts(self.folder) if self.found else {}
        told = {**(begun or facts()), **self._told, "fingerprint": fingerprint(e)}
        told |= self.origin.as_facts()
        content = json.dumps(told, indent=2).encode()
        self._loose.add(atomic.write(self.folder / "facts.json", content, durable=not new))
        if new:
            self._settings = as_toml(e).encode()
            path, loose = self.folder / "config.toml", self._loose
            self._beginning = atomic.write_soon(path, self._settings, loose)
            self._loose = set()

    def _begun(self) -> None:
        """Wait until the settings are on the disk, and open the tables of rows."""
        try:
            if self._beginning:
                self._beginning.result()
                self._beginning = None
        except OSError as error:
            raise BadInput(f"--out {self.folder}: cannot be written ({error.strerror})") from error
        if not self._files:
            self._files = {name: self._table(name) for name in ROWS}

    @property
    def _device_columns(self) -> list[str]:
        return [*DEVICE_COLUMNS, *(REAL_COLUMNS if self._real else ())]

    def _table(self, name: str) -> Growing:
        """A CSV file opened at its end, cut to what the checkpoint knows or to its header."""
        columns = self._columns if name == "rounds.csv" else self._device_columns
        keep = self.found.bytes[name] if self.found else None
        return Growing(self.folder / name, (",".join(columns) + "\n").encode(), keep=keep)

    def add(self, row: Row, report: Report | None = None, *, keep: bool = False) -> None:
        """Append a round; `keep` also stores its Fading and Plan."""
        self._waiting.append((row, report, keep))
        if time.monotonic() >= self._due:
            self._flush()

    def save(self, state: State, buffers: Mapping[str, Tensor]) -> None:
        """A checkpoint of everything up to now."""
        self._check()
        self._flush()
        sizes = {name: file.size for name, file in self._files.items()}
        made = Checkpoint(state, buffers, sizes, self._sums(), self.origin)
        checkpoint.write(self.folder, made, self._take_loose())

    def finish(self, summary: dict[str, Any], model: dict[str, Tensor]) -> None:
        """The final model, then the summary: a run that has one is complete."""
        self._check()
        self._flush()
        parameters = save(model)
        sums = {"config.toml": _sum(self._settings), **self._sums()}
        sums["model.safetensors"] = _sum(parameters)
        told = summary | facts() | {"arithmetic": self.origin.arithmetic, "files": sums}
        text = json.dumps(told, indent=2, allow_nan=False) + "\n"
        self._loose.add(atomic.write(self.folder / "model.safetensors", parameters, durable=False))
        atomic.write(self.folder / "summary.json", text.encode(), self._take_loose())

    def _take_loose(self) -> list[Path]:
        """Files to be on the disk before the next checkpoint is; clears the list."""
        loose, self._loose = self._loose, set()
        return [*loose, *(self.folder / name for name in ROWS)]

    def _sums(self) -> dict[str, str]:
        return {name: file.checksum for name, file in self._files.items()}

    def _check(self) -> None:
        """Stop where a file was taken away or replaced: what is written now would be lost."""
        self._begun()
        faults = [file.fault() for file in self._files.values()]
        path = self.folder / "config.toml"
        if not path.is_file() or path.read_bytes() != self._settings:
            faults.append(f"{path}: was changed or removed")
        for fault in filter(None, faults):
            self._waiting.clear()
            raise BadInput(f"{fault} while the run was under way")

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as stack:  # on a full disk closing may fail; the lock goes all the same
            stack.callback(self._lock.release)
            stack.callback(self._close)
            stack.callback(self._flush)
            self._begun()

    def _close(self) -> None:
        with ExitStack() as stack:
            for file in self._files.values():
                stack.callback(file.close)

    def _flush(self) -> None:
        """Write the rounds that wait: together they cost half as much as one by one."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._begun()
            reports = [(report, keep) for _, report, keep in waiting if report]
            devices = "".join(device_lines(report, self._real) for report, _ in reports)
            rounds = "".join(round_line(row, self._columns) for row, *_ in waiting)
            self._files["devices.csv"].append(devices.encode())
            self._files["rounds.csv"].append(rounds.encode())
            self._keep([report for report, keep in reports if keep])
        self._due = time.monotonic() + _SECONDS

    def _keep(self, reports: list[Report]) -> None:
        self._loose |= {records.save(self.folder, report) for report in reports}

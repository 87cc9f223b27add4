"""The folder of a run: config.toml, rounds.csv, devices.csv, summary.json."""

import csv
import hashlib
import json
import os
import platform
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

import tomli_w

from airfeel.experiment.config import Experiment
from airfeel.experiment.rows import DEVICE_COLUMNS, ROUND_COLUMNS, Row, cells
from airfeel.types import BadInput

VERSION = metadata.version("airfeel")


def as_toml(e: Experiment) -> str:
    """The fully resolved settings as TOML; a setting that is off is left out."""
    return tomli_w.dumps(e.model_dump(mode="json", exclude_none=True))


def fingerprint(e: Experiment) -> str:
    """What decides a run's result, hashed: the version, and the settings but for places."""
    settings = e.model_dump(mode="json", exclude={"data": {"dir"}, "run": {"threads"}})
    text = json.dumps([VERSION, settings], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def facts() -> dict[str, Any]:
    """The machine and the packages, for the record."""
    packages = ("airfeel", "torch", "numpy", "scipy")
    return {
        "versions": {"python": platform.python_version()}
        | {name: metadata.version(name) for name in packages},
        "machine": {"system": platform.platform(), "cores": os.cpu_count()},
    }


class Store:
    """Writes one run. Rows are appended as they come, and reach the file at once."""

    def __init__(self, folder: Path, e: Experiment) -> None:
        self.folder = folder
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise BadInput(f"--out {folder}: already holds something; name a new or empty folder")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "config.toml").write_text(as_toml(e), "utf-8")
            self._rounds = (folder / "rounds.csv").open("w", newline="", encoding="utf-8")
            self._devices = (folder / "devices.csv").open("w", newline="", encoding="utf-8")
        except OSError as error:
            raise BadInput(f"--out {folder}: cannot be written ({error.strerror})") from error
        self._write(self._rounds, [ROUND_COLUMNS])
        self._write(self._devices, [DEVICE_COLUMNS])

    def add(self, row: Row, devices: Iterable[Row] = ()) -> None:
        self._write(self._rounds, [cells(row, ROUND_COLUMNS)])
        self._write(self._devices, [cells(d, DEVICE_COLUMNS) for d in devices])

    def finish(self, summary: dict[str, Any]) -> None:
        """The summary is written last, in one step: a run that has one is complete."""
        text = json.dumps(summary | facts(), indent=2, allow_nan=False) + "\n"
        temporary = self.folder / "summary.json.part"
        temporary.write_text(text, "utf-8")
        temporary.replace(self.folder / "summary.json")

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self._rounds.close()
        self._devices.close()

    @staticmethod
    def _write(file: Any, rows: Iterable[Iterable[str]]) -> None:
        csv.writer(file, lineterminator="\n").writerows(rows)
        file.flush()

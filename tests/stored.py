"""Folders of small finished runs, with recorded rounds, to report on."""

from pathlib import Path
from typing import Any

from airfeel.experiment import record
from airfeel.experiment.build import build
from airfeel.experiment.config import Experiment
from airfeel.experiment.runner import run
from small import play, small


def store(folder: Path, scheme: str = "tcs-h", seed: int = 0, /, **changes: dict[str, Any]) -> Path:
    """One small run in a folder of its own."""
    return store_run(folder, small(scheme, **changes, run={"seed": seed}))


def store_run(folder: Path, e: Experiment, records: int = 3) -> Path:
    run(e, folder)
    for _, _, report, _ in play(build(e), records):
        record.save(folder, report)
    return folder


def store_some(folder: Path) -> Path:
    """Three schemes, two seeds each, in one folder."""
    for scheme in ("tcs-h", "top-k", "fedavg"):
        for seed in (0, 1):
            store(folder / f"{scheme}-{seed}", scheme, seed)
    return folder

"""Folders of small finished runs, with recorded rounds, to report on."""

import json
from pathlib import Path
from typing import Any

from airfeel.runs.runner import run
from small import small


def store(folder: Path, scheme: str = "tcs-h", seed: int = 0, /, **changes: dict[str, Any]) -> Path:
    """One small run of 12 rounds in a folder of its own; rounds 4, 8 and 12 are recorded."""
    run(small(scheme, **changes, run={"seed": seed, "record_every": 4}), folder)
    return folder


def unsealed(folder: Path) -> Path:
    """A finished run as older versions left it, without checksums, so that it may be changed."""
    path = folder / "summary.json"
    summary = json.loads(path.read_text("utf-8"))
    del summary["files"]
    path.write_text(json.dumps(summary), "utf-8")
    return folder


def store_some(folder: Path) -> Path:
    """Three schemes, two seeds each, in one folder."""
    for scheme in ("tcs-h", "top-k", "fedavg"):
        for seed in (0, 1):
            store(folder / f"{scheme}-{seed}", scheme, seed)
    return folder

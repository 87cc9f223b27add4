"""Recorded rounds as a page shows them: the sky, who owns which sub-channel, powers, reasons."""

import base64
from pathlib import Path

import numpy as np

from airfeel.analysis.groups import Groups
from airfeel.reports import Json
from airfeel.storage import records
from airfeel.storage.records import Record
from airfeel.types import Reason

ROUNDS = 200  # at most so many on a page
_BYTES = 2_500_000  # and at most about so much text


def recorded(groups: Groups) -> list[dict[str, Json]]:
    """The recorded rounds of each run, thinned evenly where there are too many for a page."""
    files = [
        (f"{label}, seed {run.experiment.run.seed}", records.paths(run.folder))
        for label, runs in groups.items()
        for run in runs
        if run.folder is not None
    ]
    files = [(name, paths) for name, paths in files if paths]
    if not files:
        return []
    size = max(len(_base64(records.read(paths[0]).fading.gain)) for _, paths in files)
    limit = min(ROUNDS, max(_BYTES // (2 * size), 1))
    if len(files) > limit:
        files = [files[i] for i in np.linspace(0, len(files) - 1, limit).round().astype(int)]
    share = limit // len(files)
    return [
        {
            "run": name,
            "of": len(paths),
            "rounds": [_pack(records.read(p)) for p in _even(paths, share)],
        }
        for name, paths in files
    ]


def _even(items: list[Path], limit: int) -> list[Path]:
    """At most `limit` of the items, evenly, the last one always."""
    if len(items) <= limit:
        return items
    return [items[i] for i in np.linspace(len(items) - 1, 0, limit).round().astype(int)[::-1]]


def _pack(r: Record) -> dict[str, Json]:
    """One round; arrays of numbers are base64 of float32 in C order."""
    plan, reasons = r.plan, list(Reason)
    n, m = r.fading.gain.shape
    owner = plan.owner
    held = np.where(owner >= 0, plan.power[owner, np.arange(m)], 0.0)  # [G M]
    return {
        "round": r.round,
        "noise": r.fading.noise,
        "devices": n,
        "subchannels": m,
        "gain": _base64(r.fading.gain),
        "owner": owner.tolist(),
        "power": _base64(held),
        "batch": plan.batch.tolist(),
        "rate": _base64(plan.rate),
        "needed": _base64(plan.needed),
        "budget": _base64(plan.budget),
        "reason": [reasons.index(reason) for reason in plan.reason],
        "slots": [plan.slots_air, plan.slots_digital],
        "scalar": plan.scalar,
        "truth": None if r.fading.truth is None else _base64(r.fading.truth),
        "lost": [] if r.lost is None else np.flatnonzero(r.lost).tolist(),
        "tries": [] if r.tries is None else r.tries.tolist(),
    }


def _base64(values: np.ndarray) -> str:
    return base64.b64encode(values.astype("<f4").tobytes()).decode()

"""Fading and Plan of some rounds, one safetensors file each: records/round-000010.safetensors."""

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from jaxtyping import Bool, Int64
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from airfeel import regular
from airfeel.radio.impairments.packets import attempts
from airfeel.storage import atomic
from airfeel.types import BadInput, Fading, Plan, Reason, Report

_T = TypeVar("_T")
_FOLDER = "records"
_SHAPES = {"gain": "NM", "power": "NM", "owner": "GM"} | dict.fromkeys(
    ("active", "batch", "rate", "needed", "budget"), "N"
)
_MAYBE = dict.fromkeys(("amplitude", "share", "truth", "air", "silent"), "NM") | dict.fromkeys(
    ("most_tries", "tries", "lost", "mean2", "reporting"), "N"
)  # in rounds that have them
_SKY = ("truth", "air", "silent", "mean2")
_LATER = ("side",)  # facts that came later: left out while they are 0


@dataclass(frozen=True)
class Record:
    """One recorded round: the sky, and what was planned under it."""

    round: int
    fading: Fading
    plan: Plan
    tries: Int64[np.ndarray, "N"] | None = None  # how often packets were sent; None: each once
    lost: Bool[np.ndarray, "N"] | None = None  # whose was lost all the same; None: nobody's


def save(folder: Path, report: Report) -> Path:
    """Keep a round's Fading and Plan in the run's folder.

    The disk is not waited for: a power cut may take the file, unless it is synced later.
    """
    plan = {f.name: getattr(report.plan, f.name) for f in dataclasses.fields(report.plan)}
    plan |= {"gain": report.fading.gain} | {name: getattr(report.fading, name) for name in _SKY}
    if all(plan[name] is None for name in ("truth", "air", "silent")):
        del plan["mean2"]  # an ideal sky: its settings tell
    if report.fading.truth is not None:
        plan["tries"], plan["lost"] = attempts(report.fading, report.plan)
    arrays = {k: v for k, v in plan.items() if k in _SHAPES or (k in _MAYBE and v is not None)}
    facts = {k: _null(v) for k, v in plan.items() if k not in _SHAPES | _MAYBE}
    facts = {k: v for k, v in facts.items() if v or k not in _LATER}
    facts |= {"round": report.round, "noise": report.fading.noise}
    path = folder / _FOLDER / f"round-{report.round:06d}.safetensors"
    data = to_bytes(
        {k: np.ascontiguousarray(v) for k, v in arrays.items()}, {"record": json.dumps(facts)}
    )
    try:
        return atomic.write(path, data, durable=False)
    except FileNotFoundError:  # the first one
        path.parent.mkdir()
        return atomic.write(path, data, durable=False)


def paths(folder: Path) -> list[Path]:
    """The files of a run's recorded rounds, in their order."""
    return sorted((folder / _FOLDER).glob("round-*.safetensors"), key=lambda p: (len(p.name), p))


def read(path: Path) -> Record:
    """A recorded round from its file."""
    try:
        with safe_open(regular.check(path), framework="np") as file:
            facts = json.loads(file.metadata()["record"])
            stored = [name for name in _MAYBE if name in file.keys()]  # noqa: SIM118
            arrays = {name: file.get_tensor(name) for name in (*_SHAPES, *stored)}
        _check(arrays, facts["reason"])
        sky = {name: arrays.pop(name, None) for name in _SKY}
        fading = Fading(arrays.pop("gain"), facts.pop("noise"), **sky)
        met = arrays.pop("tries", None), arrays.pop("lost", None)
        number, reasons = facts.pop("round"), tuple(Reason(r) for r in facts.pop("reason"))
        facts = {k: v for k, v in facts.items() if v is not None}  # null is the field's default
        return Record(number, fading, Plan(reason=reasons, **arrays, **facts), *met)
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{path}: is not a recorded round that can be read ({error})") from error


def _check(arrays: dict[str, np.ndarray], reasons: Sequence[str]) -> None:
    """Refuse arrays that do not belong together."""
    (n, m), groups = arrays["gain"].shape, len(arrays["owner"])
    size = {"N": n, "M": m, "G": groups}
    for name, letters in (_SHAPES | _MAYBE).items():
        if name in arrays and arrays[name].shape != tuple(size[letter] for letter in letters):
            raise ValueError(f"{name} has shape {arrays[name].shape}")
    if len(reasons) != n:
        raise ValueError(f"{len(reasons)} reasons for {n} devices")
    if groups and m and not (arrays["owner"].min() >= -1 and arrays["owner"].max() < n):
        raise ValueError("owner names a device that is not there")


def _null(value: _T) -> _T | None:
    return None if isinstance(value, float) and math.isnan(value) else value

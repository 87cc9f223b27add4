"""Kernels that a wheel brings along: a library for each level of x86-64, chosen by this CPU.

They are believed as the package's Python files beside them are. One that is cut short or belongs to
other sources is not used: kernels are then compiled, as they are in a source checkout.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from airfeel.errors import BadInput
from airfeel.kernel_cache import warn
from airfeel.kernel_sources import FOLDER, LEVELS, MANIFEST, library, sources

CHOICE = "AIRFEEL_KERNELS"  # environment: a level by its name, or COMPILED; unset: the best level
COMPILED = "compiled"


@dataclass(frozen=True)
class Prebuilt:
    """A library that came with the package, for a level of x86-64."""

    path: Path
    level: str
    digest: str  # its level, and the beginning of its SHA-256


def find(folder: Path, flags: Sequence[str]) -> Prebuilt | None:
    """The library of a kernel that serves this CPU best; None where there is none to be used.

    folder: the kernel's sources; flags: those of its compiler, but for the level.
    """
    wanted = os.environ.get(CHOICE) or None
    if wanted == COMPILED:
        return None
    manifest = _manifest(folder, flags)
    level = _chosen(wanted, levels(), [*manifest])
    if level is None:
        return None
    path = library(folder, level)
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        found = str(error.strerror)
    if found != manifest[level]:
        warn(f"{path} is not what its manifest says: kernels are compiled instead")
        return None
    return Prebuilt(path, level, f"{level}-{found[:12]}")


def levels() -> tuple[str, ...]:
    """The levels of this CPU, the best last; none where it is not an x86 or does not say."""
    try:
        return levels_in(Path("/proc/cpuinfo").read_text(errors="replace"))
    except OSError:
        return ()


def levels_in(cpuinfo: str) -> tuple[str, ...]:
    """The levels that all cores of a /proc/cpuinfo have.

    >>> levels_in("flags : fpu cx16 lahf_lm pni popcnt sse4_1 sse4_2 ssse3 avx")
    ('x86-64-v2',)
    """
    lines = [line for line in cpuinfo.splitlines() if line.startswith("flags")]
    common = set.intersection(*(set(line.split()) for line in lines)) if lines else set()
    having: list[str] = []
    for level, needed in LEVELS.items():
        if not needed <= common:
            break
        having.append(level)
    return tuple(having)


def _chosen(wanted: str | None, here: Sequence[str], brought: Sequence[str]) -> str | None:
    """The level to use: the one asked for, or the best that is both here and brought along."""
    both = [level for level in here if level in brought]
    if wanted is None or wanted in both:
        return wanted or (both[-1] if both else None)
    legal = ", ".join([*both, COMPILED])
    raise BadInput(f"${CHOICE} = {wanted!r}: must be one of {legal} here, or unset")


def _manifest(folder: Path, flags: Sequence[str]) -> dict[str, str]:
    """SHA-256 of each library by its level; empty where they are not of these sources and flags."""
    try:
        said = json.loads((folder / FOLDER / MANIFEST).read_text("utf-8"))
        if said["sources"] == sources(folder) and said["flags"] == [*flags]:
            return {level: str(said["sha256"][level]) for level in LEVELS}
    except FileNotFoundError:  # a source checkout, or a wheel for any machine
        return {}
    except (OSError, ValueError, LookupError, TypeError):
        pass
    warn(f"{folder / FOLDER} was not built from {folder}: kernels are compiled instead")
    return {}

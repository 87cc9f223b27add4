"""What a kernel is built from, and how, also for a wheel that brings its kernels along.

A wheel's kernels lie in `prebuilt/` beside their sources: a library for each level of x86-64, and
`manifest.json` with what they were built from and their SHA-256. Only the standard library is
imported here: whoever builds a wheel needs nothing else.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

FLAGS = (
    *("-std=c++17", "-O3", "-fPIC", "-shared", "-fvisibility=hidden"),
    *("-fno-math-errno", "-fno-trapping-math"),
)
FUSED = ("-ffp-contract=fast",)  # a·b + c may round once: faster, and its own last digit
AS_WRITTEN = ("-ffp-contract=off",)  # every operation rounds by itself, as NumPy's do
# Packages with a folder `native`.
KERNELS = {"training": FUSED, "compression": FUSED, "radio": AS_WRITTEN}

# What a CPU must have, in Linux's words: the x86-64 psABI's levels, each on top of the one before.
LEVELS = {
    "x86-64-v2": frozenset(["cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3"]),
    "x86-64-v3": frozenset(["abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"]),
    "x86-64-v4": frozenset(["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]),
}
FOLDER, MANIFEST = "prebuilt", "manifest.json"


def make(
    folder: Path, to: Path, flags: Sequence[str], compile: Callable[[list[str], Path], None]
) -> None:
    """Build a kernel for every level, with a manifest; `compile(flags, path)` writes a library.

    folder: its sources; to: the folder of the package that the wheel is made from.
    """
    sums = {}
    for level in LEVELS:
        path = library(to, level)
        path.parent.mkdir(parents=True, exist_ok=True)
        compile([*flags, f"-march={level}"], path)
        path.chmod(0o644)
        sums[level] = hashlib.sha256(path.read_bytes()).hexdigest()
    said = {"sources": sources(folder), "flags": [*flags], "sha256": sums}
    (to / FOLDER / MANIFEST).write_text(json.dumps(said, indent=1) + "\n", "utf-8")


def sources(folder: Path) -> str:
    """Names what stands in a kernel's sources."""
    digest = hashlib.sha256()
    for path in sorted([*folder.glob("*.hpp"), *folder.glob("*.cpp")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def library(folder: Path, level: str) -> Path:
    """Where the library of a level lies, beside a kernel's sources."""
    return folder / FOLDER / f"{level}.so"

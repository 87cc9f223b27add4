"""Kernels in C++: compiled on first use into a cache of the user's, never into the source tree.

A kernel is a folder with a `kernel.cpp` and headers beside it, called through ctypes.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

FLAGS = (
    *("-std=c++17", "-O3", "-fPIC", "-shared", "-fvisibility=hidden"),
    *("-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast"),
)
TUNING = (("-march=native",), ("-mcpu=native",), ())  # the first that the compiler accepts
TIMEOUT = 300  # seconds


class BuildError(RuntimeError):
    """A kernel cannot be compiled or loaded here; the message says why, in one line."""


@cache
def library(folder: Path) -> ctypes.CDLL:
    """The kernel in `folder`, loaded; compiles it if the cache has none for this machine."""
    path = build(folder, cache_directory())
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise BuildError(f"cannot load {path}: {error}") from error


@cache
def library_if_any(folder: Path) -> ctypes.CDLL | None:
    """The same, or None where it cannot be had and something slower must do."""
    try:
        return library(folder)
    except BuildError:
        return None


def build(folder: Path, directory: Path, extra: tuple[str, ...] = ()) -> Path:
    """Path of the shared library in `directory` for this compiler, these sources and this CPU.

    extra: further compiler flags, such as a sanitizer's.
    """
    compiler = find_compiler()
    flags = (*FLAGS, *tuning(compiler), *extra)
    path = directory / f"airfeel-{_key(folder, compiler, flags)}.so"
    if not path.exists():
        _compile(folder, compiler, flags, path)
    return path


def find_compiler() -> str:
    """$CXX, or the first of c++, g++ and clang++ on the path."""
    wanted = os.environ.get("CXX")
    for name in (wanted,) if wanted else ("c++", "g++", "clang++"):
        found = shutil.which(name)
        if found:
            return found
    missing = f"$CXX = {wanted!r} is not a program" if wanted else "none of c++, g++, clang++ found"
    raise BuildError(f"no C++ compiler: {missing}")


def cache_directory() -> Path:
    """Where compiled kernels are kept: $XDG_CACHE_HOME/airfeel/native, or under ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "airfeel" / "native"


def _compile(folder: Path, compiler: str, flags: tuple[str, ...], path: Path) -> None:
    """Compile to a name of its own, then rename: a half-written library is never seen, and when two
    processes build at once the later one replaces the earlier one's with the same."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="building-") as scratch:
            made = Path(scratch) / path.name
            _run([compiler, *flags, str(folder / "kernel.cpp"), "-o", str(made)])
            made.replace(path)
    except OSError as error:
        raise BuildError(f"cannot write to {path.parent}: {error}") from error


@cache
def tuning(compiler: str) -> tuple[str, ...]:
    """Flags that let the compiler use all that this CPU can do."""
    for flags in TUNING:
        trial = [compiler, *flags, "-x", "c++", "-fsyntax-only", os.devnull]
        if subprocess.run(trial, capture_output=True, check=False).returncode == 0:
            return flags
    raise BuildError(f"{compiler} cannot compile an empty file")


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{command[0]}: {error}") from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        first = next((line for line in lines if "error" in line), lines[-1])
        raise BuildError(f"{command[0]} failed: {first}")
    return done.stdout


def _key(folder: Path, compiler: str, flags: tuple[str, ...]) -> str:
    """Names a build: whatever changes the library changes the key."""
    digest = hashlib.sha256()
    for part in (_version(compiler), *flags, platform.machine(), _cpu_features()):
        digest.update(part.encode() + b"\0")
    for path in sorted([*folder.glob("*.hpp"), *folder.glob("*.cpp")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:24]


@cache
def _version(compiler: str) -> str:
    return _run([compiler, "--version"])


@cache
def _cpu_features() -> str:
    """What this CPU can do: a cache on a shared home directory serves different machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    wanted = ("flags", "Features", "CPU part", "model name")
    return "\n".join(sorted({line for line in lines if line.startswith(wanted)}))

"""Kernels in C++: brought along by a wheel, or compiled on first use into a cache of the user's.

A kernel is a folder with a `kernel.cpp` and headers beside it, called through ctypes: `Kernel` is
the one door to all of them, `Numbers` the one way in which an array goes through it.
"""

import ctypes
import hashlib
import os
import platform
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike

from airfeel import kernel_cache, prebuilt
from airfeel.kernel_sources import AS_WRITTEN as AS_WRITTEN
from airfeel.kernel_sources import FLAGS
from airfeel.kernel_sources import FUSED as FUSED

TUNING = (("-march=native",), ("-mcpu=native",), ())  # the first that the compiler accepts
TIMEOUT = 300.0  # [s] for a kernel
ANSWER = 30.0  # [s] for a compiler to say what it is
_reference, _view = ctypes.byref, ctypes.c_char.from_buffer  # looked up once: calls are many


class BuildError(RuntimeError):
    """A kernel cannot be compiled or loaded here; the message says why, in one line."""


@runtime_checkable
class Tensor(Protocol):
    """What is asked of a tensor; of PyTorch itself nothing is known here."""

    def data_ptr(self) -> int: ...


class Numbers:
    """An argument type of ctypes: where the numbers of an array or a tensor lie.

    dtype: what the kernel reads; an array of other numbers or layout is copied first. None: any.
    written: the kernel writes there too, so that a copy would be lost: such an array is refused.

    Type and layout of a tensor are its caller's to check.
    """

    def __init__(self, dtype: DTypeLike | None, *, written: bool = False) -> None:
        self._dtype = None if dtype is None else np.dtype(dtype)
        self._written = written

    def from_param(self, array: np.ndarray | Tensor) -> object:
        """What ctypes passes on; it keeps the array, or its copy, alive during the call."""
        if not isinstance(array, np.ndarray):
            return ctypes.c_void_p(array.data_ptr())
        if self._dtype is None or array.dtype is self._dtype:
            try:  # costs a fifth of `array.ctypes`
                return _reference(_view(array.data))
            except (TypeError, ValueError):  # read-only, empty or not contiguous
                pass
        same = np.ascontiguousarray(array, self._dtype)
        if self._written and not (same is array and array.flags.writeable):
            raise TypeError(f"{array.dtype} with strides {array.strides}: cannot be written to")
        return same.ctypes.data_as(ctypes.c_void_p)


COUNT, REAL = ctypes.c_int64, ctypes.c_double
_Number = type[ctypes.c_int] | type[ctypes.c_int64] | type[ctypes.c_float] | type[ctypes.c_double]
Signature = tuple[_Number | None, tuple[Numbers | _Number, ...]]  # result, arguments


class Kernel:
    """A compiled library: `kernel["fill"](…)` calls its function `airfeel_fill`.

    folder: its sources; flags: FUSED or AS_WRITTEN; signatures: of its functions.
    """

    def __init__(
        self, folder: Path, flags: tuple[str, ...], signatures: Mapping[str, Signature]
    ) -> None:
        self.folder, self.flags, self.signatures = folder, flags, signatures

    @cached_property
    def missing(self) -> str | None:
        """Why the kernel cannot be had here, None where it can; the first to ask builds it."""
        try:
            _ = self._functions
        except BuildError as error:
            return str(error)
        return None

    @cached_property
    def digest(self) -> str | None:
        """Names what it computes: sources, compiler and flags, or the wheel's; None: none."""
        if self.missing is not None:
            return None
        if self._ready is not None:
            return self._ready.digest
        sources = sorted([*self.folder.glob("*.hpp"), *self.folder.glob("*.cpp")])
        said = "\0".join((_version(find_compiler()), *FLAGS, *self.flags)).encode()
        return hashlib.sha256(b"\0".join([said, *map(Path.read_bytes, sources)])).hexdigest()[:12]

    def __getitem__(self, name: str) -> Callable[..., float]:
        return self._functions[name]

    @cached_property
    def _ready(self) -> prebuilt.Prebuilt | None:
        return prebuilt.find(self.folder, (*FLAGS, *self.flags))

    @cached_property
    def _functions(self) -> dict[str, Callable[..., float]]:
        ready = self._ready
        path = ready.path if ready else build(self.folder, cache_directory(), self.flags)
        try:
            library = ctypes.CDLL(str(path))
        except OSError as error:
            raise BuildError(f"cannot load {path}: {error}") from error
        functions: dict[str, Callable[..., float]] = {}
        for name, (result, arguments) in self.signatures.items():
            function: Any = library[f"airfeel_{name}"]
            function.restype = result
            function.argtypes = arguments
            functions[name] = function
        return functions


def build(folder: Path, directory: Path, extra: tuple[str, ...] = ()) -> Path:
    """Path of the shared library for this compiler, these sources and this CPU.

    directory: where it is kept, or looked for, if nobody else can write there.
    extra: further compiler flags, such as FUSED.
    """
    compiler = find_compiler()
    flags = (*FLAGS, *extra, *tuning(compiler))
    key = _key(folder, compiler, flags)
    source = str(folder / "kernel.cpp")
    try:
        directory = kernel_cache.private(directory)
        return kernel_cache.find(directory, key) or kernel_cache.keep(
            directory, key, lambda to: _compile([compiler, *flags, source, "-o", str(to)])
        )
    except OSError as error:
        raise BuildError(f"cannot write to {directory}: {error}") from error


def _compile(command: list[str]) -> None:
    kernel_cache.warn("compiling the kernels, once (some seconds)")
    _ask(command, TIMEOUT)


def find_compiler() -> str:
    """$CXX, or the first of c++, g++ and clang++ on the path."""
    wanted = os.environ.get("CXX")
    for name in (wanted,) if wanted else ("c++", "g++", "clang++"):
        path = shutil.which(name)
        if path:
            return path
    missing = f"$CXX = {wanted!r} is not a program" if wanted else "none of c++, g++, clang++ found"
    raise BuildError(f"no C++ compiler: {missing}")


def cache_directory() -> Path:
    """Where compiled kernels are kept: $XDG_CACHE_HOME/airfeel/native, or under ~/.cache."""
    try:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # a user without a home
        base = Path(tempfile.gettempdir())
    return base / "airfeel" / "native"


def tuning(compiler: str) -> tuple[str, ...]:
    """Flags that let the compiler use all that this CPU can do."""
    return _tuned(compiler)[0]


@cache
def _tuned(compiler: str) -> tuple[tuple[str, ...], str]:
    """These flags, and what the compiler then takes for granted, as macros: AVX2, NEON, …"""
    for flags in TUNING:
        trial = [compiler, *flags, "-dM", "-E", "-x", "c++", os.devnull]
        with suppress(_Refused):
            return flags, _ask(trial, ANSWER)
    raise BuildError(f"{compiler} cannot compile an empty file")


class _Refused(BuildError):
    """The compiler ran and objected."""


_silent: set[str] = set()  # compilers that did not come to an end: they are not asked again


def _ask(command: list[str], seconds: float) -> str:
    """What a compiler prints; it and all that it started are ended when the time is over."""
    compiler = command[0]
    if compiler in _silent:
        raise BuildError(f"{compiler} did not come to an end")
    try:
        status, out, err = _run(command, seconds)
    except subprocess.TimeoutExpired as error:
        _silent.add(compiler)
        raise BuildError(f"{compiler} did not come to an end in {seconds:g} s") from error
    except OSError as error:
        raise BuildError(f"{compiler}: {error}") from error
    if status:
        lines = (err or out).strip().splitlines() or ["no message"]
        first = next((line for line in lines if "error" in line), lines[-1])
        raise _Refused(f"{compiler} failed: {first}")
    return out


def _run(command: list[str], seconds: float) -> tuple[int, str, str]:
    """Exit status, stdout and stderr; TimeoutExpired after so many seconds."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # a compiler starts others, which are ended with it
    ) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        except BaseException:  # also Ctrl-C, which does not reach another session
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, out, err


def _key(folder: Path, compiler: str, flags: tuple[str, ...]) -> str:
    """Names a build: whatever changes the library changes the key."""
    digest = hashlib.sha256()
    for part in (_version(compiler), *flags, platform.machine(), _cpu(compiler)):
        digest.update(part.encode() + b"\0")
    for path in sorted([*folder.glob("*.hpp"), *folder.glob("*.cpp")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:24]


@cache
def _version(compiler: str) -> str:
    return _ask([compiler, "--version"], ANSWER)


@cache
def _cpu(compiler: str) -> str:
    """What this CPU can do: a cache on a shared home directory serves different machines.

    The compiler says it everywhere; Linux adds the model, by which code is tuned too.
    """
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = [f"model name: {platform.processor()}"]
    wanted = ("flags", "Features", "CPU part", "model name")
    known = sorted({line for line in lines if line.startswith(wanted)})
    return "\n".join([*known, _tuned(compiler)[1]])

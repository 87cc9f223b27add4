"""Where compiled libraries are kept: a directory of this user's, each library named by its digest.

To load a library is to run it. One is loaded only if nobody else can have written it, and if it is
what the compiler wrote: a library that is cut short, altered or planted is built again.
"""

import atexit
import hashlib
import logging
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

_OTHERS = stat.S_IWGRP | stat.S_IWOTH  # may be written by others than the owner
_UNUSED = 60 * 86400.0  # [s] after which a library of another version or machine is removed
_ABANDONED = 3600.0  # [s]; no build takes that long
_TOUCHED = 86400.0  # [s] between two notes that a library is in use
BUILDING = "building-"  # begins the names of folders in which something is being built


def private(directory: Path) -> Path:
    """The directory, made if it is missing, or another one where others can write to this one.

    A directory of ours that others may write to is closed to them; whatever they may have put there
    is not believed, see `find`. Where that cannot be, a directory for temporary files takes its
    place, and one warning says so.
    """
    fault = _open(directory)
    if not fault:
        return directory
    another = Path(tempfile.gettempdir()) / f"airfeel-native-{_me()}"
    if _open(another):
        another = _passing()
    warn(f"{directory}: {fault}; compiled kernels are kept in {another} instead")
    return another


def find(directory: Path, key: str) -> Path | None:
    """The library of that key, None if there is none that can be believed; others are removed."""
    for path in sorted(directory.glob(f"airfeel-{key}-*.so")):
        try:
            if _ours(path) and path.name == _name(key, path):
                _note_use(path)
                return path
            path.unlink()
        except OSError:  # gone, or not to be removed: not to be believed either
            continue
    return None


def keep(directory: Path, key: str, compile: Callable[[Path], object]) -> Path:
    """What `compile` writes to the path that it is given, under its name; leftovers are removed.

    It appears whole, by a rename. Two processes that build at once leave the same.
    """
    tidy(directory)
    with tempfile.TemporaryDirectory(dir=directory, prefix=BUILDING) as scratch:
        built = Path(scratch) / "built.so"
        compile(built)
        built.chmod(0o700)
        path = directory / _name(key, built)
        built.replace(path)
    return path


def tidy(directory: Path) -> None:
    """Remove what builds that were killed left behind, and libraries that nobody uses any more."""
    for path in _older(directory, f"{BUILDING}*", _ABANDONED):
        shutil.rmtree(path, ignore_errors=True)
    for path in _older(directory, "airfeel-*", _UNUSED):
        with suppress(OSError):
            path.unlink()


def _open(directory: Path) -> str:
    """Make or mend the directory; why it cannot be used, empty if it can."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(mode=0o700, exist_ok=True)
        real = directory.resolve()
        found = real.stat()
        if os.name != "posix":
            return ""
        if found.st_uid != _me():
            return f"belongs to user {found.st_uid}, not to {_me()}"
        if found.st_mode & _OTHERS:
            if real != directory.absolute():
                return "others may write to it"
            real.chmod(0o700)
    except OSError as error:
        return f"cannot be used ({error.strerror})"
    return next((f"everybody may rename what is in {p}" for p in real.parents if _loose(p)), "")


def _loose(folder: Path) -> bool:
    """Whether anybody can put another folder in the place of one that is in this."""
    mode = folder.stat().st_mode
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


def _me() -> int:
    return os.getuid() if os.name == "posix" else 0


@cache
def _passing() -> Path:
    """A directory that this process makes and removes."""
    path = Path(tempfile.mkdtemp(prefix="airfeel-native-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def _ours(path: Path) -> bool:
    """Whether a file is a plain one that nobody else can have written."""
    found = path.lstat()
    if os.name != "posix":
        return stat.S_ISREG(found.st_mode)
    return stat.S_ISREG(found.st_mode) and found.st_uid == _me() and not found.st_mode & _OTHERS


def _name(key: str, path: Path) -> str:
    """The name that a library has by its key and its content."""
    with path.open("rb") as stream:
        return f"airfeel-{key}-{hashlib.file_digest(stream, 'sha256').hexdigest()[:32]}.so"


def _note_use(path: Path) -> None:
    if time.time() - path.stat().st_mtime > _TOUCHED:
        with suppress(OSError):
            os.utime(path)


def _older(directory: Path, pattern: str, seconds: float) -> Iterator[Path]:
    """What was not touched for so long."""
    for path in directory.glob(pattern):
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime > seconds:
                yield path


@cache
def warn(text: str) -> None:
    """Log a line, the first time that it is said."""
    logging.getLogger("airfeel").warning(text)

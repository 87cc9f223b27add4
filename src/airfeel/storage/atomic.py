"""Files that appear in one step: whole, or not at all."""

import os
from collections.abc import Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

_WAITS = 16  # for the disk at a time


def write(
    path: Path, content: bytes | memoryview, loose: Iterable[Path] = (), *, durable: bool = True
) -> Path:
    """Write a file in one step, and return its path: the old one stays whole until the new one is.

    Args:
        path: of the file.
        content: all of it.
        loose: files and folders that may not be on the disk yet: they are, under their names,
            before the file appears.
        durable: wait until all is on the disk. Otherwise a power cut may take the file away.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(content)
        if durable:
            loose = set(loose)
            _sync({part, *loose, *(each.parent for each in loose)})
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    if durable:
        _sync({path.parent})
    return path


def write_soon(path: Path, content: bytes, loose: Iterable[Path] = ()) -> "Future[Path]":
    """The same while the caller goes on; what builds on the file waits for the result."""
    pool = ThreadPoolExecutor(1)
    try:
        return pool.submit(write, path, content, loose)
    finally:
        pool.shutdown(wait=False)


def _sync(paths: Collection[Path]) -> None:
    """Wait until files or folders are on the disk; side by side, since they share its journal."""
    if len(paths) == 1:
        _sync_one(*paths)
    else:
        with ThreadPoolExecutor(_WAITS) as pool:
            list(pool.map(_sync_one, paths))


def _sync_one(path: Path) -> None:
    if path.is_dir() and (os.name != "posix" or not os.access(path, os.R_OK)):
        return  # a folder that cannot be opened cannot be waited for
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

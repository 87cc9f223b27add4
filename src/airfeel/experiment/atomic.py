"""Files that appear in one step: whole, or not at all."""

import os
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

_WAITS = 4  # for the disk at a time


def write(path: Path, content: bytes | memoryview, *, durable: bool = True) -> Path:
    """Write one file, as `write_all` does; returns its path."""
    write_all({path: content}, durable=durable)
    return path


def write_all(
    files: Mapping[Path, bytes | memoryview], loose: Iterable[Path] = (), *, durable: bool = True
) -> None:
    """Write files in their order, each in one step: the old one stays whole until the new one is.

    Args:
        files: the content of each file. The last one is there only if all others are.
        loose: files written before that may not be on the disk yet: they are, under their names,
            before any of `files` appears.
        durable: wait until all is on the disk. Otherwise a power cut may take the files away.
    """
    parts = {path: path.with_name(f"{path.name}.part") for path in files}
    loose, names = list(loose), list(files)
    try:
        for path, part in parts.items():
            part.write_bytes(files[path])
        if durable:
            _sync({*loose, *parts.values(), *_folders(loose)})
        for path in names:
            if durable and path == names[-1] != names[0]:
                _sync(_folders(names))
            os.replace(parts[path], path)
    except BaseException:
        for part in parts.values():
            part.unlink(missing_ok=True)
        raise
    if durable:
        _sync(_folders(names))


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it where they are missing; a power cut leaves them."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for path in _folders(missing or [folder]):
        with suppress(PermissionError):  # one may write below a folder that one may not read
            _sync_one(path)


def _folders(paths: Iterable[Path]) -> set[Path]:
    """Where the names of files are kept, if that can be waited for."""
    return {path.parent for path in paths} if os.name == "posix" else set()


def _sync(paths: Collection[Path]) -> None:
    """Wait until files or folders are on the disk; side by side, since they share its journal."""
    if len(paths) == 1:
        _sync_one(*paths)
    elif paths:
        with ThreadPoolExecutor(_WAITS) as pool:
            list(pool.map(_sync_one, paths))


def _sync_one(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

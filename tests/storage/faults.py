"""Disks that lie and writers that are careless: what the simulator must find."""

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from cuts import Verdict, storm
from disk import Link, Operation, Sync
from scenarios import scenario

from airfeel.storage import atomic

Spoil = Callable[[Sequence[Operation]], list[Operation]]
_REAL = atomic.write


def carry_out(name: str, how: str = "nothing", share: float = 1.0, most: int = 20) -> Verdict:
    """Cut the power of a scenario on a disk, or with a writer, of the given fault."""
    spoil, careless = _WAYS[how]
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # no real disk is waited for
    with careless(), TemporaryDirectory(dir=memory) as folder:
        return storm(scenario(name), Path(folder), spoil, share, most)


def _no_sync(log: Sequence[Operation]) -> list[Operation]:
    """The disk says that all is safe, and has done nothing."""
    return [op for op in log if not isinstance(op, Sync)]


def _no_folder_is_synced(log: Sequence[Operation]) -> list[Operation]:
    """Contents are safe, names never."""
    folders = {0} | {op.node for op in log if isinstance(op, Link) and op.is_folder}
    return [op for op in log if not (isinstance(op, Sync) and op.node in folders)]


def _in_place(
    path: Path, content: bytes | memoryview, loose: Iterable[Path] = (), *, durable: bool = True
) -> Path:
    """Write over the old file, and wait for the disk afterwards."""
    path.write_bytes(content)
    atomic._sync([path, path.parent, *loose, *(each.parent for each in loose)])
    return path


def _alone(
    path: Path, content: bytes | memoryview, loose: Iterable[Path] = (), *, durable: bool = True
) -> Path:
    """Wait for the file itself, and not for what it builds on."""
    return _REAL(path, content, durable=durable)


def _writer(write: Callable[..., Path]) -> Callable[[], AbstractContextManager[object]]:
    return lambda: mock.patch.object(atomic, "write", write)


_WAYS: dict[str, tuple[Spoil, Callable[[], AbstractContextManager[object]]]] = {
    "nothing": (list, nullcontext),
    "no sync": (_no_sync, nullcontext),
    "no folder is synced": (_no_folder_is_synced, nullcontext),
    "in place": (list, _writer(_in_place)),
    "alone": (list, _writer(_alone)),
}

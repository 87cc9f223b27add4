"""Listens to what a program does to the files of one folder, and writes a log of it."""

import builtins
import io
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import IO, Any
from unittest import mock

from disk import ROOT, Disk, Link, Operation, Promise, Sync, Tree, Truncate, Unlink, Write

_REAL = {name: getattr(os, name) for name in dir(os)}
_REAL_OPEN = io.open


def read_tree(root: Path) -> Tree:
    """All that is in a folder."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
    }


def write_tree(root: Path, tree: Tree) -> None:
    """Make a folder hold exactly that; it must be empty."""
    for path, content in sorted(tree.items()):
        if content is None:
            (root / path).mkdir()
        else:
            (root / path).write_bytes(content)


class Recorder:
    """The log of one folder, and the nodes that its names mean at present."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.log: list[Operation] = []
        self.begin = 0  # where what was there before ends
        self._lock = threading.RLock()
        self._nodes = {os.stat(root).st_ino: ROOT}  # by number of the real file
        self._names: dict[int, dict[str, int]] = {ROOT: {}}
        self._count = 0

    def promise(self, folder: Path, round: int) -> None:
        """The program holds that this much cannot be lost any more."""
        self._add(Promise(str(folder.resolve().relative_to(self.root)), round))

    def take_in(self) -> None:
        """What is there already is on the disk."""
        for path in sorted(self.root.rglob("*")):
            node = self._link(path, None, is_folder=path.is_dir())
            if path.is_file():
                self._add(Write(node, 0, path.read_bytes()))
            self._add(Sync(node))
        for folder in list(self._names):
            self._add(Sync(folder))
        self.begin = len(self.log)

    def _add(self, op: Operation) -> None:
        self.log.append(op)

    def _place(self, path: Any, dir_fd: int | None = None) -> tuple[int, str] | None:
        """The folder and the name that a path means, if it is inside of the root."""
        if isinstance(path, int):
            return None
        if dir_fd is not None:
            folder = self._nodes.get(os.fstat(dir_fd).st_ino)
            return None if folder is None else (folder, os.fspath(path))
        path = Path(os.path.abspath(path))  # not resolved: a last link would be followed
        if self.root not in path.parents:
            return None
        node = ROOT
        for name in path.relative_to(self.root).parts[:-1]:
            node = self._names[node].get(name, -1)
            if node < 0:
                return None  # the real call will fail
        return node, path.name

    def _node(self, handle: Any) -> int | None:
        """The node of an open file, a path or a file number."""
        return self._nodes.get(os.stat(handle).st_ino)

    def _link(self, path: Any, dir_fd: int | None, is_folder: bool = False) -> int:
        place = self._place(path, dir_fd)
        assert place is not None
        self._count += 1
        self._nodes[os.stat(path, dir_fd=dir_fd).st_ino] = node = self._count
        self._names[place[0]][place[1]] = node
        if is_folder:
            self._names[node] = {}
        self._add(Link(*place, node, None, is_folder))
        return node

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        with self._lock:
            _REAL["mkdir"](path, mode, dir_fd=dir_fd)
            if self._place(path, dir_fd):
                self._link(path, dir_fd, is_folder=True)

    def remove(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._unlink(_REAL["unlink"], path, dir_fd)

    def rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._unlink(_REAL["rmdir"], path, dir_fd)

    def _unlink(self, real: Callable[..., None], path: Any, dir_fd: int | None) -> None:
        with self._lock:
            place = self._place(path, dir_fd)
            real(path, dir_fd=dir_fd)
            if place:
                del self._names[place[0]][place[1]]
                self._add(Unlink(*place))

    def rename(self, old: Any, new: Any) -> None:
        with self._lock:
            source, target = self._place(old), self._place(new)
            _REAL["replace"](old, new)
            if source or target:
                assert source, f"{old} comes from elsewhere"
                assert target, f"{old} goes elsewhere"
                assert source[0] == target[0], f"{old} changes its folder"
                node = self._names[source[0]].pop(source[1])
                self._names[target[0]][target[1]] = node
                self._add(Link(*target, node, source[1]))

    def truncate(self, path: Any, length: int) -> None:
        with self._lock:
            node = self._node(path)
            _REAL["truncate"](path, length)
            if node is not None:
                self._add(Truncate(node, length))

    def fsync(self, handle: int) -> None:
        """Nothing real is waited for: that would only take time."""
        with self._lock:
            node = self._node(handle)
            if node is not None:
                self._add(Sync(node))

    def os_open(
        self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None
    ) -> int:
        with self._lock:
            place = self._place(path, dir_fd)
            known = place is None or place[1] in self._names[place[0]]
            handle: int = _REAL["open"](path, flags, mode, dir_fd=dir_fd)
            if not known:
                self._link(path, dir_fd)
            elif place and flags & os.O_TRUNC:
                self._add(Truncate(self._names[place[0]][place[1]], 0))
            return handle

    def write(self, handle: int, data: Any) -> int:
        with self._lock:
            node, at = self._node(handle), 0
            if node is not None:
                at = os.lseek(handle, 0, os.SEEK_CUR)
            count: int = _REAL["write"](handle, data)
            if node is not None:
                self._add(Write(node, at, bytes(data[:count])))
            return count

    def refuse(self, name: str) -> Callable[..., Any]:
        """What is not recorded may be done elsewhere only."""

        def refused(*arguments: Any, **named: Any) -> Any:
            first = arguments[0]
            inside = self._node(first) if isinstance(first, int) else self._place(first)
            assert inside is None, f"{name}: is not recorded"
            return _REAL[name](*arguments, **named)

        return refused

    def open(
        self, file: Any, mode: str = "r", buffering: int = -1, *arguments: Any, **named: Any
    ) -> IO[Any]:
        """Files to write go through `_Raw`; all others as ever."""
        if not set(mode) & set("wax+") or self._place(file) is None:
            return _REAL_OPEN(file, mode, buffering, *arguments, **named)
        assert "+" not in mode, f"{mode}: is not recorded"
        raw = _Raw(self, file, mode.translate({ord("b"): None, ord("t"): None}))
        buffered = io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *arguments, **named)


class _Raw(io.FileIO):
    """A file whose writes are logged when they leave the program's buffer."""

    def __init__(self, recorder: Recorder, path: Any, mode: str) -> None:
        super().__init__(path, mode, opener=recorder.os_open)
        self._recorder = recorder

    def write(self, data: Any) -> int:
        with self._recorder._lock:
            node = self._recorder._node(self.fileno())
            at = os.fstat(self.fileno()).st_size if "a" in self.mode else self.tell()
            count = super().write(data)
            if node is not None:
                self._recorder._add(Write(node, at, bytes(data[:count])))
            return count

    def truncate(self, size: int | None = None) -> int:
        raise NotImplementedError("is not recorded")


@contextmanager
def recording(root: Path) -> Iterator[Recorder]:
    """The log of all that is done in a folder meanwhile; nothing may pass it by."""
    recorder = Recorder(root)
    recorder.take_in()
    ways = {
        "mkdir": recorder.mkdir,
        "unlink": recorder.remove,
        "remove": recorder.remove,
        "rmdir": recorder.rmdir,
        "rename": recorder.rename,
        "replace": recorder.rename,
        "truncate": recorder.truncate,
        "ftruncate": recorder.truncate,
        "fsync": recorder.fsync,
        "fdatasync": recorder.fsync,
        "open": recorder.os_open,
        "write": recorder.write,
    }
    refused = ("link", "symlink", "pwrite", "writev", "sendfile", "posix_fallocate")
    ways |= {name: recorder.refuse(name) for name in refused}
    opens = [mock.patch.object(room, "open", recorder.open) for room in (io, builtins)]
    with mock.patch.multiple(os, **ways), opens[0], opens[1]:
        yield recorder
    recorder.log[recorder.begin :] = _in_order(recorder.log[recorder.begin :])
    assert Disk(recorder.log).everything() == read_tree(root), "something passed the recorder by"


def _in_order(log: list[Operation]) -> list[Operation]:
    """Files are synced side by side, in any order: in the log by their number."""
    runs = [(both, list(run)) for both, run in groupby(log, lambda op: isinstance(op, Sync))]
    return [
        op for syncs, run in runs for op in (sorted(run, key=lambda op: op.node) if syncs else run)
    ]

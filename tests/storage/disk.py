"""A disk whose power can be cut: what a log of file operations may leave behind.

What a file holds is safe up to its last fsync, and a folder's entries up to the folder's last fsync
(POSIX promises no more; most file systems keep more). Of what came after, a power cut leaves
anything: all, nothing, a torn half, a name without its content, a later name without an earlier.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

ROOT = 0  # the node of the folder that is watched
Tree = dict[str, bytes | None]  # path -> content; None for a folder


@dataclass(frozen=True)
class Write:
    """Bytes into a file."""

    node: int
    at: int
    data: bytes


@dataclass(frozen=True)
class Truncate:
    """A file cut, or filled up with zeros, to a size."""

    node: int
    size: int


@dataclass(frozen=True)
class Link:
    """A new name in a folder: of a new file or folder, or of one that was called `old` there."""

    folder: int
    name: str
    node: int
    old: str | None = None
    is_folder: bool = False


@dataclass(frozen=True)
class Unlink:
    """A name that goes away."""

    folder: int
    name: str


@dataclass(frozen=True)
class Sync:
    """The disk has been waited for: for one file's content, or one folder's entries."""

    node: int


@dataclass(frozen=True)
class Promise:
    """What the program may rely on from now on: that a run has got to a round."""

    folder: str
    round: int


Content = Write | Truncate
Entry = Link | Unlink
Operation = Content | Entry | Sync | Promise
Survive = Callable[[bytearray, Sequence[Content]], None]


def kept(content: bytearray, pending: Sequence[Content]) -> None:
    """All that was written is there."""
    for op in pending:
        _apply(content, op)


def lost(content: bytearray, pending: Sequence[Content]) -> None:
    """Nothing after the last fsync is there: a new file is empty."""


def torn(content: bytearray, pending: Sequence[Content]) -> None:
    """The first half of the bytes written after the last fsync is there."""
    tear(content, pending, sum(len(op.data) for op in pending if isinstance(op, Write)) // 2)


def zeros(content: bytearray, pending: Sequence[Content]) -> None:
    """The file has its size, but the bytes never came."""
    for op in pending:
        _apply(content, Write(op.node, op.at, bytes(len(op.data))) if isinstance(op, Write) else op)


def tear(content: bytearray, pending: Sequence[Content], room: int) -> None:
    """So many of the bytes written after the last fsync are there."""
    for op in pending:
        if isinstance(op, Write):
            op = Write(op.node, op.at, op.data[:room])
            room -= len(op.data)
        _apply(content, op)


def _apply(content: bytearray, op: Content) -> None:
    end = op.size if isinstance(op, Truncate) else op.at
    content.extend(bytes(max(0, end - len(content))))
    if isinstance(op, Truncate):
        del content[op.size :]
    else:
        content[op.at : op.at + len(op.data)] = op.data


class Disk:
    """A disk at the moment when its power goes: after so many operations of a log."""

    def __init__(self, log: Sequence[Operation]) -> None:
        synced = {op.node: i for i, op in enumerate(log) if isinstance(op, Sync)}
        self._content: dict[int, bytearray] = {}
        self._unsynced: dict[int, list[Content]] = {}
        self._entries: list[tuple[bool, Entry]] = []  # whether it is safe, in their order
        for i, op in enumerate(log):
            if isinstance(op, Entry):
                self._entries.append((i < synced.get(op.folder, -1), op))
            elif isinstance(op, Content) and i < synced.get(op.node, -1):
                _apply(self._content.setdefault(op.node, bytearray()), op)
            elif isinstance(op, Content):
                self._unsynced.setdefault(op.node, []).append(op)
        self._called = {op.node: op.name for _, op in self._entries if isinstance(op, Link)}
        self.pending = [op for safe, op in self._entries if not safe]

    def tree(self, survives: Callable[[Entry], bool], content: Callable[[int], Survive]) -> Tree:
        """What is found after the cut, given which names and which contents came through."""
        folders: dict[int, dict[str, int]] = {ROOT: {}}
        for safe, op in self._entries:
            names = folders.setdefault(op.folder, {})
            if not safe and not survives(op):
                continue
            names.pop(op.name if isinstance(op, Unlink) else op.old or "", None)
            if isinstance(op, Link):
                names[op.name] = op.node
        is_folder = {op.node for _, op in self._entries if isinstance(op, Link) and op.is_folder}
        found: Tree = {}
        queue = [("", ROOT)]
        for path, folder in queue:
            for name, node in folders.get(folder, {}).items():
                if node in is_folder:
                    queue.append((f"{path}{name}/", node))
                    found[f"{path}{name}"] = None
                else:
                    data = bytearray(self._content.get(node, b""))
                    content(node)(data, self._unsynced.get(node, ()))
                    found[f"{path}{name}"] = bytes(data)
        return found

    def everything(self) -> Tree:
        """What a process that is killed leaves: the system still writes all it was given."""
        return self.tree(lambda _: True, lambda _: kept)

    def survivors(self, dice: random.Random) -> Iterator[tuple[str, Tree]]:
        """What may be found after the cut, each with a name."""
        for name, names, content in _WHOLESALE:
            yield name, self.tree(lambda _, names=names: names, lambda _, how=content: how)
        for op in self.pending:
            yield f"without {op.name}", self.tree(lambda o, op=op: o is not op, lambda _: kept)
            yield f"only {op.name}", self.tree(lambda o, op=op: o is op, lambda _: kept)
        for node in self._unsynced:
            for how in (lost, zeros, torn):
                part = {node: how}
                tree = self.tree(lambda _: True, lambda n, part=part: part.get(n, kept))
                yield f"{self._called[node]} {how.__name__}", tree
        for throw in range(2):
            chosen = {id(op) for op in self.pending if dice.random() < 0.5}
            hows = {node: dice.choice((kept, lost, torn, zeros)) for node in self._unsynced}
            tree = self.tree(
                lambda op, chosen=chosen: id(op) in chosen, lambda n, hows=hows: hows.get(n, kept)
            )
            yield f"throw {throw}", tree


_WHOLESALE = (
    ("nothing unsynced", False, lost),
    ("everything", True, kept),
    ("torn", True, torn),
    ("empty", True, lost),
    ("zeros", True, zeros),
    ("no new names", False, kept),
)

"""Whether a stored file is what was written: a checksum goes with every file that is believed."""

import hashlib
import json
import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from airfeel import regular
from airfeel.catalogue import Value
from airfeel.errors import quote
from airfeel.types import BadInput

ROWS = ("rounds.csv", "devices.csv")
_COUNT, _NUMBER, _TEXT = (int,), (int, float, type(None)), (str,)
_KINDS: dict[str, tuple[type, ...]] = {  # of what readers of summary.json rely on
    "scheme": _TEXT,
    "reason": _TEXT,
    "rounds": _COUNT,
    "resource_blocks": _COUNT,
    "seed": _COUNT,
    "seconds": _NUMBER,
    "test_accuracy": _NUMBER,
    "test_loss": _NUMBER,
}
_PIECE = 2**20  # bytes that are read at a time


@runtime_checkable
class _Sum(Protocol):
    """What hashlib makes: it has no public name for it."""

    def update(self, data: bytes, /) -> None: ...
    def hexdigest(self) -> str: ...


def checksum(path: Path, size: int | None = None) -> str:
    """The SHA-256 of a file, or of its first `size` bytes."""
    return _summed(path, size).hexdigest()


def _summed(path: Path, size: int | None = None) -> _Sum:
    total, left = hashlib.sha256(), path.stat().st_size if size is None else size
    with regular.opened(path) as file:
        while piece := file.read(min(left, _PIECE)):
            total.update(piece)
            left -= len(piece)
    return total


class Growing:
    """A file that is only written at its end, with the checksum of all its bytes at hand.

    path: the file. start: what a new one begins with. keep: take up the one that is there, cut to
    so many bytes.
    """

    def __init__(self, path: Path, start: bytes = b"", *, keep: int | None = None) -> None:
        self.path = path
        if path.exists():
            regular.check(path)
        if keep is None:
            path.write_bytes(start)
        else:
            os.truncate(path, keep)
        self._file = path.open("ab")
        self._total = _summed(path)
        self.size = path.stat().st_size

    @property
    def checksum(self) -> str:
        """Of the bytes up to now."""
        return self._total.hexdigest()

    def append(self, content: bytes) -> None:
        """Write in one piece."""
        self._file.write(content)
        self._file.flush()
        self._total.update(content)
        self.size += len(content)

    def fault(self) -> str | None:
        """What somebody else has done to the file; None if it is as it was written."""
        try:
            there = self.path.stat()
        except OSError:
            return f"{self.path}: was removed"
        if not os.path.samestat(there, os.fstat(self._file.fileno())):
            return f"{self.path}: was replaced"
        return None if there.st_size == self.size else f"{self.path}: was changed"

    def close(self) -> None:
        """Write what waits, and let go of the file."""
        self._file.close()


def misfit(folder: Path, sizes: Mapping[str, int], sums: Mapping[str, str]) -> str | None:
    """Which file does not begin with the bytes that a checkpoint knows, and how; None if all do."""
    for name, size in sizes.items():
        path = folder / name
        if not path.is_file():
            return f"{path}: is not there any more"
        if path.stat().st_size < size:
            return f"{path}: holds less than was written"
        if name in sums and checksum(path, size) != sums[name]:
            return f"{path}: is not what was written, its checksum does not match"
    return None


def read_summary(folder: Path) -> dict[str, Value]:
    """What summary.json says, empty where there is none; refused where a file is not as it says.

    A file that was removed is not missed here, see `check_complete`. Kinds of values are checked,
    because the file may be edited by hand.
    """
    path = folder / "summary.json"
    if not path.is_file():
        return {}
    try:
        summary = json.loads(regular.text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from error
    files = summary.get("files", {}) if isinstance(summary, dict) else None
    if not isinstance(summary, dict) or not isinstance(files, dict) or not summary:
        raise BadInput(f"{path}: must hold a table with entries")
    if not all(isinstance(text, str) and "\0" not in text for text in (*files, *files.values())):
        raise BadInput(f"{path}: files: must be a table of names and checksums")
    fault = _wrong_kind(summary)
    if fault:
        raise BadInput(f"{path}: {fault}")
    _check(folder, files)
    return summary


def check_complete(folder: Path, summary: Mapping[str, Value]) -> None:
    """Refuse the summary of a finished run without an entry; warn of files that were removed."""
    for key in _KINDS:
        if key not in summary:
            raise BadInput(f"{folder / 'summary.json'}: has no {key}")
    files = summary.get("files")
    for name in files if isinstance(files, dict) else {}:
        path = folder / Path(name).name
        if not path.is_file():
            warnings.warn(f"{path}: was removed; --fresh makes it again", stacklevel=2)


def _wrong_kind(summary: Mapping[str, Value]) -> str | None:
    """Which entry of a summary is of another kind; None if all can be relied on."""
    for key in summary.keys() & _KINDS.keys():
        value, kinds = summary[key], _KINDS[key]
        if not isinstance(value, kinds) or isinstance(value, bool):
            legal = " or ".join("null" if k is type(None) else k.__name__ for k in kinds)
            return f"{key} = {quote(value)}: must be {legal}"
    steps = summary.get("arithmetic", [])
    if not isinstance(steps, list) or not all(map(is_step, steps)):
        return "arithmetic: must be a list of tables, each with a number from_round"
    return None


def is_step(step: object) -> bool:
    """Whether a stored value tells from which round on something has computed a run."""
    return isinstance(step, dict) and type(step.get("from_round")) is int


def _check(folder: Path, files: Mapping[str, str]) -> None:
    for name, expected in files.items():
        path = folder / Path(name).name
        try:
            found = checksum(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
        if found != expected:
            raise BadInput(f"{path}: is not what the run wrote, its checksum does not match")


def checksums(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """The checksums of the files among these that are there."""
    return {name: checksum(folder / name) for name in names if (folder / name).is_file()}

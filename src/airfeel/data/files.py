"""The files of data sets: where they are, in what state, and how they get there.

A set is looked for in a given folder, in $AIRFEEL_DATA and in a per-user cache, in this order.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from airfeel.data.download import Progress, download
from airfeel.data.layouts import fault, file_of, present, read, recognise
from airfeel.data.sources import SOURCES, Download, Layout, Source
from airfeel.errors import BadInput, quote, shorten


@dataclass(frozen=True)
class Status:
    """One line of the list of data sets."""

    name: str
    state: Literal["found", "missing", "damaged"]
    where: Path | None
    samples: int
    size: int  # bytes on disk
    note: str = ""  # what is wrong


def places(data_dir: Path | None = None) -> list[Path]:
    """Folders to look in, in order; new files go to the first."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "airfeel" / "data"
    given = (data_dir, os.environ.get("AIRFEEL_DATA") or None, cache)
    return list(dict.fromkeys(_at_home(Path(place)) for place in given if place is not None))


def contents(name: str, data_dir: Path | None = None) -> Iterator[tuple[str, bytes]]:
    """Names and verified contents of the files of set `name`, in any order."""
    return read(*_locate(name, data_dir))


def add(name: str, path: Path, data_dir: Path | None = None) -> Path:
    """Copy set `name` from a local folder or tar archive, verified; returns its new folder."""
    source, path, home = _source(name), _at_home(path), places(data_dir)[0]
    recognised = recognise(source.layouts, path)
    if recognised is None:
        problem = "holds no file of this set" if os.path.exists(path) else "does not exist"
        folders = " or ".join(layout.folder for layout in source.layouts)
        legal = f"{name} is a folder or tar archive of {folders}"
        raise BadInput(f"path = {shorten(str(path))}: {problem}; {legal}")
    with _writable(home):
        return _install(*recognised, home)


def fetch(
    name: str, data_dir: Path | None = None, *, progress: Progress = lambda file, have, total: None
) -> Path:
    """Download set `name` from its official address, verified; returns its folder.

    A set that is already whole is left alone, a broken download is resumed.
    """
    source, home = _source(name), places(data_dir)[0]
    for layout in source.layouts:
        if (there := present(layout, home)) and not fault(layout, there):
            return there
    incoming = home / f".{name}.incoming"
    with _writable(home):
        incoming.mkdir(parents=True, exist_ok=True)
        for each in source.downloads:
            if not (incoming / each.file).exists():
                download(each.url, incoming / each.file, progress, _most(source))
        try:
            return _unpack(source, incoming, home)
        except BadInput:
            # Whole but wrong: the next attempt must not begin with it.
            shutil.rmtree(incoming)
            raise


def status(data_dir: Path | None = None) -> list[Status]:
    """The state of each set kept in files; every byte found is verified."""
    return [_status(name, source, data_dir) for name, source in SOURCES.items()]


def _status(name: str, source: Source, data_dir: Path | None) -> Status:
    """The state of one set."""
    try:
        layout, path = _locate(name, data_dir)
    except BadInput:
        return Status(name, "missing", None, source.samples, 0)
    files = [path] if path.is_file() else [f for i in layout.items if (f := file_of(i, path))]
    size = sum(file.stat().st_size for file in files)
    note = fault(layout, path)
    return Status(name, "damaged" if note else "found", path, source.samples, size, note)


def _at_home(path: Path) -> Path:
    """The path with ~ replaced, if there is such a home."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def _most(source: Source) -> int:
    """Bytes that no download of a set exceeds: twice its size, unpacked."""
    return 2 * sum(item.size for item in source.layouts[0].items)


def _source(name: str) -> Source:
    """The record of set `name`."""
    if name not in SOURCES:
        raise BadInput(f"dataset = {quote(name)}: the sets kept in files are {', '.join(SOURCES)}")
    return SOURCES[name]


def _locate(name: str, data_dir: Path | None) -> tuple[Layout, Path]:
    """The first place that holds any of set `name`, and the layout it has there."""
    source, looked = _source(name), places(data_dir)
    for place in looked:
        for layout in source.layouts:
            if path := present(layout, place):
                return layout, path
    folders = shorten(", ".join(map(str, looked)))
    raise BadInput(
        f"data.dataset = {name!r}: not found in {folders}; get it with "
        f"`airfeel data fetch {name}` or, from local files, `airfeel data add {name} PATH`"
    )


def _unpack(source: Source, incoming: Path, home: Path) -> Path:
    """Install what was downloaded, and tidy up."""
    for each in source.downloads:
        _check(each, incoming / each.file)
    layout = source.layouts[0]
    folder = _install(layout, present(layout, incoming) or incoming, home)
    shutil.rmtree(incoming)
    return folder


def _check(each: Download, file: Path) -> None:
    """Refuse a download that is not what its site states."""
    with file.open("rb") as stream:
        md5 = hashlib.file_digest(stream, "md5").hexdigest()
    if each.md5 not in ("", md5):
        raise BadInput(f"{each.url}: damaged: md5 {each.md5} expected, {md5} found")


def _install(layout: Layout, path: Path, home: Path) -> Path:
    """Copy a set into `home`: not a file of it appears before all are verified."""
    folder = home / layout.folder
    home.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{layout.folder}.", dir=home) as temporary:
        new = Path(temporary) / "new"
        new.mkdir()
        for name, data in read(layout, path):
            (new / name).write_bytes(data)
        if not folder.exists():
            new.rename(folder)
        else:
            # Other files in a folder that is already there are not ours to remove.
            for file in new.iterdir():
                file.replace(folder / file.name)
    return folder


@contextmanager
def _writable(home: Path) -> Iterator[None]:
    """Report a full disk or a forbidden folder as BadInput."""
    try:
        yield
    except OSError as error:
        raise BadInput(f"data_dir = {home}: cannot be written: {error}") from error

"""A data set of three small files, for tests of how files are read, added and fetched."""

import hashlib
import io
import tarfile
from pathlib import Path

import numpy as np

from airfeel.data.sources import Item, Layout

DATA = {f"part_{i}.bin": np.random.default_rng(i).bytes(5000 + i) for i in range(3)}
OTHER = {f"part_{i}": data[::-1] for i, data in enumerate(DATA.values())}


def items(data: dict[str, bytes]) -> tuple[Item, ...]:
    return tuple(Item(n, len(d), hashlib.md5(d).hexdigest()) for n, d in data.items())


def tar(data: dict[str, bytes], folder: str = "tiny-bin") -> bytes:
    """A tar.gz as the sites have it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in {"readme.html": b"hello", **data}.items():
            info = tarfile.TarInfo(f"{folder}/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


ARCHIVE = tar(DATA)


def write(folder: Path, data: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True)
    for name, content in data.items():
        (folder / name).write_bytes(content)
    return folder


def tree(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*")}


LAYOUTS = (
    Layout("tiny-bin", items(DATA), "tiny-binary.tar.gz"),
    Layout("tiny-py", items(OTHER), "tiny-python.tar.gz"),
)

"""Arrays from files that need not be what they say: .npy and .npz, nothing in them unpickled."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from airfeel import regular
from airfeel.errors import BadInput, reason, shorten

_NPY = b"\x93"  # how .npy files begin
_SMALL, _RATIO = 64 * 10**6, 200  # bytes of an array that may come from anything; else how much


def read_npy(path: Path, blame: str) -> np.ndarray:
    """The array of an .npy file, mapped: a header that promises more than there is costs nothing.

    blame: what a message of bad input begins with.
    """
    try:
        with np.errstate(over="ignore"):  # of a shape that no file can hold
            array = np.load(regular.check(path), mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.ndarray):
            raise ValueError("it holds several arrays, an .npz file")
    except Exception as error:  # a header is Python text, and can raise anything
        raise BadInput(f"{blame}: cannot be read as .npy ({reason(error)})") from error
    return array


def read_waves(path: Path, blame: str) -> np.ndarray:
    """Numbers of an .npy file, as float64, or as complex128 where they are complex."""
    stored = read_npy(path, blame)
    if stored.dtype.kind not in "biufc":
        raise BadInput(f"{blame}: cannot be read as .npy (it holds {stored.dtype}, not numbers)")
    try:
        with np.errstate(all="ignore"):  # what is not finite is found by whoever asked
            return stored.astype(np.complex128 if stored.dtype.kind == "c" else np.float64)
    except MemoryError as error:
        raise BadInput(f"{blame}: is too large for this machine ({reason(error)})") from error


def read_gains(path: Path, blame: str) -> np.ndarray:
    """|h| of an .npy file, real or complex, as float64."""
    with np.errstate(all="ignore"):
        return np.abs(read_waves(path, blame))


def read_npz(
    path: Path,
    blame: str,
    most: float,
    check_names: Callable[[list[str]], None] = lambda _: None,
) -> dict[str, np.ndarray]:
    """Read all arrays of an .npz file.

    Args:
        path: of the file.
        blame: what a message of bad input begins with.
        most: bytes that it may unpack to; the zip format's own sizes are held to while it is read.
        check_names: refuses names of arrays, before any is unpacked.
    """
    try:
        with regular.opened(path) as stream:
            _check_size(path, blame, most)
            if not zipfile.is_zipfile(stream) and stream.seek(0) == 0 and stream.read(1) != _NPY:
                raise ValueError("it is neither that nor .npy; numpy.savez writes such files")
            stream.seek(0)
            stored = np.load(stream, allow_pickle=False)
            if isinstance(stored, np.ndarray):
                raise ValueError("it is one array, an .npy file")
            check_names(list(stored.files))
            held = {name: stored[name] for name in stored.files}
            for name, each in held.items():
                if not isinstance(each, np.ndarray):  # what is no .npy comes as bytes
                    raise ValueError(f"its {name} is no array")
            return held
    except BadInput:
        raise
    except Exception as error:  # likewise
        raise BadInput(f"{blame}: cannot be read as .npz ({reason(error)})") from error


def _check_size(path: Path, blame: str, most: float) -> None:
    if not zipfile.is_zipfile(path):
        return  # reading says so
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    size = sum(member.file_size for member in members)
    if size > most:
        raise BadInput(f"{blame}: unpacks to {size / 1e9:.1f} GB; must be at most {most / 1e9:g}")
    for member in members:
        packed = max(1, member.compress_size)
        if member.file_size > max(_SMALL, _RATIO * packed):
            sizes = f"{member.file_size / 1e6:.0f} MB from {packed / 1e6:.1f} MB"
            raise BadInput(
                f"{blame}: {shorten(member.filename)} unpacks to {sizes}; must be at most {_RATIO} "
                "times as large as it is stored (numpy.savez stores arrays as they are)"
            )

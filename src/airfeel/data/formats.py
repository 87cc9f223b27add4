"""The file formats of image sets: CIFAR-10 records, CIFAR-10 pickles, IDX. Bytes in, arrays out."""

import io
import pickle
from typing import Any

import numpy as np
from jaxtyping import Int64, UInt8

from airfeel.types import BadInput

Images = UInt8[np.ndarray, "S C H W"]
Labels = Int64[np.ndarray, "S"]

_PIXELS = 3 * 32 * 32
_RANKS = 8  # axes of an IDX array; NumPy has a limit too


def cifar_binary(data: bytes, name: str) -> tuple[Images, Labels]:
    """Records of 3073 bytes: the class, then 1024 red, 1024 green and 1024 blue values, by rows."""
    if len(data) % (1 + _PIXELS):
        raise BadInput(f"{name}: {len(data)} bytes are no whole number of 3073-byte records")
    records = np.frombuffer(data, np.uint8).reshape(-1, 1 + _PIXELS)
    return records[:, 1:].reshape(-1, 3, 32, 32), _classes(records[:, 0], name)


def cifar_pickle(data: bytes, name: str) -> tuple[Images, Labels]:
    """A dict of b"data", uint8 [S 3072] as above, and b"labels", a list. Runs no code in it."""
    try:
        batch = _Reader(io.BytesIO(data), encoding="bytes").load()
        pixels, labels = batch[b"data"].uint8(), np.asarray(batch[b"labels"], np.int64)
        images = pixels.reshape(len(labels), 3, 32, 32)
    except Exception as error:  # a malicious pickle can raise anything
        raise BadInput(f"{name}: not a CIFAR-10 batch: {error}") from error
    return images, _classes(labels, name)


def idx(data: bytes, name: str) -> UInt8[np.ndarray, "..."]:
    """An IDX array of bytes: magic 0 0 8 rank, then sizes in big-endian 32 bits, then values."""
    rank = data[3] if data[:3] == b"\0\0\x08" and len(data) > 3 else 0
    start = 4 + 4 * rank
    if not 0 < rank <= _RANKS or len(data) < start:
        raise BadInput(f"{name}: not an IDX file of unsigned bytes: it begins with {data[:4]!r}")
    shape = tuple(int(n) for n in np.frombuffer(data, ">u4", rank, 4))
    values = np.frombuffer(data, np.uint8, offset=start)
    if values.size != np.prod(shape, dtype=object):
        raise BadInput(f"{name}: {values.size} values do not fill the shape {shape} in its header")
    return values.reshape(shape)


def _classes(labels: np.ndarray, name: str) -> Labels:
    """Labels as int64, all of which must be 0..9."""
    labels = labels.astype(np.int64)
    if labels.size and not 0 <= labels.min() <= labels.max() <= 9:
        raise BadInput(f"{name}: labels {labels.min()}..{labels.max()}, expected 0..9")
    return labels


class _Array:
    """Stands in for a pickled ndarray: it keeps what it is told and calls nothing."""

    def __init__(self, *arguments: Any) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def uint8(self) -> UInt8[np.ndarray, "..."]:
        """The array, if it is one of bytes in C order."""
        _, shape, dtype, fortran, raw = self.state
        if not isinstance(dtype, _Dtype) or dtype.code not in (b"u1", "u1") or fortran:
            raise ValueError("its data are not uint8 in C order")
        return np.frombuffer(raw, np.uint8).reshape(shape)


class _Dtype:
    """Stands in for a pickled dtype."""

    def __init__(self, code: Any, *arguments: Any) -> None:
        self.code = code

    def __setstate__(self, state: Any) -> None:
        """Byte order and the like, which a byte does not have."""


_STAND_INS: dict[tuple[str, str], type] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
}


class _Reader(pickle.Unpickler):
    """An unpickler for which the only names in the world are the stand-ins above."""

    def find_class(self, module: str, name: str) -> type:
        if (module, name) not in _STAND_INS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is not allowed")
        return _STAND_INS[module, name]

"""Numbers of a few bits, and the octets they are packed into."""

from typing import Any

import numpy as np
from jaxtyping import Integer, UInt, UInt8

from airfeel.wire.message import WireError

_BLOCK = 1 << 13  # values packed at once: whole octets for every width, and a few hundred kB


def spread(values: Integer[np.ndarray, "n"], width: int) -> UInt8[np.ndarray, "_"]:
    """The low `width` bits of each value, one to an octet, most significant first.

    >>> spread(np.array([1, 6]), 3)
    array([0, 0, 1, 1, 1, 0], dtype=uint8)
    """
    holder = _holder(width)
    size = 8 * holder.itemsize
    bits = np.unpackbits(values.astype(holder).view(np.uint8)).reshape(-1, size)
    return bits[:, size - width :].reshape(-1)


def gather(bits: UInt8[np.ndarray, "b"], width: int) -> UInt[np.ndarray, "n"]:
    """The low bits that `spread` took, for a width of at least one.

    >>> gather(np.array([0, 0, 1, 1, 1, 0], np.uint8), 3)
    array([1, 6], dtype=uint8)
    """
    holder = _holder(width)
    size = 8 * holder.itemsize
    wide = np.zeros((bits.size // width, size), np.uint8)
    wide[:, size - width :] = bits.reshape(-1, width)
    return np.packbits(wide).view(holder)


def pack(values: UInt[np.ndarray, "n"], width: int) -> bytes:
    """n · width bits in ⌈n · width / 8⌉ octets, padded with zeros.

    >>> pack(np.array([1, 6], np.uint32), 3).hex()
    '38'
    """
    blocks = (values[i : i + _BLOCK] for i in range(0, values.size, _BLOCK))
    return b"".join(np.packbits(spread(block, width)).tobytes() for block in blocks)


def unpack(data: bytes, count: int, width: int, dtype: Any) -> UInt[np.ndarray, "{count}"]:
    """`count` values of `width` bits, from exactly the octets that `pack` makes of them."""
    octets = np.frombuffer(data, np.uint8)
    values = np.zeros(count, dtype)
    for i in range(0, count, _BLOCK):
        n = min(_BLOCK, count - i)
        bits = np.unpackbits(octets[i * width // 8 : octets_for(i + n, width)])
        if bits[n * width :].any():
            raise WireError("values: padding bits are set; they must be zero")
        values[i : i + n] = gather(bits[: n * width], width)
    return values


def octets_for(count: int, width: int) -> int:
    """Octets that hold `count` numbers of `width` bits."""
    return -(-count * width // 8)


def _holder(width: int) -> np.dtype:
    """The smallest unsigned integer of `width` bits, most significant octet first."""
    return next(np.dtype(f">u{size}") for size in (1, 2, 4, 8) if width <= 8 * size)

"""A mask alone, as bytes. See the package for the format."""

import struct
import zlib

import numpy as np
from jaxtyping import Int64

from airfeel.wire.bits import octets_for
from airfeel.wire.indices import Coded, decode_index, encode_index
from airfeel.wire.message import WireError, check_dim, check_index

_MAGIC, _VERSION = b"AFM", 1
_HEADER = struct.Struct(">3sBIBBI")
_CHECKSUM = struct.Struct(">I")
_OVERHEAD = _HEADER.size + _CHECKSUM.size


def encode_mask(index: Int64[np.ndarray, "K"], dim: int) -> bytes:
    """The one encoding of sorted distinct indices below `dim`.

    >>> len(encode_mask(np.array([3, 900]), 1024))
    21
    """
    check_dim(dim)
    check_index(index, dim)
    form, parameter, data = encode_index(index, dim)
    body = _HEADER.pack(_MAGIC, _VERSION, dim, form, parameter, len(index)) + data
    return body + _CHECKSUM.pack(zlib.crc32(body))


def decode_mask(data: bytes, *, dim: int) -> Int64[np.ndarray, "K"]:
    """The indices that were encoded, or a `WireError`; `dim` is that of the receiver's model."""
    check_dim(dim)
    most = _OVERHEAD + octets_for(dim, 1)  # a bitmap is always there to be chosen
    if not _OVERHEAD <= len(data) <= most:
        raise WireError(f"mask: {len(data)} octets; must be from {_OVERHEAD} to {most}")
    magic, version, d, form, parameter, count = _HEADER.unpack_from(data)
    if (magic, version, d) != (_MAGIC, _VERSION, dim) or count > dim:
        told = f"{magic!r} {version}, {count} of {d} entries"
        raise WireError(f"mask: {told}; must be {_MAGIC!r} {_VERSION}, at most {dim} of {dim}")
    end = len(data) - _CHECKSUM.size
    (checksum,) = _CHECKSUM.unpack_from(data, end)
    if zlib.crc32(memoryview(data)[:end]) != checksum:
        raise WireError(f"mask: checksum = {checksum:#010x}: the data was altered")
    return decode_index(Coded(form, parameter, data[_HEADER.size : end]), count, dim)

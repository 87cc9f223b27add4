"""From a message to bytes and back. See the package for the format."""

import math
import struct
import zlib
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt

from airfeel.wire.bits import octets_for, pack, unpack
from airfeel.wire.indices import Coded, decode_index, encode_index
from airfeel.wire.message import (
    Message,
    Values,
    WireError,
    check_bits,
    check_dim,
    code_dtype,
    levels,
)

MAGIC, VERSION = b"AFW", 1
_HEADER = struct.Struct(">3sBIBBIBBdIBBd")
_CHECKSUM = struct.Struct(">I")
OVERHEAD = _HEADER.size + _CHECKSUM.size  # octets of a message that says nothing


def encode(message: Message) -> bytes:
    """The one encoding of a message."""
    form, parameter, indices = encode_index(message.index, message.dim)
    local, common = message.local, message.common
    head = _HEADER.pack(
        *(MAGIC, VERSION, message.dim, form, parameter),
        *(len(local), local.bits, local.width, local.norm),
        *(len(common), common.bits, common.width, common.norm),
    )
    body = head + indices + _write(local) + _write(common)
    return body + _CHECKSUM.pack(zlib.crc32(body))


def decode(
    data: bytes, *, dim: int, k_common: int | None = None, k_local: int | None = None
) -> Message:
    """The message that was encoded, or a `WireError`.

    dim: the dimension of the receiver's model, which the message must name; k_common, k_local: how
    many values the parts must have; None for any number up to `dim`.
    """
    check_dim(dim)
    if len(data) < OVERHEAD:
        raise WireError(f"data: {len(data)} octets; at least {OVERHEAD} are needed")
    magic, version, d, form, parameter, *parts = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise WireError(f"magic = {magic!r}: must be {MAGIC!r}")
    _check("version", version, VERSION)
    _check("dim", d, dim)
    local, common = _Part(*parts[:4]), _Part(*parts[4:])
    local.check("local count", k_local, dim)
    common.check("common count", k_common, dim)
    end = len(data) - _CHECKSUM.size
    at_common = end - common.octets
    at_local = at_common - local.octets
    # Indices never take more than a bitmap, which is always there to be chosen.
    if not _HEADER.size <= at_local <= _HEADER.size + octets_for(dim, 1):
        raise WireError(f"data: {len(data)} octets; too few or too many for its counts")
    (checksum,) = _CHECKSUM.unpack_from(data, end)
    if zlib.crc32(memoryview(data)[:end]) != checksum:
        raise WireError(f"checksum = {checksum:#010x}: the data was altered")
    coded = Coded(form, parameter, data[_HEADER.size : at_local])
    return Message(
        dim,
        decode_index(coded, local.count, dim),
        local.read(data[at_local:at_common]),
        common.read(data[at_common:end]),
    )


@dataclass(frozen=True)
class Size:
    """Bits of a message, in whole octets, and what the paper charges for it."""

    index: int
    value: int
    formula: float  # (log2 d + q) · L for the local part, q · K for the common one
    overhead: int = 8 * OVERHEAD  # header and checksum

    @property
    def measured(self) -> int:
        """All bits that are sent."""
        return self.index + self.value + self.overhead


def size_bits(message: Message) -> Size:
    """Measured bits beside Q = (log2 d + q)·L + q·K (Sun et al. 2022, section II).

    >>> import numpy as np
    >>> from airfeel.wire import from_raw
    >>> part, none = from_raw(np.ones(2, np.float32)), from_raw(np.ones(0, np.float32))
    >>> size_bits(Message(1024, np.array([3, 900]), part, none))
    Size(index=24, value=64, formula=84.0, overhead=336)
    """
    parts = (message.local, message.common)
    return Size(
        index=8 * len(encode_index(message.index, message.dim).data),
        value=8 * sum(octets_for(len(part), part.width) for part in parts),
        formula=len(message.index) * math.log2(message.dim)
        + sum(len(part) * part.bits for part in parts),
    )


@dataclass(frozen=True)
class _Part:
    """What the header says of one part."""

    count: int
    bits: int
    width: int
    norm: float

    @property
    def octets(self) -> int:
        return octets_for(self.count, self.width)

    def check(self, name: str, legal: int | None, most: int) -> None:
        _check(name, self.count, legal, most)
        check_bits(self.bits)
        if not 1 <= self.width <= self.bits:
            raise WireError(f"width = {self.width}: must be from 1 to {self.bits}")

    def read(self, data: bytes) -> Values:
        code = unpack(data, self.count, self.width, code_dtype(self.bits))
        values = Values(self.bits, self.norm, _move_sign(code, self.width, self.bits))
        _check("width", self.width, values.width)
        return values


def _write(part: Values) -> bytes:
    return pack(_move_sign(part.code, part.bits, part.width), part.width)


def _move_sign(code: UInt[np.ndarray, "n"], width: int, to: int) -> UInt[np.ndarray, "n"]:
    """The top one of `width` bits moved to the top of `to` bits; those between are zero."""
    if width == to:
        return code
    return (code & levels(width)) | (code >> (width - 1)) << (to - 1)


def _check(name: str, value: int, legal: int | None, most: int = 0) -> None:
    if legal is None and value > most:
        raise WireError(f"{name} = {value}: at most {most} is legal")
    if legal is not None and value != legal:
        raise WireError(f"{name} = {value}: must be {legal}")

"""What is said: values as whole numbers, and where they belong."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int64, UInt

from airfeel.bits import QUANTISED
from airfeel.types import BadInput

MAX_DIM = 2**31 - 1
RAW = {32: np.float32, 64: np.float64}  # bits of a value that is sent as it is


class WireError(BadInput):
    """A message that cannot be written, or bytes that no writer has written."""


@dataclass(frozen=True, eq=False)
class Values:
    """Numbers of `bits` bits each: sign and level times a norm, or raw IEEE floats.

    bits: 2 to 24 (quantised), 32 or 64 (raw); norm: ‖x‖₂ of the quantised vector, else 0;
    code: sign · 2^(q−1) + level, or the float's own bits. uint32, or uint64 for 64 bits.
    """

    bits: int
    norm: float
    code: UInt[np.ndarray, "n"]

    def __post_init__(self) -> None:
        check_bits(self.bits)
        if not math.isfinite(self.norm) or math.copysign(1.0, self.norm) < 0:
            raise WireError(f"norm = {self.norm}: must be finite and not negative")
        if self.norm and (self.raw or not self.code.size):
            raise WireError(f"norm = {self.norm}: must be 0 where there is nothing to scale")
        if self.code.dtype != code_dtype(self.bits):
            raise WireError(f"code: {self.code.dtype}; must be {code_dtype(self.bits).__name__}")
        if self.raw:
            if not np.isfinite(self.code.view(RAW[self.bits])).all():
                raise WireError("raw values: NaN or infinity; all must be finite")
        elif self.code.size and self.code.max() >> self.bits:
            raise WireError(f"code = {self.code.max()}: must be below 2^{self.bits}")

    def __len__(self) -> int:
        return self.code.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Values):
            return NotImplemented
        same = self.bits == other.bits and self.norm == other.norm
        return same and np.array_equal(self.code, other.code)

    @property
    def raw(self) -> bool:
        """Whether these are floats as they are."""
        return self.bits in RAW

    @property
    def width(self) -> int:
        """Bits that each value takes: a sign and the largest level here, or a whole float."""
        if self.raw:
            return self.bits
        return 1 + int((self.code & levels(self.bits)).max(initial=0)).bit_length()

    def floats(self, dtype: Any = np.float32) -> Float[np.ndarray, "n"]:
        """The numbers themselves, in the precision of the model that they were taken from.

        >>> from_quantised(np.array([0.0, -0.5], np.float32), 1.5, 3).floats()
        array([ 0. , -0.5], dtype=float32)
        """
        with np.errstate(over="ignore"):
            found = self._float64().astype(dtype)
        if not np.isfinite(found).all():
            raise WireError(f"values: beyond the range of {np.dtype(dtype)} for norm = {self.norm}")
        return found

    def _float64(self) -> Float64[np.ndarray, "n"]:
        if self.raw:
            return self.code.view(RAW[self.bits]).astype(np.float64)
        s = levels(self.bits)
        signed = np.where(self.code > s, -self.norm, self.norm)
        return signed * ((self.code & s) / s)  # in the quantiser's own order: each step rounds


@dataclass(frozen=True, eq=False)
class Message:
    """What one device sends in a round.

    dim: model dimension d; index: sorted distinct coordinates of the local part; local: a value for
    each of them; common: the values whose coordinates both sides know.
    """

    dim: int
    index: Int64[np.ndarray, "L"]
    local: Values
    common: Values

    def __post_init__(self) -> None:
        check_dim(self.dim)
        if len(self.index) != len(self.local):
            raise WireError(f"index: {len(self.index)} of them for {len(self.local)} local values")
        if len(self.common) > self.dim:
            raise WireError(f"common: {len(self.common)} values; at most {self.dim} are legal")
        check_index(self.index, self.dim)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        same = self.dim == other.dim and np.array_equal(self.index, other.index)
        return same and self.local == other.local and self.common == other.common


def from_quantised(values: Float[np.ndarray, "n"], norm: float, bits: int) -> Values:
    """Sign and level of each quantised value: level = |value| / norm · s, a whole number.

    values: what the quantiser gave, float32 or float64; norm: the ‖x‖₂ it gave them with, in
    float64. Refused unless `floats` gives the same values back, bit for bit.

    >>> from_quantised(np.array([0.5, -1.5, -0.0], np.float32), 1.5, 3).code
    array([1, 7, 4], dtype=uint32)
    """
    check_bits(bits)
    if bits in RAW:
        raise WireError(f"bits = {bits}: must be from 2 to 24 for quantised values")
    s = levels(bits)
    with np.errstate(over="ignore"):
        share = np.abs(values.astype(np.float64)) / (norm if norm > 0 else 1.0)
    if not (share <= 2).all():  # a little above 1 by rounding; far above, or NaN, is no level
        raise WireError("values: beyond the norm or not finite; they are not of this quantiser")
    level = np.minimum(np.rint(share * s), s).astype(np.uint32)
    code = level | (np.signbit(values).astype(np.uint32) << np.uint32(bits - 1))
    part = Values(bits, norm if values.size else 0.0, code)
    if part.floats(values.dtype).tobytes() != values.tobytes():
        raise WireError(f"values: not norm · sign · level / {s} for norm = {norm}")
    return part


def from_raw(values: Float[np.ndarray, "n"]) -> Values:
    """Float32 or float64 values as they are.

    >>> from_raw(np.array([1.0], np.float32)).bits
    32
    """
    bits = 8 * values.itemsize
    if bits not in RAW:
        raise WireError(f"values: {values.dtype}; must be float32 or float64")
    return Values(bits, 0.0, np.array(values, RAW[bits]).view(code_dtype(bits)))


def check_bits(bits: int) -> None:
    """Refuse a number of bits that the format does not know."""
    if bits not in QUANTISED and bits not in RAW:
        raise WireError(f"bits = {bits}: must be from 2 to 24, 32 or 64")


def check_dim(dim: int) -> None:
    """Refuse a dimension that the format cannot carry."""
    if not 1 <= dim <= MAX_DIM:
        raise WireError(f"dim = {dim}: must be from 1 to {MAX_DIM}")


def check_index(index: Int64[np.ndarray, "L"], dim: int) -> None:
    """Refuse indices that are not strictly increasing from 0 to dim − 1."""
    if not index.size:
        return
    if not 0 <= index.min() <= index.max() < dim:
        raise WireError(f"index: {index.min()} to {index.max()}; must lie in 0 to {dim - 1}")
    if not (index[1:] > index[:-1]).all():
        raise WireError("index: must be sorted and distinct")


def code_dtype(bits: int) -> type[np.uint32] | type[np.uint64]:
    """The unsigned integer that holds one code."""
    return np.uint64 if bits == 64 else np.uint32


def levels(bits: int) -> int:
    """The last level of q bits with a sign, s = 2^(q−1) − 1."""
    return (1 << (bits - 1)) - 1

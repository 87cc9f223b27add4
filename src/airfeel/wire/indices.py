"""Sorted indices as bits, in the smallest of four forms. See the package for the format."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Int64, UInt8

from airfeel.wire.bits import gather, spread
from airfeel.wire.message import WireError, check_index

BITMAP, FIXED, RICE, GAMMA = range(4)
_WIDEST = 31  # bits of the largest gap


class Coded(NamedTuple):
    """Indices as they are written."""

    form: int
    parameter: int
    data: bytes


def encode_index(index: Int64[np.ndarray, "L"], dim: int) -> Coded:
    """Sorted distinct indices below `dim`, in the form of fewest bits.

    >>> encode_index(np.array([0, 1, 2]), 100)
    Coded(form=1, parameter=0, data=b'')
    """
    gaps = np.diff(index, prepend=-1) - 1
    _, form, parameter = min(_sizes(gaps, dim))
    if form == BITMAP:
        bits = np.zeros(dim, np.uint8)
        bits[index] = 1
    elif form == FIXED:
        bits = spread(gaps, parameter)
    elif form == RICE:
        low = spread(gaps, parameter)  # keeps the low bits alone
        bits = np.concatenate([low, _unary(gaps >> parameter)])
    else:
        bits = _gamma(gaps)
    return Coded(form, parameter, np.packbits(bits).tobytes())


def decode_index(coded: Coded, count: int, dim: int) -> Int64[np.ndarray, "{count}"]:
    """The indices that `encode_index` wrote; anything it would not have written is refused."""
    form, parameter, data = coded
    if form > GAMMA or parameter > _WIDEST:
        raise WireError(f"index form = {form}, {parameter}: must be at most {GAMMA}, {_WIDEST}")
    bits = np.unpackbits(np.frombuffer(data, np.uint8))
    if form == BITMAP:
        index = _ones(bits, count)
    else:
        gaps = _read_gaps(form, parameter, bits, count)
        gaps += 1
        index = np.cumsum(gaps, out=gaps) - 1
    check_index(index, dim)
    # The one proof of all the rest: form and parameter, marks to spare, padding, a sum gone round.
    if encode_index(index, dim) != coded:
        raise WireError(
            "indices: not as they are written: another form is smaller, or there are bits to spare"
        )
    return index


def _sizes(gaps: Int64[np.ndarray, "L"], dim: int) -> Iterator[tuple[int, int, int]]:
    """Bits, form and parameter of every way to write the gaps."""
    n = gaps.size
    width = int(gaps.max(initial=0)).bit_length()
    yield dim, BITMAP, 0
    yield n * width, FIXED, width
    for k in range(width):
        yield int((gaps >> k).sum()) + n * (k + 1), RICE, k
    lengths = sum(int((gaps >= 2**k - 1).sum()) for k in range(width + 1))  # of all gap + 1
    yield 2 * lengths - n, GAMMA, 0


def _read_gaps(
    form: int, parameter: int, bits: UInt8[np.ndarray, "b"], count: int
) -> Int64[np.ndarray, "{count}"]:
    if form == GAMMA:
        return _read_gamma(bits, count)
    fixed = count * parameter
    if bits.size < fixed:
        raise WireError(f"indices: {bits.size} bits; at least {fixed} are needed")
    low = np.zeros(count, np.int64)
    if parameter:
        low[:] = gather(bits[:fixed], parameter)
    return low if form == FIXED else low + (_read_unary(bits[fixed:], count) << parameter)


def _gamma(gaps: Int64[np.ndarray, "L"]) -> UInt8[np.ndarray, "_"]:
    number = gaps + 1
    tail = np.frexp(number)[1].astype(np.int64) - 1  # bit lengths; doubles are exact below 2^53
    groups = (spread(number[tail == w], w) for w in range(1, int(tail.max(initial=0)) + 1))
    return np.concatenate([_unary(tail), *groups])


def _read_gamma(bits: UInt8[np.ndarray, "b"], count: int) -> Int64[np.ndarray, "{count}"]:
    tail = _read_unary(bits, count)
    if tail.max(initial=0) > _WIDEST:
        raise WireError(f"index gap of {tail.max()} bits: at most {_WIDEST} are legal")
    start = int(tail.sum()) + count
    if bits.size < start + int(tail.sum()):
        raise WireError(f"indices: {bits.size} bits; {start + tail.sum()} are needed")
    number = np.left_shift(1, tail)
    for w in range(1, int(tail.max(initial=0)) + 1):
        group = np.flatnonzero(tail == w)
        number[group] += gather(bits[start : start + group.size * w], w)
        start += group.size * w
    return number - 1


def _unary(numbers: Int64[np.ndarray, "L"]) -> UInt8[np.ndarray, "_"]:
    """As many zeros as each number says, and a one."""
    ends = np.cumsum(numbers + 1)
    bits = np.zeros(int(ends[-1]) if ends.size else 0, np.uint8)
    bits[ends - 1] = 1
    return bits


def _read_unary(bits: UInt8[np.ndarray, "b"], count: int) -> Int64[np.ndarray, "{count}"]:
    return np.diff(_ones(bits, count), prepend=-1) - 1


def _ones(bits: UInt8[np.ndarray, "b"], count: int) -> Int64[np.ndarray, "{count}"]:
    """Where the first `count` ones stand."""
    there = np.count_nonzero(bits)
    if there < count:
        raise WireError(f"indices: {there} are marked; the header says {count}")
    return np.flatnonzero(bits)[:count]

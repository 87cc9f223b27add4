"""Whatever arrives, decoding gives a message or a WireError, with memory bounded by the model."""

import contextlib
import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from messages import message

from airfeel.types import BadInput
from airfeel.wire import WireError, decode, encode

HEAD = 38
CORPUS = [
    message(1, "any", 300, 40, 30, 5, 16),  # Rice
    message(2, "any", 40, 33, 0, 2, 2),  # bitmap
    message(3, "even", 4000, 7, 9, 16, 32),  # fixed
    message(4, "clustered", 900, 60, 3, 7, 64),  # gamma
    message(5, "run", 64, 64, 64, 24, 24),
    message(6, "any", 50, 0, 0, 16, 32),
]
FIELDS = {4: "I", 8: "B", 9: "B"}  # dim, form and parameter
FIELDS |= {10: "I", 14: "B", 15: "B", 16: "d"}  # count, bits, width and norm of the local part
FIELDS |= {24: "I", 28: "B", 29: "B", 30: "d"}
EXTREMES = {
    "B": [0, 1, 2, 3, 4, 24, 25, 31, 32, 33, 64, 255],
    "I": [0, 1, 7, 8, 63, 64, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1],
    "d": [0.0, -0.0, 1.0, -1.0, 5e-324, 1e308, float("inf"), float("-inf"), float("nan")],
}


def fixed(body):
    """A body with the checksum that it should have."""
    return bytes(body) + struct.pack(">I", zlib.crc32(body))


def accepted(data, dim):
    """Whether the data was read; if so, it must be the one encoding of what was read."""
    try:
        found = decode(data, dim=dim)
    except WireError:
        return False
    assert encode(found) == data
    found.local.floats(np.float64)
    return True


def flip(rng, body, most):
    changed = bytearray(body)
    for at in rng.integers(0, 8 * len(body), rng.integers(1, most + 1)):
        changed[at // 8] ^= 1 << (at % 8)
    return changed


def test_corpus_covers_every_form():
    assert {encode(m)[8] for m in CORPUS} == {0, 1, 2, 3}
    assert all(accepted(encode(m), m.dim) for m in CORPUS)
    assert issubclass(WireError, BadInput)


def test_random_bytes():
    rng = np.random.default_rng(0)
    for _ in range(3000):
        noise = rng.bytes(int(rng.integers(0, 200)))
        assert not accepted(noise, 300)
        assert not accepted(fixed(b"AFW\x01" + noise), 300)


@pytest.mark.parametrize("m", CORPUS)
def test_altered_bytes_are_noticed(m):
    rng, data = np.random.default_rng(1), encode(m)
    for _ in range(500):
        changed = bytes(flip(rng, data, 3))
        assert changed == data or not accepted(changed, m.dim)


@pytest.mark.parametrize("m", CORPUS)
def test_altered_bytes_with_a_true_checksum(m):
    """Flips anywhere, mostly behind the header: read as another legal message, or refused."""
    rng, body = np.random.default_rng(2), encode(m)[:-4]
    read = 0
    for _ in range(600):
        head = 0 if rng.random() < 0.3 or len(body) == HEAD else HEAD
        read += accepted(fixed(body[:head] + bytes(flip(rng, body[head:], 4))), m.dim)
    assert read  # another value, or number of bits for none, is as good


@pytest.mark.parametrize("m", CORPUS)
def test_noise_behind_a_true_header(m):
    """Random indices and values in the right place, in every form, at every length."""
    rng, body = np.random.default_rng(3), bytearray(encode(m)[:-4])
    for _ in range(500):
        body[8], body[9] = rng.integers(0, 5), rng.integers(0, 33)
        keep = int(rng.integers(HEAD, len(body) + 1))
        accepted(fixed(bytes(body[:keep]) + rng.bytes(len(body) - keep)), m.dim)
        more = int(rng.integers(-8, 9))
        accepted(fixed(bytes(body[:HEAD]) + rng.bytes(max(len(body) - HEAD + more, 0))), m.dim)


@pytest.mark.parametrize("m", CORPUS)
def test_truncated_and_longer(m):
    data = encode(m)
    for size in range(len(data)):
        assert not accepted(data[:size], m.dim)
        if size < len(data) - 4:
            assert not accepted(fixed(data[:size]), m.dim)
    for more in (b"\0", b"\1", b"\0\0\0\0", b"\xff" * 40, bytes(10_000)):
        assert not accepted(data + more, m.dim)
        assert not accepted(fixed(data[:-4] + more), m.dim)


def illegal(at, value, dim):
    """Whether no message of this model may have the value in this field."""
    kind = FIELDS[at]
    if kind == "d":
        return not np.isfinite(value) or np.signbit(value)
    if kind == "I":
        return value != dim if at == 4 else value > dim
    if at in (14, 28):
        return value not in (*range(2, 25), 32, 64)
    return not (at > 9) <= value <= {8: 3, 9: 31}.get(at, 64)


@pytest.mark.parametrize("m", CORPUS)
def test_header_fields_of_every_size(m):
    body = encode(m)[:-4]
    for at, kind in FIELDS.items():
        for value in EXTREMES[kind]:
            changed = bytearray(body)
            struct.pack_into(">" + kind, changed, at, value)
            for more in (0, 1, 64):
                read = accepted(fixed(bytes(changed) + bytes(more)), m.dim)
                assert not (read and illegal(at, value, m.dim))


def test_every_check_speaks():
    """Each fault, made alone, is named."""
    m = message(1, "any", 300, 40, 30, 5, 11)
    body = encode(m)[:-4]

    def refused(why, changed, **limits):
        with pytest.raises(WireError, match=why):
            decode(fixed(changed), **{"dim": 300, **limits})

    def with_field(at, kind, value):
        changed = bytearray(body)
        struct.pack_into(">" + kind, changed, at, value)
        return changed

    refused("magic", b"AFX" + body[3:])
    refused("version = 2: must be 1", with_field(3, "B", 2))
    refused("dim = 300: must be 301", body, dim=301)
    refused("dim = 0: must be from 1", body, dim=0)
    refused("local count = 40: must be 41", body, k_local=41)
    refused("common count = 30: must be 29", body, k_common=29)
    refused("local count = 301: at most 300", with_field(10, "I", 301))
    refused("bits = 25", with_field(14, "B", 25))
    refused("width = 6: must be from 1 to 5", with_field(15, "B", 6))
    refused("norm = -1.0", with_field(16, "d", -1.0))
    refused("norm = nan", with_field(30, "d", np.nan))
    refused("too few or too many", body + bytes(40))
    refused("too few or too many", body[:HEAD])
    refused("form = 4", with_field(8, "B", 4))
    refused("padding bits", body[:-1] + bytes([body[-1] | 1]))
    with pytest.raises(WireError, match="altered"):
        decode(body + b"\0\0\0\0", dim=300)


def test_only_the_smallest_width_is_read():
    """One level of 1 in two bits with its sign; three bits would do as well."""
    head = struct.pack(">3sBIBB", b"AFW", 1, 1, 1, 0)
    local, common = (struct.pack(">IBBd", n, 4, w, float(n)) for n, w in ((1, 2), (0, 1)))
    assert accepted(fixed(head + local + common + b"\x40"), 1)
    wider = local.replace(b"\x04\x02", b"\x04\x03")
    with pytest.raises(WireError, match="width = 3: must be 2"):
        decode(fixed(head + wider + common + b"\x20"), dim=1)


@pytest.mark.parametrize("zeros", [31, 32, 63, 64, 65, 500])
def test_gamma_codes_of_any_length(zeros):
    """A number of more bits than any index has."""
    bits = np.zeros(2000, np.uint8)
    bits[zeros] = 1
    head = header(2000, 3, 0, 1, 0) + np.packbits(bits).tobytes() + b"\x40"
    with pytest.raises(WireError, match=r"must lie in 0 to 1999" if zeros == 31 else "at most 31"):
        decode(fixed(head), dim=2000)


@pytest.mark.parametrize("parameter", [5, 31])
def test_rice_codes_of_any_size(parameter):
    """Gaps whose sum is beyond the model, and beyond 64 bits."""
    ones = np.packbits(np.tile([0] * 63 + [1], 200).astype(np.uint8)).tobytes()
    low = b"\xff" * (200 * parameter // 8)
    body = header(20_000, 2, parameter, 200, 0) + low + ones + b"\x55" * 50
    with pytest.raises(WireError, match="must lie in 0 to 19999" if parameter == 31 else "index"):
        decode(fixed(body), dim=20_000)


def test_only_the_smallest_form_is_read():
    m = message(1, "any", 300, 40, 0, 5, 5)
    body = encode(m)[:-4]
    bitmap = np.zeros(300, np.uint8)
    bitmap[m.index] = 1
    values = body[len(body) - (40 * m.local.width + 7) // 8 :]
    larger = body[:8] + b"\0\0" + body[10:HEAD] + np.packbits(bitmap).tobytes() + values
    with pytest.raises(WireError, match="another form is smaller"):
        decode(fixed(larger), dim=300)


def peak_of(data, dim):
    """Octets that decoding takes beside the data."""
    tracemalloc.start()
    try:
        with contextlib.suppress(WireError):
            decode(data, dim=dim)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_is_bounded_by_the_callers_limits():
    huge = header(1000, 1, 0, 2**32 - 1, 0)
    assert peak_of(fixed(huge), 1000) < 20_000
    assert peak_of(fixed(huge + bytes(10_000_000)), 1000) < 20_000
    dim = 2**20
    for form, parameter, count in [(0, 0, dim), (1, 1, dim), (2, 0, dim), (3, 0, dim), (3, 0, 9)]:
        for stream in (b"\xff" * (dim // 8), bytes(dim // 8)):
            values = bytes(-(-count // 4) + dim // 4)
            hostile = fixed(header(dim, form, parameter, count, dim) + stream + values)
            assert peak_of(hostile, dim) < 40 * dim
    legal = message(1, "run", 2**17, 2**17, 2**17, 64, 64)
    assert peak_of(encode(legal), 2**17) < 50 * 2**17


def header(dim, form, parameter, local, common):
    """A header that asks for 2-bit values."""
    index = (b"AFW", 1, dim, form, parameter)
    return struct.pack(">3sBIBBIBBdIBBd", *index, local, 2, 2, 1.0, common, 2, 2, float(common > 0))

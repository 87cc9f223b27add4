"""A message comes back as it was, in the bytes that it always had."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from messages import MESSAGES, message
from plain_reader import read

from airfeel.wire import Message, Values, decode, encode, from_raw, size_bits
from airfeel.wire.codec import OVERHEAD

NOTHING = from_raw(np.zeros(0, np.float32))


@settings(max_examples=300)
@given(MESSAGES)
def test_what_is_sent_is_received(m):
    data = encode(m)
    assert decode(data, dim=m.dim) == m
    same = decode(data, dim=m.dim, k_common=len(m.common), k_local=len(m.local))
    assert encode(same) == data
    assert 8 * len(data) == size_bits(m).measured


@settings(max_examples=100)
@given(MESSAGES)
def test_the_format_is_as_it_is_described(m):
    dim, index, local, common = read(encode(m))
    assert (dim, index) == (m.dim, m.index.tolist())
    for plain, part in ((local, m.local), (common, m.common)):
        assert np.array(plain).tobytes() == part.floats(np.float64).tobytes()


@settings(max_examples=200)
@given(MESSAGES)
def test_never_above_the_papers_charge(m):
    """(log2 d + q)·L + q·K bits, and at most the header and four padded octets more."""
    size = size_bits(m)
    assert size.formula == pytest.approx(
        len(m.local) * (math.log2(m.dim) + m.local.bits) + len(m.common) * m.common.bits
    )
    assert size.measured <= size.formula + 8 * OVERHEAD + 32


@settings(max_examples=300)
@given(st.integers(1, 2**31 - 1), st.data())
def test_few_indices_in_a_large_model(dim, data):
    drawn = data.draw(st.sets(st.integers(0, dim - 1), max_size=12))
    index = np.array(sorted(drawn), np.int64)
    m = Message(dim, index, from_raw(np.ones(len(index), np.float32)), NOTHING)
    encoded = encode(m)
    assert decode(encoded, dim=dim) == m
    assert 8 * len(encoded) <= size_bits(m).formula + 8 * OVERHEAD + 16


@pytest.mark.parametrize("bits", [2, 9, 16, 24, 32, 64])
def test_empty_parts(bits):
    none = Values(bits, 0.0, np.zeros(0, np.uint64 if bits == 64 else np.uint32))
    m = Message(5, np.zeros(0, np.int64), none, none)
    data = encode(m)
    assert len(data) == OVERHEAD
    assert decode(data, dim=5, k_common=0, k_local=0) == m


def test_messages_differ():
    one = message(0, "any", 50, 7, 5, 6, 32)
    assert one != message(0, "any", 51, 7, 5, 6, 32)
    assert one != Message(50, one.index, one.local, from_raw(np.ones(5, np.float32)))
    assert one.local != Values(6, one.local.norm / 2, one.local.code)
    assert one.local != 3
    assert one != 3


def test_indices_cost_their_entropy():
    """Uniform masks: the Rice form lies close to log2 of the number of masks."""
    rng, d = np.random.default_rng(5), 258_898
    for share, slack in ((0.001, 0.03), (0.05, 0.02), (0.2, 0.03), (0.4, 0.04), (0.5, 0.001)):
        count = round(share * d)
        index = np.sort(rng.choice(d, count, replace=False))
        m = Message(d, index, from_raw(np.ones(count, np.float32)), NOTHING)
        entropy = (
            math.lgamma(d + 1) - math.lgamma(count + 1) - math.lgamma(d - count + 1)
        ) / math.log(2)
        assert entropy - 64 <= size_bits(m).index <= entropy * (1 + slack)


@pytest.mark.parametrize(("spread", "share"), [(1.0, 0.88), (0.02, 0.65)])
def test_a_round_of_the_paper(spread, share):
    """TCS-D with φ = (0.2, 0.05) and q = 16: below the formula, more so with low levels."""
    rng, (d, k, n) = np.random.default_rng(6), (258_898, 51_780, 12_945)
    level = rng.integers(0, round(spread * 2**15), k + n).astype(np.uint32)
    code = level | rng.integers(0, 2, k + n).astype(np.uint32) << np.uint32(15)
    index = np.sort(rng.choice(d, n, replace=False))
    m = Message(d, index, Values(16, 1.0, code[:n]), Values(16, 1.0, code[n:]))
    size = size_bits(m)
    assert size.measured == 8 * len(encode(m)) < share * size.formula
    assert size.measured < 32 * d / 7


def _golden(dim, index, bits):
    count = np.arange(len(index), dtype=np.uint32)
    code = count // 2 % 2 ** (bits - 1) + (count % 2 << (bits - 1))
    common = from_raw(np.array([1.0, -2.5][: dim % 3], np.float64))
    return Message(dim, np.array(index), Values(bits, 0.75, code), common)


GOLDEN = {
    "bitmap": (
        _golden(17, [0, 1, 3, 4, 7, 8, 10, 14, 16], 5),
        "41465701000000110000"
        "0000000905043fe8000000000000"
        "0000000240400000000000000000"
        "d9a28008192a3b403ff0000000000000c004000000000000586fd071",
    ),
    "fixed": (
        _golden(4096, [1000, 2000, 3001, 4095], 7),
        "4146570100001000010b"
        "0000000407023fe8000000000000"
        "0000000140400000000000000000"
        "7d0f9df44450273ff000000000000034cfc964",
    ),
    "rice": (
        _golden(300, [17, 21, 22, 80, 95, 97, 130, 222, 230], 24),
        "414657010000012c0204"
        "0000000918043fe8000000000000"
        "0000000040400000000000000000"
        "1309e10b771c8308192a3b40c79e943a",
    ),
    "gamma": (
        _golden(91, [0, 1, 2, 3, 4, 5, 6, 50, 51, 52, 53], 2),
        "414657010000005b0300"
        "0000000b02023fe8000000000000"
        "0000000140400000000000000000"
        "fe0f602727243ff0000000000000533aa6e7",
    ),
}


@pytest.mark.parametrize("form", GOLDEN)
def test_the_bytes_stay(form):
    m, data = GOLDEN[form]
    assert encode(m).hex() == data
    assert list(GOLDEN).index(form) == bytes.fromhex(data)[8]

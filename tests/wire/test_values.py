"""The receiver holds what the quantiser gave, bit for bit."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from airfeel.compression.quantize import norm, quantize
from airfeel.wire import Message, Values, WireError, decode, encode, from_quantised, from_raw

NOTHING = from_raw(np.zeros(0, np.float32))
NUMBERS = {
    np.dtype(kind): st.lists(st.floats(-big, big, width=8 * size), min_size=1, max_size=30)
    for kind, size, big in ((np.float32, 4, 2.0**120), (np.float64, 8, 2.0**900))
}


def check(x, bits, seed):
    vector = torch.from_numpy(x)
    said = quantize(vector, bits, np.random.default_rng(seed).random(len(x))).numpy()
    sent = Message(len(x), np.arange(len(x)), from_quantised(said, norm(vector), bits), NOTHING)
    heard = decode(encode(sent), dim=len(x)).local.floats(x.dtype)
    assert heard.dtype == x.dtype
    assert heard.tobytes() == said.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bits", range(2, 25))
def test_equal_to_the_quantiser(bits, dtype):
    """Values of many sizes, a dominant one (levels near s) and zeros, of many norms."""
    rng = np.random.default_rng(bits)
    for scale in (1e-30, 1e-3, 1.0, np.pi, 1e20):
        x = rng.standard_normal(3000) ** 3
        x[0], x[1], x[2] = 1e4, 0.0, -0.0
        check((scale * x).astype(dtype), bits, 0)


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
@settings(max_examples=300)
@given(st.data(), st.integers(2, 24), st.integers(0, 99))
def test_equal_to_the_quantiser_for_any_numbers(dtype, data, bits, seed):
    check(np.array(data.draw(NUMBERS[dtype]), dtype), bits, seed)


@pytest.mark.parametrize("bits", [2, 3, 16, 24])
@pytest.mark.parametrize("tiny", [(np.float32, 1.4e-45), (np.float64, 5e-324)], ids=str)
def test_equal_to_the_quantiser_where_values_underflow(bits, tiny):
    dtype, unit = tiny
    whole = np.random.default_rng(2).integers(-3, 4, (50, 7))
    for seed, row in enumerate(whole):
        check((row * unit).astype(dtype), bits, seed)


@pytest.mark.parametrize("bits", [8, 16])
def test_negative_zero_is_kept(bits):
    said = quantize(torch.tensor([1.0, -1e-9, 1e-9]), bits, np.ones(3)).numpy()
    part = from_quantised(said, norm(torch.tensor([1.0, -1e-9, 1e-9])), bits)
    assert np.signbit(part.floats()).tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_raw_values_are_kept(dtype):
    x = np.array([0.0, -0.0, 1 / 3, np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal], dtype)
    part = from_raw(x)
    data = encode(Message(5, np.arange(5), part, part))
    x[:] = 7.0  # the message is not touched by what happens to the array it was made of
    assert data == encode(Message(5, np.arange(5), part, part))
    heard = decode(data, dim=5).common.floats(dtype)
    assert heard.tobytes() == part.floats(dtype).tobytes()
    assert heard[2] == dtype(1 / 3)


def test_other_values_are_refused():
    one = np.array([0.5, -1.5], np.float32)
    assert len(from_quantised(one, 1.5, 3)) == 2
    bad = [
        (one, 1.5000001, 3),  # another norm
        (np.array([0.6], np.float32), 1.5, 3),  # between levels
        (np.array([2.0], np.float32), 1.5, 3),
        (np.array([1e30], np.float32), 1.5, 3),
        (np.array([np.nan], np.float32), 1.5, 3),
        (np.array([np.inf], np.float32), 1.5, 3),
        (one, 0.0, 3),
        (np.array([1e300]), 5e-324, 3),
        (one, -1.5, 3),
        (one, float("nan"), 3),
        (one, float("inf"), 3),
        (one, 1.5, 1),
        (one, 1.5, 25),
        (one, 1.5, 32),
    ]
    for values, length, bits in bad:
        with pytest.raises(WireError):
            from_quantised(values, length, bits)
    with pytest.raises(WireError, match="float16"):
        from_raw(np.ones(2, np.float16))
    with pytest.raises(WireError, match="finite"):
        from_raw(np.array([1.0, np.nan], np.float32))


def test_a_norm_too_large_for_the_model_is_refused():
    part = Values(4, 1e300, np.array([7], np.uint32))
    assert part.floats(np.float64) == [1e300]
    with pytest.raises(WireError, match=r"range of float32 for norm = 1e\+300"):
        part.floats(np.float32)


@pytest.mark.parametrize(
    ("bits", "norm", "code"),
    [
        (1, 1.0, np.zeros(1, np.uint32)),
        (31, 1.0, np.zeros(1, np.uint32)),
        (4, -0.0, np.zeros(1, np.uint32)),
        (4, 1.0, np.zeros(0, np.uint32)),
        (4, 1.0, np.full(1, 16, np.uint32)),
        (4, 1.0, np.zeros(1, np.uint64)),
        (32, 1.0, np.zeros(1, np.uint32)),
        (32, 0.0, np.full(1, 0x7F800000, np.uint32)),
        (64, 0.0, np.zeros(1, np.uint32)),
    ],
)
def test_illegal_values(bits, norm, code):
    with pytest.raises(WireError):
        Values(bits, norm, code)


@pytest.mark.parametrize(
    ("dim", "index", "common"),
    [
        (0, [], 0),
        (2**31, [], 0),
        (5, [5], 0),
        (5, [-1], 0),
        (5, [2, 2], 0),
        (5, [3, 1], 0),
        (5, [1, 2, 3], 0),
        (5, [], 6),
    ],
)
def test_illegal_messages(dim, index, common):
    local = from_raw(np.ones(min(len(index), 2), np.float32))
    with pytest.raises(WireError):
        Message(dim, np.array(index, np.int64), local, from_raw(np.ones(common, np.float32)))

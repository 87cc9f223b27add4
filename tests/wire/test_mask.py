"""A mask alone: what was written is read, and nothing else is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import indices

from airfeel.wire import WireError, decode_mask, encode_mask

MASK = np.array([3, 4, 17, 90])
WRITTEN = encode_mask(MASK, 100)


@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(["even", "run", "clustered", "any"]),
    dim=st.integers(1, 3000),
    share=st.floats(0, 1),
)
def test_what_is_written_is_read(seed, kind, dim, share):
    index = indices(np.random.default_rng(seed), kind, dim, int(share * dim)).astype(np.int64)
    data = encode_mask(index, dim)
    assert np.array_equal(decode_mask(data, dim=dim), index)
    assert len(data) <= 18 + -(-dim // 8)


def test_every_bit_that_is_flipped_is_noticed():
    for at in range(8 * len(WRITTEN)):
        changed = bytearray(WRITTEN)
        changed[at // 8] ^= 1 << (at % 8)
        with pytest.raises(WireError):
            decode_mask(bytes(changed), dim=100)


@pytest.mark.parametrize(
    ("data", "dim"),
    [
        (b"", 100),
        (WRITTEN[:-1], 100),
        (WRITTEN + b"\0", 100),
        (WRITTEN, 101),
        (bytes(1000), 100),
    ],
)
def test_what_nobody_has_written_is_refused(data, dim):
    with pytest.raises(WireError, match="mask"):
        decode_mask(data, dim=dim)


@pytest.mark.parametrize("index", [[1, 1], [2, 1], [-1], [100]])
def test_indices_must_be_sorted_and_within_the_model(index):
    with pytest.raises(WireError, match="index"):
        encode_mask(np.array(index), 100)

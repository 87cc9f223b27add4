"""Messages of all kinds, for the tests of the wire."""

import numpy as np
from hypothesis import strategies as st

from airfeel.wire import Message, Values, from_raw

BITS = [*range(2, 25), 32, 64]


def values(rng: np.random.Generator, count: int, bits: int) -> Values:
    """Any legal values."""
    if bits >= 32:
        return from_raw(rng.standard_normal(count).astype(np.float32 if bits == 32 else np.float64))
    norm = float(rng.exponential()) if count else 0.0
    level = rng.integers(0, 2 ** rng.integers(0, bits), count)
    return Values(bits, norm, (level | rng.integers(0, 2, count) << (bits - 1)).astype(np.uint32))


def indices(rng: np.random.Generator, kind: str, dim: int, count: int) -> np.ndarray:
    """Sorted distinct indices: even, in one run, in clusters, or any."""
    if kind == "even":
        return np.arange(count) * (dim // max(count, 1))
    if kind == "run":
        return np.arange(count) + int(rng.integers(dim - count + 1))
    if kind == "clustered":
        gaps = rng.choice([1, 2, 40], count, p=[0.8, 0.15, 0.05])
        index = np.cumsum(gaps) - 1
        return index[index < dim]
    return np.sort(rng.choice(dim, count, replace=False))


def message(seed: int, kind: str, dim: int, local: int, common: int, q: int, r: int) -> Message:
    """Any legal message of about these sizes."""
    rng = np.random.default_rng(seed)
    index = indices(rng, kind, dim, min(local, dim)).astype(np.int64)
    return Message(dim, index, values(rng, len(index), q), values(rng, min(common, dim), r))


MESSAGES = st.builds(
    message,
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(["even", "run", "clustered", "any"]),
    dim=st.one_of(st.integers(1, 40), st.integers(1, 30_000)),
    local=st.one_of(st.integers(0, 20), st.integers(0, 10_000)),
    common=st.one_of(st.integers(0, 20), st.integers(0, 10_000)),
    q=st.sampled_from(BITS),
    r=st.sampled_from(BITS),
)

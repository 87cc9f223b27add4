"""The compiled loops of compression give what the plain reading gives."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from airfeel.compression import masks, native
from airfeel.compression.average import average
from airfeel.compression.masks import top_k, top_k_outside
from airfeel.compression.memory import ErrorMemory, compensate, residual
from airfeel.compression.quantize import norm, quantize
from airfeel.types import Agreed, BadInput, Delivery, Received, Said
from sanitize import printed

pytestmark = pytest.mark.skipif(native.KERNEL.missing is not None, reason="no C++ compiler")
TYPES = [np.float32, np.float64]


def plainly(function, *args, **more):
    """Without the kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "serves", lambda *vectors: False)
        return function(*args, **more)


@st.composite
def vectors(draw):
    """Few different magnitudes (ties), many of them over the whole range, or Gaussian ones."""
    kind, d = draw(st.sampled_from(TYPES)), draw(st.integers(1, 400))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    how = draw(st.sampled_from(["ties", "range", "normal", "zeros"]))
    if how == "ties":
        x = rng.integers(-3, 4, d)
    elif how == "range":
        top = np.log(np.finfo(kind).max) - 1
        x = rng.choice([-1, 1], d) * np.exp(rng.uniform(-top - 20, top, d))  # subnormal ones too
    else:
        x = rng.standard_normal(d) * (how == "normal")
    return torch.from_numpy(x.astype(kind)), rng


@settings(max_examples=400)
@given(vectors(), st.data())
def test_masks_are_equal(drawn, data):
    x, rng = drawn
    k = data.draw(st.integers(0, len(x)))
    assert torch.equal(top_k(x, k), plainly(top_k, x, k))
    masked = data.draw(st.integers(0, len(x)))
    support = torch.from_numpy(np.sort(rng.permutation(len(x))[:masked]))
    k = data.draw(st.integers(0, len(x) - masked))
    found = top_k_outside(x, k, support)
    assert torch.equal(found, plainly(top_k_outside, x, k, support))


@given(vectors(), st.integers(0, 5), st.integers(0, 20))
def test_sums_of_own_entries_are_equal(drawn, devices, own):
    x, rng = drawn
    own = min(own, len(x))
    index = np.array([rng.permutation(len(x))[:own] for _ in range(devices)], np.int64)
    value = rng.standard_normal((devices, own)).astype(x.numpy().dtype)
    received = Received(
        *(np.arange(devices), np.arange(devices), x[:0]),
        *(torch.from_numpy(index.reshape(devices, own)), torch.from_numpy(value)),
        *(devices, np.zeros(1, int)),
    )
    none = torch.zeros(0, dtype=torch.int64)
    found = average(received, none, len(x), devices)
    assert torch.equal(found, plainly(average, received, none, len(x), devices))
    if own and devices:
        with pytest.raises(IndexError, match="scatter: an index lies outside"):
            native.scatter(received.value, received.index + len(x), x.clone())


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("tail", ["one size", "heavy", "few", "sorted"])
def test_masks_of_long_vectors_are_equal(kind, tail):
    rng = np.random.default_rng(1)
    x = rng.standard_normal(100_003)
    x = {
        "one size": np.where(x > 0, 1.0, -1.0),
        "heavy": x / rng.random(len(x)) ** 4,
        "few": np.where(rng.random(len(x)) < 0.01, x, 0.0),
        "sorted": np.sort(x),
    }[tail]
    x = torch.from_numpy(x.astype(kind))
    for k in (1, 500, 5_000, 80_000, len(x) - 1):
        mask = top_k(x, k)
        assert torch.equal(mask, plainly(top_k, x, k))
        rest = min(k, len(x) - k)
        found = top_k_outside(x, rest, mask)
        assert torch.equal(found, plainly(top_k_outside, x, rest, mask))


@settings(max_examples=300)
@given(vectors(), st.sampled_from([2, 3, 8, 16, 24]))
def test_quantised_values_are_equal(drawn, bits):
    """All of them, but where the last digit of the norm decides between two levels."""
    x, rng = drawn
    dice = rng.random(len(x))
    ours, plain = quantize(x, bits, dice), plainly(quantize, x, bits, dice)
    assert norm(x) == pytest.approx(plainly(norm, x), rel=1e-14)
    step = norm(x) / (2 ** (bits - 1) - 1)
    apart = (ours.double() - plain.double()).abs()
    digits = 1e-6 if x.dtype == torch.float32 else 1e-14
    same = apart <= digits * plain.double().abs() + np.finfo(np.float64).tiny
    assert (same | (apart <= 1.001 * step)).all()
    assert same.double().mean() > 0.99


@settings(max_examples=200)
@given(st.integers(0, 5), st.integers(1, 40), st.sampled_from(TYPES), st.data())
def test_rows_are_as_each_alone(n, d, kind, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    x = torch.from_numpy(rng.integers(-9, 10, (n, d)).astype(kind))
    support = torch.from_numpy(np.sort(rng.permutation(d)[: data.draw(st.integers(0, d))]))
    k = data.draw(st.integers(0, d - len(support)))
    dice = rng.random((n, d + 3))[:, 1 : 1 + k]
    for plain in (lambda f, *args: f(*args), plainly):
        index = plain(top_k_outside, x, k, support)
        assert index.shape == (n, k)
        value = plain(quantize, x.gather(1, index), 8, dice)
        for i in range(n):
            assert torch.equal(index[i], plain(top_k_outside, x[i], k, support))
            assert torch.equal(value[i], plain(quantize, x[i][index[i]], 8, dice[i]))


def spoken(support, common, index, value):
    """What n devices said."""
    n, none = len(common), np.zeros(len(common))
    each = (common, index, value, none, none[:, None], none)
    return Said(np.arange(n), none == 0, Agreed(support), *each)


@settings(max_examples=200)
@given(st.integers(1, 5), vectors(), st.booleans(), st.data())
def test_memory_is_equal(n, drawn, in_place, data):
    """What some rows leave unsaid, put at some places of the memory, which may be x itself."""
    first, rng = drawn
    x = torch.stack([first[torch.from_numpy(rng.permutation(len(first)))] for _ in range(n)])
    order = rng.permutation(len(first))
    k, rest = sorted(data.draw(st.tuples(*[st.integers(0, len(first))] * 2)))
    support = torch.from_numpy(np.sort(order[:k]))
    index = torch.from_numpy(np.sort(order[k:rest])).expand(n, -1).contiguous()
    said = (support, x.index_select(1, support), index, x.gather(1, index) * 0.5)
    rows = np.flatnonzero(rng.random(n) < 0.7)
    places = rows if in_place else rng.permutation(n + 2)[: len(rows)]
    memory = x.clone() if in_place else torch.zeros(n + 2, len(first), dtype=x.dtype)
    expected = memory.clone()
    for row, place in zip(rows.tolist(), places.tolist(), strict=True):
        expected[place] = residual(x[row], support, *(part[row] for part in said[1:]))
    for plain in (lambda f, *args: f(*args), plainly):
        kept = memory.clone()
        words = spoken(*said)
        all_of_it, held = Delivery(np.ones(n, dtype=bool)), {"memory": kept}
        source = kept if in_place else x
        plain(ErrorMemory().remember, source, words, all_of_it, rows, held, places)
        assert torch.equal(kept, expected)


@settings(max_examples=200)
@given(
    hnp.arrays(np.float32, (3, 7), elements=st.floats(width=32)),
    st.sampled_from([torch.float32, torch.float64]),
)
def test_what_is_not_finite_is_found_and_left_out(delta, kind):
    delta = torch.from_numpy(delta).to(kind)
    memory = torch.arange(35.0, dtype=kind).view(5, 7)
    places = np.array([3, 0, 4])
    finite = torch.isfinite(delta + memory[places]).all(dim=1)
    expected = torch.where(finite[:, None], delta + memory[places], memory[places])
    for plain in (lambda f, *args: f(*args), plainly):
        x = torch.empty_like(delta)
        assert plain(compensate, delta, memory, places, x).tolist() == finite.tolist()
        assert torch.equal(x, expected)


def test_wrong_indices_and_shapes_are_refused():
    x, row = torch.ones(2, 5), np.array([0])
    one, index = torch.ones(2, 1), torch.zeros(2, 1, dtype=torch.int64)
    for bad in (-1, 5, 2**62):
        mask = torch.tensor([bad])
        with pytest.raises(IndexError, match="top_k: an index lies outside of the vector's 5 ent"):
            top_k_outside(x, 2, mask)
        with pytest.raises(IndexError, match="keep: an index lies outside"):
            native.keep(x, row, mask, one, index, one, row, x.clone(), row)
        with pytest.raises(IndexError, match="keep: an index lies outside"):
            native.keep(x, row, mask[:0], one[:, :0], index + bad, one, row, x.clone(), row)
    mask = torch.tensor([0])
    for bad in (-1, 2):
        with pytest.raises(IndexError, match=f"rows {bad} to {bad}: there are 2"):
            native.keep(x, np.array([bad]), mask, one, index, one, row, x.clone(), row)
        with pytest.raises(IndexError, match=f"rows {bad} to {bad}: there are 2"):
            compensate(x[:1], x, np.array([bad]), x[:1].clone())
    with pytest.raises(BadInput, match=r"shapes \(1,\), \(2,\): must be the same"):
        native._check_same("shapes", row.shape, (2,))  # before this, types are checked here
    for k in (-1, 6):
        with pytest.raises(BadInput, match=f"k = {k}: must be from 0 to 5"):
            top_k(x, k)


def test_other_vectors_go_the_plain_way():
    assert native.serves(torch.ones(4))
    assert not native.serves(torch.ones(4, dtype=torch.bfloat16))
    assert not native.serves(torch.ones(4, 2)[:, 0])
    assert not native.serves(torch.ones(4), torch.ones(4, dtype=torch.float64))
    assert masks.top_k(torch.tensor([1.0, 9.0, 4.0, 9.0])[::2], 1).tolist() == [1]


@pytest.mark.parametrize("tuning", [None, ()])
def test_a_sanitizer_finds_nothing(tuning: tuple[str, ...] | None, tmp_path: Path) -> None:
    """Address and undefined-behaviour sanitizers, in arrays of exact size."""
    driver = Path(__file__).with_name("loops_sanitize.cpp")
    assert printed(driver, native.KERNEL.folder, tmp_path, tuning=tuning) == "300 vectors\n"

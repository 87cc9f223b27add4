"""The compiled loops of compression give what the plain reading gives."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from airfeel import compiled
from airfeel.compress import masks, native
from airfeel.compress.masks import top_k, top_k_outside
from airfeel.compress.memory import compensate, residual
from airfeel.compress.quantize import norm, quantize
from airfeel.types import BadInput
from sanitize import printed

pytestmark = pytest.mark.skipif(
    compiled.library_if_any(native.SOURCES) is None, reason="no C++ compiler"
)
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
@given(vectors(), st.data())
def test_memory_is_equal(drawn, data):
    x, rng = drawn
    order = rng.permutation(len(x))
    k, rest = sorted(data.draw(st.tuples(*[st.integers(0, len(x))] * 2)))
    support, index = (torch.from_numpy(np.sort(part)) for part in (order[:k], order[k:rest]))
    common, value = x[support], x[index] * 0.5
    said = (support, common, index, value)
    kept = residual(x, *said, out=torch.empty_like(x))
    assert torch.equal(kept, plainly(residual, x, *said))
    assert torch.equal(residual(x, *said), kept)


@settings(max_examples=200)
@given(
    hnp.arrays(np.float32, st.integers(1, 60), elements=st.floats(width=32)),
    st.sampled_from([torch.float32, torch.float64]),
)
def test_what_is_not_finite_is_found(delta, kind):
    delta = torch.from_numpy(delta).to(kind)
    memory, x, y = torch.full_like(delta, 2.5), torch.empty_like(delta), torch.empty_like(delta)
    assert compensate(delta, memory, x) == bool(torch.isfinite(delta + memory).all())
    assert plainly(compensate, delta, memory, y) == bool(torch.isfinite(y).all())
    assert torch.equal(x.nan_to_num(), y.nan_to_num())


def test_wrong_indices_and_lengths_are_refused():
    x = torch.ones(5)
    for bad in (-1, 5, 2**62):
        with pytest.raises(IndexError, match="top_k: an index lies outside of the vector's 5 ent"):
            top_k_outside(x, 2, torch.tensor([bad]))
        with pytest.raises(IndexError, match="keep: an index lies outside"):
            residual(x, torch.tensor([bad]), x[:1], torch.tensor([0]), x[:1])
    with pytest.raises(BadInput, match=r"vectors of \[5, 4\] entries: must have the same length"):
        native._check_lengths(x, np.zeros(4))  # before this, types are checked here
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
    assert printed(driver, native.SOURCES, tmp_path, tuning=tuning) == "300 vectors\n"

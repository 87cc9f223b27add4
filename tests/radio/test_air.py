import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from airfeel.radio import native
from airfeel.radio.energy import needed_energy, segment_energy
from airfeel.radio.transmission.air import superpose
from airfeel.segments import air_slots, segment_sizes


@given(k=st.integers(0, 500), m=st.integers(1, 40))
def test_segments_are_even_and_longer_ones_first(k, m):
    sizes = segment_sizes(k, m)
    expected = [len(part) for part in np.array_split(np.arange(k), m)]
    assert sizes.tolist() == expected
    assert air_slots(k, m) == math.ceil(k / m) == sizes.max()


@given(k=st.integers(0, 60), m=st.integers(1, 12))
def test_energy_is_by_segment(k, m):
    rng = np.random.default_rng(k)
    x, h = rng.normal(size=k), rng.rayleigh(size=m)
    parts = np.array_split(x, m)
    energy = segment_energy(torch.from_numpy(x), m)
    np.testing.assert_allclose(energy, [np.sum(p**2) for p in parts])
    needed = needed_energy(energy[None], h[None] ** 2, 3.0)[0]
    by_hand = sum(np.sum((3.0 * p / g) ** 2) for p, g in zip(parts, h, strict=True))
    assert needed == pytest.approx(by_hand)


@pytest.mark.skipif(native.KERNEL.missing is not None, reason="no C++ compiler")
@given(k=st.integers(0, 300), m=st.integers(1, 12), wide=st.booleans())
def test_compiled_energy_is_that_of_the_plain_reading(k, m, wide):
    shape = (2, k) if k % 2 else (k,)
    x = np.random.default_rng(k).normal(size=shape).astype(np.float64 if wide else np.float32)
    compiled = segment_energy(torch.from_numpy(x), m)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native.KERNEL, "missing", "left out by the test")
        plain = segment_energy(torch.from_numpy(x), m)
    assert compiled.shape == (*shape[:-1], m)
    np.testing.assert_allclose(compiled, plain, rtol=1e-14)
    assert (compiled == 0).tolist() == (plain == 0).tolist()


@pytest.mark.skipif(native.KERNEL.missing is not None, reason="no C++ compiler")
@given(n=st.integers(0, 5), k=st.integers(0, 300), m=st.integers(1, 12), wide=st.booleans())
def test_the_compiled_sum_of_the_air_is_that_of_the_plain_reading(n, k, m, wide):
    rng = np.random.default_rng(k)
    x = (rng.normal(size=(n, k)) * 10.0 ** rng.integers(-40, 30, (n, 1))).astype(
        np.float64 if wide else np.float32
    )
    gain, loud, spoken = rng.rayleigh(size=(n, m)), rng.rayleigh(size=(n, m)), rng.random(n) < 0.7
    compiled = superpose(torch.from_numpy(x), gain, loud, spoken)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native.KERNEL, "missing", "left out by the test")
        plain = superpose(torch.from_numpy(x), gain, loud, spoken)
    assert compiled.numpy().tobytes() == plain.numpy().tobytes()


def test_silence_over_a_dead_channel_is_free_and_speech_is_impossible():
    energy = np.array([[0.0, 1.0], [1.0, 1.0]])
    gain2 = np.array([[0.0, 2.0], [0.0, 2.0]])
    assert needed_energy(energy, gain2, 2.0).tolist() == [2.0, math.inf]


def test_the_air_adds():
    rng = np.random.default_rng(0)
    common, gain = torch.from_numpy(rng.normal(size=(4, 11))), rng.rayleigh(size=(4, 3))
    inverted, everyone = 7.0 / gain, np.ones(4, dtype=bool)
    torch.testing.assert_close(superpose(common, gain, inverted, everyone), 7.0 * common.sum(dim=0))
    some = np.array([True, False, False, True])
    torch.testing.assert_close(
        superpose(common, gain, inverted, some), 7.0 * (common[0] + common[3])
    )


def test_who_is_silent_on_a_sub_channel_is_not_heard_there():
    common, gain = torch.ones(2, 6, dtype=torch.float64), np.ones((2, 3))
    loud = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.5]])
    heard = superpose(common, gain, loud, np.ones(2, dtype=bool))
    assert heard.tolist() == [2.0, 2.0, 1.0, 1.0, 0.5, 0.5]


def test_signals_meet_the_true_channel_and_not_the_believed_one():
    common, believed = torch.ones(1, 2, dtype=torch.float64), np.array([[2.0]])
    heard = superpose(common, 0.9 * believed, 1.0 / believed, np.ones(1, dtype=bool))
    torch.testing.assert_close(heard, torch.full((2,), 0.9, dtype=torch.float64))

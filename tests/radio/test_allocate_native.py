"""The compiled allocation gives the bits of the one in NumPy, and nothing leaves its arrays."""

from collections.abc import Callable
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from airfeel.compiled import Kernel
from airfeel.radio import native
from airfeel.radio.allocation.allocators.exchange import Exchange
from airfeel.radio.allocation.allocators.paper import Paper
from airfeel.radio.allocation.links import Links
from airfeel.radio.allocation.matching import (
    assign_subchannels,
    bottleneck_matching,
    complete_greedily,
)
from airfeel.types import BadInput
from sanitize import printed

needs_kernel = pytest.mark.skipif(native.KERNEL.missing is not None, reason="no C++ compiler")
NOISE = 1e-6
TIES = st.sampled_from([0.0, 1.0, 2.0, 3.0])
WIDE = st.floats(-6.0, 6.0).map(lambda e: 10.0**e)
EXTREME = st.sampled_from([0.0, 5e-324, 1e-300, 1e-160, 1.0, 1e160, 1e300])


def plainly(run: Callable[[], object]) -> object:
    """The same without the kernel."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native.KERNEL, "missing", "left out by the test")
        return run()


def rayleigh(seed, n, m):
    return np.random.default_rng([seed, n, m]).rayleigh(1.0, (n, m)) ** 2


def assert_same(power, gain2, noise=NOISE):
    bits = np.ones(len(power))
    fast = Paper()(Links(power, gain2, noise, bits))
    plain = plainly(lambda: Paper()(Links(power, gain2, noise, bits)))
    np.testing.assert_array_equal(fast.owner, plain.owner)
    np.testing.assert_array_equal(fast.power, plain.power)
    assert fast.owner.dtype == plain.owner.dtype


@st.composite
def skies(draw):
    n = draw(st.integers(1, 12))
    m = draw(st.sampled_from([n, draw(st.integers(n, 15))]))
    gain = draw(st.sampled_from([TIES, WIDE, st.one_of(TIES, WIDE)]))
    power = draw(arrays(float, n, elements=st.sampled_from([0.0, 5e-9, 5e-3, 1.0])))
    return power, draw(arrays(float, (n, m), elements=gain))


@needs_kernel
@settings(max_examples=300)
@given(skies())
def test_ties_zeros_and_twelve_orders_of_magnitude_give_the_same_bits(sky):
    assert_same(*sky)


@needs_kernel
@settings(max_examples=200)
@given(st.data())
def test_gains_at_the_ends_of_the_numbers_give_the_same_bits(data):
    n = data.draw(st.integers(1, 4))
    m = data.draw(st.integers(n, 8))
    gain2 = data.draw(arrays(float, (n, m), elements=EXTREME))
    power = data.draw(arrays(float, n, elements=st.sampled_from([0.0, 1e-300, 1e-9, 1.0])))
    noise = data.draw(st.sampled_from([1e-5, 1.0, 1e160]))
    owner = data.draw(arrays(np.int64, m, elements=st.integers(-1, n - 1)))
    bits = np.arange(1.0, n + 1)
    links = Links(power, gain2, noise, bits)
    fast = links.water_filling(owner)
    np.testing.assert_array_equal(fast, plainly(lambda: links.water_filling(owner)))
    snr = power[:, None] * gain2 / noise
    np.testing.assert_array_equal(
        complete_greedily(snr, owner, bits), plainly(lambda: complete_greedily(snr, owner, bits))
    )


@needs_kernel
@pytest.mark.parametrize(
    ("n", "m", "draws"), [(20, 25, 1000), (20, 20, 100), (3, 25, 100), (200, 250, 3), (200, 200, 3)]
)
@pytest.mark.parametrize("noise", [1e-6, 1e-2])
def test_rayleigh_draws_give_the_same_bits(n, m, draws, noise):
    for seed in range(draws):
        assert_same(np.full(n, 5e-3), rayleigh(seed, n, m), noise)


@needs_kernel
@settings(max_examples=200)
@given(skies())
def test_matchings_are_the_same_with_negative_rates_too(sky):
    rate = sky[1] - 1.5
    np.testing.assert_array_equal(
        bottleneck_matching(rate), plainly(lambda: bottleneck_matching(rate))
    )


@needs_kernel
@pytest.mark.parametrize("kind", ["same channels", "same devices", "staircase", "products"])
def test_structured_rates_give_the_same_matching(kind):
    n, m = 60, 75
    row, column, dice = np.arange(n)[:, None], np.arange(m), np.random.default_rng(1)
    rate = 1e-9 * dice.random((n, m)) + {
        "same channels": dice.random((1, m)),
        "same devices": dice.random((n, 1)),
        "staircase": np.where(row >= column, 1.0, 0.5),
        "products": (row + 1.0) * (column + 1.0),
    }[kind]  # fmt: skip
    np.testing.assert_array_equal(
        bottleneck_matching(rate), plainly(lambda: bottleneck_matching(rate))
    )


@needs_kernel
def test_any_layout_and_type_in_memory_will_do():
    power, gain2, bits = np.full(6, 5e-3), rayleigh(1, 6, 8), np.ones(6)
    wanted = Paper()(Links(power, gain2, NOISE, bits))
    wide = np.zeros((12, 24))
    wide[::2, ::3] = gain2
    for same in (np.asfortranarray(gain2), wide[::2, ::3], gain2.astype(">f8")):
        found = Paper()(Links(power, same, np.float64(NOISE), bits))
        np.testing.assert_array_equal(found.owner, wanted.owner)
        np.testing.assert_array_equal(found.power, wanted.power)
    assert_same(power.astype(np.float32), gain2.astype(np.float32))
    frozen = gain2.copy()
    frozen.flags.writeable = False
    found = Paper()(Links(power, frozen, NOISE, bits))
    np.testing.assert_array_equal(found.power, wanted.power)


@needs_kernel
def test_nothing_that_was_given_is_changed():
    power, gain2, owner = np.full(3, 5e-3), rayleigh(1, 3, 6), np.array([0, -1, -1, -1, 2, 1])
    given = [a.copy() for a in (power, gain2, owner)]
    complete_greedily(power[:, None] * gain2 / NOISE, owner, np.ones(3))
    links = Links(power, gain2, NOISE, np.ones(3))
    links.water_filling(owner)
    Exchange()(links)
    for before, after in zip(given, (power, gain2, owner), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("compiler", [True, False])
def test_shapes_that_do_not_fit_are_refused_by_name(compiler, monkeypatch):
    if not compiler:
        monkeypatch.setattr(native.KERNEL, "missing", "left out by the test")
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as for a user
    one, gain2, owner = np.ones(2), np.ones((2, 3)), np.zeros(3, np.int64)
    links = Links(one, gain2, 1.0, one)
    for call, name in [
        (lambda: Links(one[:1], gain2, 1.0, one[:1]), r"power has shape \(1,\)"),
        (lambda: Links(one, gain2, 1.0, np.ones(3)), r"bits has shape \(3,\)"),
        (lambda: Links(np.ones(3), gain2, 1.0, np.ones(3)), r"power has shape \(3,\)"),
        (lambda: Links(one, gain2[0], 1.0, one), r"gain2 \(3,\): must be"),
        (lambda: links.water_filling(owner[:2]), r"owner has shape \(2,\)"),
        (lambda: links.water_filling(owner + 2), "owner holds 2"),
        (lambda: links.water_filling(owner - 2), "owner holds -2"),
        (lambda: links.equal_power(owner + 2), "owner holds 2"),
        (lambda: complete_greedily(gain2, owner[:2], one), r"owner has shape \(2,\)"),
        (lambda: complete_greedily(gain2, owner + 2, one), "owner holds 2"),
        (lambda: complete_greedily(gain2, owner, np.ones(3)), "must be 2 numbers above 0"),
        (lambda: complete_greedily(gain2, owner, 0.0 * one), "must be 2 numbers above 0"),
    ]:
        with pytest.raises(BadInput, match=name):
            call()


@needs_kernel
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1.0, -5e-324])
def test_the_quick_check_lets_nothing_pass(bad):
    legal = native.legal
    power, gain2, bits = np.zeros(3), np.ones((3, 4)), np.zeros(3)
    assert legal(power, gain2, 1.0, bits)
    assert not legal(power, gain2, bad, bits)
    assert not legal(power, gain2, 0.0, bits)
    for array in (power, gain2, bits):
        for place in np.ndindex(array.shape):
            kept, array[place] = array[place], bad
            assert not legal(power, gain2, 1.0, bits)
            array[place] = kept
    assert not legal(power + 1e200, gain2 * 1e200, 1.0, bits)
    assert not legal(power + 1.0, gain2, 5e-324, bits)


def test_without_a_compiler_numpy_does_it(monkeypatch):
    links = Links(np.full(5, 5e-3), rayleigh(2, 5, 7), NOISE, np.ones(5))
    wanted = assign_subchannels(links)
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr(native, "KERNEL", Kernel(native.KERNEL.folder, (), {}))
    assert "no-such-compiler" in native.KERNEL.missing
    found = assign_subchannels(links)
    np.testing.assert_array_equal(found, wanted)


@needs_kernel
def test_a_sanitizer_finds_nothing(tmp_path):
    """Address and undefined-behaviour sanitizers over random draws, in arrays of exact size."""
    dice, lines = np.random.default_rng(1), []
    for n, m in [(1, 1), (1, 9), (5, 5), (5, 6), (4, 12), (20, 25)] * 5:
        gain2 = rayleigh(len(lines), n, m) * dice.integers(0, 2, (n, m))
        numbers = [n, m, NOISE, *dice.choice([0.0, 5e-3], n), *gain2.ravel()]
        lines.append(" ".join(str(x) for x in numbers))
    text = "\n".join(lines)
    driver = Path(__file__).with_name("allocate_sanitize.cpp")
    found = printed(driver, native.KERNEL.folder, tmp_path, text)
    results = [line.split() for line in found.splitlines()]
    assert [result[:2] for result in results] == [["1", "0"]] * len(lines)
    assert "nan" not in found

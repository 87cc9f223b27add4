"""Batches, dead channels and drops of the digital phase."""

import numpy as np
import pytest

from airfeel.radio.allocation.allocators.paper import Paper
from airfeel.radio.allocation.power import rates
from airfeel.radio.impairments.packets import attempts
from airfeel.radio.transmission.digital import divide
from airfeel.types import Fading, Link, Plan

PAPER = Paper()


def shares(gain, devices=None, bits=100.0, power=1.0):
    gain = np.asarray(gain, dtype=float)
    ids = np.arange(len(gain)) if devices is None else np.array(devices)
    power, bits = np.full(len(gain), power), np.full(len(gain), bits)
    return divide(ids, power, Fading(gain, 1.0), bits, PAPER)


def test_nothing_to_say_costs_nothing():
    for found in (
        shares(np.ones((2, 3)), bits=0.0),
        shares(np.ones((2, 3)), devices=np.zeros(0, int)),
    ):
        assert found.slots == 0
        assert found.owner.shape == (0, 3)
        assert not found.power.any()


def test_slots_are_those_of_the_slowest():
    found = shares([[3.0, 1.0, 1.0], [1.0, 2.0, 1.0]])
    gain2 = np.square([[3.0, 1.0, 1.0], [1.0, 2.0, 1.0]])
    np.testing.assert_allclose(found.rate, rates(found.power, gain2, 1.0))
    assert found.slots == int(np.ceil(100.0 / found.rate.min()))
    np.testing.assert_allclose(found.power.sum(axis=1), 1.0)
    assert (found.batch == 0).all()


@pytest.mark.parametrize("gap", [1.0, 1.5])
def test_a_margin_at_capacity_is_planned_as_so_much_more_noise(gap):
    """Assignment, water-filling, rates and slots; what a channel bears has no margin."""
    gain = np.random.default_rng(1).rayleigh(size=(3, 5))
    power, bits, who = np.array([0.5, 1.0, 2.0]), np.full(3, 60.0), np.arange(3)
    link = Link(gap=gap, margin=2.0)
    careful = Fading(gain, 0.3, truth=gain / np.sqrt(1.9), link=link)
    found = divide(who, power, careful, bits, PAPER)
    noisier, bold = (divide(who, power, Fading(gain, 0.3 * f), bits, PAPER) for f in (2 * gap, gap))
    np.testing.assert_array_equal(found.owner, noisier.owner)
    for name in ("power", "rate", "own_slots"):
        np.testing.assert_allclose(getattr(found, name), getattr(noisier, name), rtol=1e-12)
    assert np.abs(found.power - bold.power).max() > 1e-3
    blank = np.zeros(3)
    plan = Plan(
        *(blank == 0.0, (), found.batch, found.owner, found.power, found.rate),
        *(0, found.slots, 0.0, blank, blank),
    )
    assert not attempts(careful, plan)[1].any()  # 1.9 times weaker, with a margin of 2
    weaker = Fading(gain, 0.3, truth=gain / np.sqrt(2.1), link=link)
    assert attempts(weaker, plan)[1].all()


def test_more_devices_than_channels_speak_in_batches_strongest_first():
    gain = np.array([[1.0, 1.5], [5.0, 1.0], [2.0, 2.0], [4.0, 4.0], [1.0, 1.0]])
    found = shares(gain)
    assert found.batch.tolist() == [1, 0, 1, 0, 2]
    assert found.owner.shape == (3, 2)
    assert set(found.owner[2].tolist()) == {4}
    own = np.ceil(100.0 / found.rate)
    assert found.slots == sum(own[found.batch == g].max() for g in range(3))


def test_equal_strength_goes_by_index():
    assert shares(np.ones((5, 2))).batch.tolist() == [0, 0, 1, 1, 2]


def test_a_device_without_any_channel_is_dropped():
    found = shares([[1.0, 1.0], [0.0, 0.0]])
    assert found.dropped.tolist() == [1]
    assert found.owner.tolist() == [[0, 0]]


def test_two_devices_that_share_their_only_channel_cannot_both_be_served():
    found = shares([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 9.0, 9.0]])
    assert found.dropped.tolist() == [0]
    assert (found.rate[[1, 2]] > 0).all()
    tie = shares([[2.0, 0.0], [2.0, 0.0]])
    assert tie.dropped.tolist() == [1]


def test_everyone_may_be_dropped():
    found = shares(np.zeros((2, 2)))
    assert found.dropped.tolist() == [0, 1]
    assert found.slots == 0


@pytest.mark.parametrize("scale", [1e-140, 1e-6, 1e6, 1e140])
def test_extreme_gains_give_finite_slots(scale):
    found = shares(scale * np.random.default_rng(0).rayleigh(size=(3, 4)))
    assert np.isfinite(found.rate).all()
    assert found.slots >= 1

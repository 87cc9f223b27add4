"""D-DSGD: grants by capacity, its quantiser, its books, and what is refused."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from airfeel.bits import place_bits
from airfeel.compress.extremes import one_sided
from airfeel.experiment.build import build
from airfeel.radio.digital import divide
from airfeel.radio.grants import most_entries
from airfeel.types import BadInput, Reason, Turn
from small import play, small

CASES = {
    "as-it-is": {},
    "real": {"scheme": {"options": {"capacity": "real"}}},
    "few-slots": {"scheme": {"options": {"slots": 8}}},
    "best": {"scheme": {"options": {"best": True}}},
    "batches": {"radio": {"subchannels": 3}, "scheme": {"options": {"slots": 40}}},
    "one-starves": {"radio": {"mean_gain": [1.0, 1.0, 1e-9, 1.0, 1.0, 1.0]}},
}


def plainly(x, q):
    """The quantiser in loops: what is sent of x."""
    order = sorted(range(len(x)), key=lambda i: (-x[i], i))
    back = sorted(range(len(x)), key=lambda i: (x[i], i))
    high = [i for i in order[:q] if x[i] > 0]
    low = [i for i in back[:q] if x[i] < 0]
    up = sum(x[i] for i in high) / len(high) if high else 0.0
    down = -sum(x[i] for i in low) / len(low) if low else 0.0
    sent = np.zeros(len(x))
    sent[high if up > down else low] = up if up > down else -down
    return sent


def test_the_mac_of_the_paper_has_room_for_twelve_entries():
    """N = 25, s = 3925, D = 7850, P = 500, σ² = 1, real."""
    bits = 3925 / 50 * math.log2(1 + 25 * 500 / 3925)
    assert bits == pytest.approx(162.11, abs=0.005)
    assert most_entries(7850, bits) == 12


@given(st.integers(2, 10_000), st.floats(0, 5_000))
def test_a_grant_is_the_most_that_fits(dim, bits):
    q = most_entries(dim, bits)
    assert 0 <= q <= dim // 2
    if q:
        assert place_bits(dim, q) + 33 <= bits
    if q < dim // 2:
        assert place_bits(dim, q + 1) + 33 > bits


@given(st.integers(0, 999), st.integers(1, 30))
def test_the_quantiser_is_that_of_a_plain_loop(seed, q):
    x = np.random.default_rng(seed).standard_normal(30)
    places, mean = one_sided(x, q)
    sent = np.zeros(30)
    sent[places] = mean
    np.testing.assert_allclose(sent, plainly(x, q), rtol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_a_run_is_that_of_the_plain_reading(case):
    """Grants, updates, memories, bits, slots and energy of every round."""
    e = small("d-dsgd", **CASES[case])
    setup = build(e)
    world, learn, window = setup.world, setup.scheme.learn, setup.scheme.plan.window
    memory, everyone = np.zeros((6, world.dim)), np.arange(6)
    half = 0.5 if case == "real" else 1.0
    for before, after, report, kept in play(setup, 5):
        turn = Turn(world, before, setup.streams)
        fading = setup.scheme.fade(turn)
        invited = setup.scheme.invite(turn, fading)
        assert invited.who.sum() == (1 if case == "best" else 4)
        d = divide(
            *(np.flatnonzero(invited.who), world.power, fading, np.ones(6)),
            setup.scheme.plan.allocate,
        )
        snr = d.power * fading.gain2 / fading.noise
        rate = half * np.log2(1 + snr).sum(axis=1)
        batches = max(len(d.owner), 1)
        delta = learn(
            turn, everyone, setup.streams.uniform("batch", turn.round, everyone, learn.dice)
        )
        sent, total = [], 0.0
        for n in range(6):
            q = most_entries(world.dim, rate[n] * (window // batches))
            assert invited.grant[n] == q
            if not invited.who[n]:
                continue
            if q == 0:
                assert report.plan.reason[n] is Reason.NO_CHANNEL
                continue
            x = memory[n] + delta[0][n].numpy()
            sent.append(plainly(x, q))
            memory[n] = x - sent[-1]
            bits = math.log2(math.comb(world.dim, q)) + 33
            total += bits
            slots = math.ceil(bits / rate[n])
            assert slots <= window // batches
            assert report.costs.energy[n] == pytest.approx(slots * d.power[n].sum(), rel=1e-9)
        np.testing.assert_allclose(kept, memory, rtol=1e-9, atol=1e-12)
        if sent:
            np.testing.assert_allclose(after.update, np.mean(sent, axis=0), rtol=1e-9, atol=1e-12)
            assert report.costs.slots == report.plan.slots_digital == window
        assert report.costs.bits == pytest.approx(total, rel=1e-9)


def test_without_power_for_one_entry_nobody_speaks_and_nothing_is_lost():
    played = play(build(small("d-dsgd", radio={"power": 1e-12})), 3)
    for before, after, report, memory in played:
        assert not report.plan.active.any()
        assert report.costs.slots == 0
        assert torch.equal(before.theta, after.theta)
        assert not memory.any()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"capacity": "halved"}, r"scheme\.options\.capacity = 'halved'"),
        ({"slots": 0}, r"scheme\.options\.slots = 0"),
        ({"q": 3}, r"scheme\.options\.q: is no setting"),
    ],
)
def test_bad_options_are_refused_by_name(options, told):
    with pytest.raises(BadInput, match=told):
        build(small("d-dsgd", scheme={"options": options}))


def test_the_codec_needs_grants():
    setup = build(small("top-k", scheme={"codec": "extremes"}))
    with pytest.raises(BadInput, match="nobody grants entries"):
        play(setup, 1)

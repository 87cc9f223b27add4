"""What must hold for every input, whatever the numbers."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from airfeel.build.setup import build
from airfeel.compression.codecs import TimeCorrelated, TopK
from airfeel.compression.masks import overlap, top_k, top_k_outside
from airfeel.compression.memory import residual
from airfeel.compression.quantize import quantize
from airfeel.radio.power_budget import power_left
from airfeel.schemes import SCHEMES
from airfeel.types import Agreed, Fading, Invited, Turn, Words
from small import play, play_small, small, turn_at

PAPER = ["tcs-h", "tcs-d", "top-k"]
numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
vectors = st.integers(1, 40).flatmap(lambda d: arrays(np.float64, d, elements=numbers))
# few different magnitudes, so that ties are the rule
tied = st.integers(1, 40).flatmap(
    lambda d: arrays(np.float64, d, elements=st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0]))
)
few = settings(max_examples=15)


@given(x=tied | vectors, data=st.data())
def test_top_k_is_a_stable_sort_by_magnitude(x, data):
    k = data.draw(st.integers(0, len(x)))
    expected = np.sort(np.argsort(-np.abs(x), kind="stable")[:k])
    found = top_k(torch.from_numpy(x), k)
    assert found.dtype == torch.int64
    assert found.tolist() == expected.tolist()


def said(codec, x, support, dice):
    """What one device says."""
    words = codec.encode(x[None], Agreed(support), np.array([0]), dice[None])
    return Words(words.common[0], words.index[0], words.value[0])


@given(x=tied | vectors, update=st.data())
def test_masks_are_disjoint_and_of_exact_size(x, update):
    d = len(x)
    k_global = update.draw(st.integers(0, d))
    k_local = update.draw(st.integers(0, d - k_global))
    last = update.draw(arrays(np.float64, d, elements=numbers))
    part = TimeCorrelated(d, k_global, k_local, bits=32)
    support = top_k(torch.from_numpy(last), k_global)
    index = said(part, torch.from_numpy(x), support, np.zeros(part.dice)).index
    assert (len(support), len(index)) == (k_global, k_local)
    assert not set(support.tolist()) & set(index.tolist())
    outside = np.delete(np.arange(d), support.numpy())
    best = outside[np.argsort(-np.abs(x[outside]), kind="stable")[:k_local]]
    assert index.tolist() == sorted(best.tolist())
    assert index.tolist() == top_k_outside(torch.from_numpy(x), k_local, support).tolist()


@given(x=vectors, bits=st.integers(2, 24))
def test_quantiser_is_unbiased(x, bits):
    """The mean over an even grid of uniforms is the expectation, to one grid step of a level."""
    grid = 200
    uniform = np.repeat(((np.arange(grid) + 0.5) / grid)[:, None], len(x), axis=1)
    rows = torch.from_numpy(x).expand(grid, -1)
    mean = quantize(rows, bits, uniform).mean(dim=0).numpy()
    level = math.hypot(*x) / (2 ** (bits - 1) - 1)
    np.testing.assert_allclose(mean, x, rtol=1e-9, atol=level / grid + 1e-300)


@given(x=vectors, bits=st.integers(2, 24), seed=st.integers(0, 99))
def test_quantiser_stays_on_its_levels(x, bits, seed):
    q = quantize(torch.from_numpy(x), bits, np.random.default_rng(seed).random(x.shape)).numpy()
    s, norm = 2 ** (bits - 1) - 1, math.hypot(*x)
    level = q * s / (norm or 1.0)
    np.testing.assert_allclose(level, np.round(level), atol=1e-6)
    assert np.abs(np.round(level)).max() <= s
    assert (q[x == 0] == 0).all()
    assert (q * x >= 0).all()
    assert math.hypot(*(q - x)) <= np.sqrt(len(x)) * norm / s * (1 + 1e-9)


@given(x=vectors, data=st.data(), analog=st.booleans())
def test_what_is_not_sent_is_remembered(x, data, analog):
    d = len(x)
    k_global = data.draw(st.integers(0, d))
    k_local = data.draw(st.integers(0, d - k_global))
    part = TimeCorrelated(d, k_global, k_local, bits=4, analog=analog)
    x = torch.from_numpy(x)
    last = torch.from_numpy(data.draw(arrays(np.float64, d, elements=numbers)))
    support = top_k(last, k_global)
    words = said(part, x, support, np.random.default_rng(0).random(part.dice))
    common, index, value = words.common, words.index, words.value
    memory = residual(x, support, common, index, value)
    sent = torch.zeros_like(x)
    sent[support] = common
    sent[index] = value
    assert torch.equal(memory, x - sent)
    if analog:
        assert not memory[support].any()


@pytest.mark.parametrize("scheme", PAPER)
def test_lossless_schemes_are_fedavg(scheme):
    """K = D, no noise, all active, no quantiser."""
    clean = {"noise": 1e-40, "power": 1e30, "fading": "none"}
    whole = {"global_sparsity": 1.0, "local_sparsity": 0.0, "bits": 32, "scheduled": 6}
    ours = play_small(scheme, radio=clean, scheme=whole)
    reference = play_small("fedavg")
    assert len(ours) == len(reference) == 12
    for (_, mine, report, memory), (_, theirs, _, _) in zip(ours, reference, strict=True):
        assert report.plan.active.all()
        torch.testing.assert_close(mine.theta, theirs.theta, rtol=1e-12, atol=1e-12)
        assert memory.abs().max() < 1e-15


class _Renamed:
    """The dice of devices whose names were permuted: device i rolls what order[i] rolled."""

    def __init__(self, streams, order):
        self.streams, self.order = streams, order

    def rng(self, room, round=0):
        return self.streams.rng(room, round)

    def uniform(self, room, round, devices, width):
        return self.streams.uniform(room, round, self.order[devices], width)


@few
@given(order=st.permutations(range(6)), scheme=st.sampled_from(PAPER))
def test_renaming_devices_renames_everything(order, scheme):
    order = np.array(order)
    setup = build(small(scheme, budget={"slots": 400}))
    world, sky = setup.world, setup.scheme.fade

    back = np.argsort(order)

    def fade(turn):
        return Fading(sky(turn).gain[order], 1e-6)

    def invite(turn, fading):
        known = dataclasses.replace(turn.state, spent=turn.state.spent[back])
        invited = setup.scheme.invite(Turn(setup.world, known, setup.streams), fading)
        return Invited(invited.who[order])

    moved = dataclasses.replace(
        setup,
        world=dataclasses.replace(world, shards=tuple(world.shards[n] for n in order)),
        scheme=dataclasses.replace(setup.scheme, fade=fade, invite=invite),
        streams=_Renamed(setup.streams, order),
    )
    for a, b in zip(play(setup, 6), play(moved, 6), strict=True):
        (_, x, before, memory), (_, y, after, moved_memory) = a, b
        torch.testing.assert_close(y.theta, x.theta, rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(moved_memory, memory[order], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(y.spent, x.spent[order], rtol=1e-10)
        assert after.plan.reason == tuple(before.plan.reason[n] for n in order)
        names = np.append(order, -1)[after.plan.owner]
        np.testing.assert_array_equal(names, before.plan.owner)
        assert y.slots == x.slots


@few
@given(
    scheme=st.sampled_from([*PAPER, "backlog"]),
    alpha=st.sampled_from([0.3, 1.0, 4.0, 40.0]),
    slots=st.integers(20, 600),
    seed=st.integers(0, 50),
    subchannels=st.sampled_from([3, 8]),
)
def test_nobody_spends_more_than_allowed(scheme, alpha, slots, seed, subchannels):
    e = small(
        scheme,
        radio={"alpha": alpha, "subchannels": subchannels},
        budget={"slots": slots},
        run={"seed": seed},
    )
    setup = build(e)
    world = setup.world
    for before, after, report, _ in play(setup, 12):
        energy, plan = report.costs.energy, report.plan
        assert not energy[~plan.active].any()
        left = power_left(Turn(world, before, setup.streams))
        assert (plan.power.sum(axis=1) <= left * (1 + 1e-9)).all()
        if alpha <= 1.0:
            assert (energy <= left * report.costs.slots * (1 + 1e-9)).all()
        assert (after.spent <= slots * world.power * (1 + 1e-9)).all()
        assert after.slots <= slots


@pytest.mark.parametrize("scheme", SCHEMES)
def test_same_streams_same_bits(scheme):
    one, two = play_small(scheme), play_small(scheme)
    other = play_small(scheme, run={"seed": 4})
    for (_, a, ra, ma), (_, b, rb, mb) in zip(one, two, strict=True):
        assert torch.equal(a.theta, b.theta)
        assert torch.equal(ma, mb)
        assert ra.costs.slots == rb.costs.slots
    assert not torch.equal(one[-1][1].theta, other[-1][1].theta)


def test_one_more_device_does_not_reshuffle_the_others():
    few_devices, many = (build(small(training={"devices": n})) for n in (6, 7))
    ids = np.arange(6)
    a, b = (s.streams.uniform("batch", 5, ids, 11) for s in (few_devices, many))
    np.testing.assert_array_equal(a, b)
    sky = [s.scheme.fade(turn_at(s, 5)).gain for s in (few_devices, many)]
    np.testing.assert_array_equal(sky[0], sky[1][:6])


@given(d=st.integers(2, 10**6), k=st.integers(0, 1000), bits=st.integers(2, 24))
def test_bits_follow_the_formulas(d, k, bits):
    index = np.log2(d)
    assert TopK(d, k, bits).cost == pytest.approx((index + bits) * k)
    assert TimeCorrelated(d, k, k, bits).cost == pytest.approx((index + bits) * k)
    assert TimeCorrelated(d, k, k, bits, analog=False).cost == pytest.approx((index + 2 * bits) * k)
    norms = 32 * (k > 0)
    assert TopK(d, k, bits, strict=True).cost == pytest.approx((index + bits) * k + norms)


@given(a=st.sets(st.integers(0, 20)), b=st.sets(st.integers(0, 20)))
def test_overlap_is_the_share_kept(a, b):
    found = overlap(torch.tensor(sorted(a)).long(), torch.tensor(sorted(b)).long())
    if a and b:
        assert found == pytest.approx(len(a & b) / len(a))
    else:
        assert np.isnan(found)

"""D-DSGD: grants by capacity, its quantiser, its books, and what is refused."""

import dataclasses
import math
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import airfeel
from airfeel.bits import place_bits
from airfeel.build.setup import build
from airfeel.compression.extremes import one_sided
from airfeel.radio.selection.payload_budget import most_entries, share_out
from airfeel.types import BadInput, Reason, Received, Turn
from plain import digital_plain as plain
from small import play, small, turn_at

UNEVEN = {"partition": "dirichlet", "alpha": 0.5}
CASES = {
    "as-it-is": {},
    "real": {"scheme": {"options": {"capacity": "real"}}},
    "few-slots": {"scheme": {"options": {"slots": 8}}},
    "best": {"scheme": {"options": {"best": True}}},
    "batches": {"radio": {"subchannels": 3}, "scheme": {"options": {"slots": 40}}},
    "batches-in-few-slots": {"radio": {"subchannels": 3}, "scheme": {"options": {"slots": 12}}},
    "in-turn": {"scheme": {"invite": "round-robin"}},
    "iq": {"link": {"analog": "iq"}},
    "one-starves": {"radio": {"mean_gain": [1.0, 1.0, 1e-9, 1.0, 1.0, 1.0]}},
    "by-samples": {"data": UNEVEN, "training": {"weights": "samples"}},
}


@pytest.fixture(scope="module")
def paper():
    return runpy.run_path(str(Path(__file__).parents[2] / "examples" / "tcs_h_plain.py"))


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


@given(st.integers(0, 999), st.integers(1, 30), st.booleans())
def test_the_quantiser_is_that_of_a_plain_loop(seed, q, tied):
    x = np.random.default_rng(seed).standard_normal(30)
    x = x.round() if tied else x
    places, mean = one_sided(x, q)
    sent = np.zeros(30)
    sent[places] = mean
    np.testing.assert_allclose(sent, plain.one_sided(x, q), rtol=1e-12)


def invited(case, setup, turn, gain2):
    """Four at random, or of all the one of largest capacity."""
    if case == "best":
        snr = 5e-3 * gain2 / (setup.world.subchannels * 1e-6)
        return [int(np.argmax(np.log2(1 + snr).sum(axis=1)))]
    if case == "in-turn":
        return [(turn.state.round * 4 + i) % 6 for i in range(4)]
    return np.argsort(turn.rng("invite").random(6))[:4].tolist()


@pytest.mark.parametrize("case", CASES)
def test_a_run_is_that_of_the_plain_reading(paper, case):
    """Who is asked, grants, updates, memories, bits, slots and energy of every round."""
    setup = build(small("d-dsgd", **CASES[case]))
    world, learn, m = setup.world, setup.scheme.learn, setup.world.subchannels
    window = {"few-slots": 8, "batches": 40, "batches-in-few-slots": 12, "iq": 4}.get(
        case, math.ceil(51 / m)
    )
    memory, everyone = np.zeros((6, 102)), np.arange(6)
    half = 0.5 if case == "real" else 1.0
    samples = [len(own) if case == "by-samples" else 1 for own in world.shards]
    assert (len(set(samples)) > 1) == (case == "by-samples")
    for before, after, report, kept in play(setup, 5):
        turn = Turn(world, before, setup.streams)
        gain2 = report.fading.gain**2
        who = invited(case, setup, turn, gain2)
        owners, power, rate, _, _ = paper["digital_phase"](
            sorted(who), np.full(6, 5e-3), gain2, 1e-6, 1
        )
        delta = learn(
            turn, everyone, setup.streams.uniform("batch", turn.round, everyone, learn.dice)
        )
        sent, counts, total, room = [], [], 0.0, window // max(len(owners), 1)
        assert (len(owners) > 1) == case.startswith("batches")
        for n in range(6):
            q = plain.most_entries(102, half * rate[n] * room)
            if n not in who:
                assert report.plan.reason[n] is Reason.NOT_INVITED
                continue
            if q == 0:
                assert report.plan.reason[n] is Reason.NO_CHANNEL
                continue
            x = memory[n] + delta[0][n].numpy()
            sent.append(plain.one_sided(x, q))
            counts.append(samples[n])
            memory[n] = x - sent[-1]
            bits = plain.one_sided_bits(102, q)
            total += bits
            slots = math.ceil(bits / (half * rate[n]))
            assert slots <= room
            assert report.costs.energy[n] == pytest.approx(slots * power[n].sum(), rel=1e-9)
        np.testing.assert_allclose(kept, memory, rtol=1e-9, atol=1e-12)
        if case == "batches-in-few-slots":  # the slots of a batch decide, not the size of the model
            assert 0 < min(np.count_nonzero(row) for row in sent) < 102 // 4
        if sent:
            mean = plain.mean(sent, counts)
            np.testing.assert_allclose(after.update, mean, rtol=1e-9, atol=1e-12)
            assert report.costs.slots == report.plan.slots_digital == window
        assert report.costs.bits == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("link", [{"rates": "mcs"}, {"rate_cap": 2.0}])
def test_one_quadrature_carries_half_of_what_the_link_bears(link):
    """The same slots pay for half of the bits, also where rates come from a table."""
    both, one = (
        play(build(small("d-dsgd", link=link, scheme={"options": {"capacity": c, "slots": 40}})), 1)
        for c in ("complex", "real")
    )
    rate = both[0][2].plan.rate
    assert rate.any()
    np.testing.assert_allclose(one[0][2].plan.rate, rate / 2.0)


def test_an_invitation_of_ones_own_is_granted_entries_too():
    scheme = {"invite": {"name": "best-channel", "scheduled": 2}}
    for _, _, report, _ in play(build(small("d-dsgd", scheme=scheme)), 3):
        assert report.plan.active.sum() == 2
        assert report.costs.bits > 0


def test_who_cannot_pay_for_pilots_leaves_its_sub_channels_to_the_grants_of_others():
    """Sub-channels are shared out once: everyone's bits fit into the phase."""
    csi, budget = {"pilots": 2}, {"slots": 400}
    e = small("d-dsgd", csi=csi, budget=budget, scheme={"invite": "everyone"})
    setup = build(e)
    state = dataclasses.replace(
        turn_at(setup, 1).state, spent=np.array([5e-3 * 399.9, 0, 0, 0, 0, 0])
    )
    turn = Turn(setup.world, state, setup.streams)
    fading = setup.scheme.fade(turn)
    asked = setup.scheme.invite(turn, fading)
    assert asked.who.tolist() == [False] + [True] * 5
    plan = setup.scheme.plan.plan
    shared = share_out(turn, fading, asked.who, plan.allocate, plan.window)
    assert asked.grant.tolist() == [plain.most_entries(102, b) for b in shared.bits]


def test_places_that_are_not_used_are_not_received():
    """A server step that looks at what came sees the entries that were sent, and no others."""
    setup = build(small("d-dsgd", radio={"mean_gain": [1.0, 1e-2, 1.0, 1.0, 1.0, 1.0]}))
    turn, codec = turn_at(setup, 1), setup.scheme.codec
    x = torch.from_numpy(np.random.default_rng(1).standard_normal((2, 102)))
    words = codec.encode(x, codec.agree(turn), np.arange(2), np.zeros((2, 0)), np.array([9.0, 2.0]))
    nothing = words.common.sum(dim=0)
    received = Received(
        *(np.arange(2), np.arange(2), nothing, words.index, words.value, 2, np.zeros(8))
    )
    decoded = codec.decode(turn, codec.agree(turn), received)
    sent = np.zeros(102, dtype=bool)
    for row, q in zip(x.numpy(), (9, 2), strict=True):
        sent |= plain.one_sided(row, q) != 0.0
    np.testing.assert_array_equal(decoded.fresh.numpy(), sent)


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


@pytest.mark.parametrize("entries", ["equal", "norm"])
def test_a_phase_that_does_not_fit_ends_the_run(entries):
    """Not that nobody could pay for it: rounds in which all are silent would follow."""
    own = {"options": {"entries": entries, "slots": 7}}
    run = airfeel.run(small("d-dsgd", scheme=own, budget={"slots": 38}))
    assert run.summary["reason"] == "budget"
    assert run.columns["scheduled"][1:].all()

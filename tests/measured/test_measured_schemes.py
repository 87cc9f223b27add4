"""a-dsgd and ca-dsgd: what is sent, what is made of it, and the plain reading of both."""

import dataclasses

import numpy as np
import pytest
import torch

import airfeel
from airfeel.build.setup import build
from airfeel.compression.masks import top_k
from airfeel.compression.measured import Measurements, lay_out, read
from airfeel.compression.recovery import shrink
from airfeel.radio.energy import segment_energy
from airfeel.types import BadInput, Received, Said
from plain import measured_plain as plain
from rounds import noises
from small import play, play_small, small, turn_at
from stopping import content, interrupted

EXACT = {"atol": 1e-9, "rtol": 1e-9}


def one_round(scheme, round, /, **changes):
    """A round of a small run with made-up updates: turn, x, said, fading, plan, received, …"""
    setup = build(small(scheme, **changes))
    turn = turn_at(setup, round)
    world, codec = setup.world, setup.scheme.codec
    devices = np.arange(world.devices)
    x = torch.from_numpy(np.random.default_rng(round).standard_t(2, (world.devices, world.dim)))
    agreed = codec.agree(turn)
    words = codec.encode(x, agreed, devices, np.zeros((world.devices, 0)))
    n = world.devices
    said = Said(
        *(devices, np.ones(n, dtype=bool), agreed, words.common, words.index, words.value),
        bits=np.zeros(n),
        energy=segment_energy(words.signal, world.subchannels),
        loss=np.zeros(n),
        signal=words.signal,
    )
    fading = setup.scheme.fade(turn)
    plan = setup.scheme.plan(turn, said, fading)
    received, delivery = setup.scheme.transmit(turn, said, fading, plan)
    return setup, turn, x, said, fading, plan, received, delivery


def decoded(setup, turn, said, received):
    return setup.scheme.codec.decode(turn, said.agreed, received)


def matrix(measure):
    return np.stack([measure.apply(column) for column in np.eye(measure.dim)], axis=1)


# Laws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("round", [1, 30])
def test_each_speaker_spends_its_budget_exactly(round):
    *_, plan, _, _ = one_round("a-dsgd", round)
    assert plan.active.all()
    np.testing.assert_allclose(plan.needed, plan.budget, rtol=1e-12)


def test_a_share_of_power_moves_energy_between_rounds():
    options = {"options": {"power_share": [1.5, 0.5] * 6}}
    for round, factor in ((1, 1.5), (2, 0.5)):
        *_, plan, _, _ = one_round("a-dsgd", round, scheme=options)
        np.testing.assert_allclose(plan.needed, factor * plan.budget, rtol=1e-12)


@pytest.mark.parametrize(
    ("share", "mean"),
    [
        ([3.0] * 12, "3"),
        (1.5, "1.5"),
        (0.5, "0.5"),
        ([1.5, 0.5], r"0\.583333"),  # the last one stays
        ({"name": "cosine", "start": 1.9, "end": 0.2}, r"1\.05"),
    ],
)
def test_shares_of_power_make_no_energy(share, mean):
    told = rf"scheme\.options\.power_share = .*: must be 1 in the mean over 12 rounds, is {mean}$"
    with pytest.raises(BadInput, match=told):
        build(small("a-dsgd", scheme={"options": {"power_share": share}}))


def test_shares_of_power_that_are_1_in_the_mean_are_played():
    for share in ([1.333, 0.667] * 6, {"name": "cosine", "start": 1.9, "end": 0.1}):
        played = play_small("a-dsgd", 12, scheme={"options": {"power_share": share}})
        spent = np.sum([report.costs.energy for _, _, report, _ in played], axis=0)
        np.testing.assert_allclose(spent, 12 * 5e-3 * 7, rtol=1e-9)  # 51 symbols, 7 slots


def test_shares_of_power_over_nobody_knows_how_many_rounds_are_refused():
    endless = {"training": {"rounds": None}, "budget": {"slots": 90}}
    with pytest.raises(
        BadInput, match=r"power_share = \(1\.5, 0\.5\): must be 1 where training\.r"
    ):
        build(small("a-dsgd", scheme={"options": {"power_share": [1.5, 0.5]}}, **endless))
    build(small("a-dsgd", **endless))
    build(small("a-dsgd", training={"rounds": 2**62}))  # which are not counted one by one


def heard(codec, x, turn, weights):
    """What the base station would hold without noise, devices being so loud."""
    agreed = codec.agree(turn)
    words = codec.encode(x, agreed, np.arange(len(x)), np.zeros((len(x), 0)))
    signal = (torch.from_numpy(np.asarray(weights))[:, None] * words.signal).sum(0)
    n, nobody = len(x), np.zeros(0, dtype=np.int64)
    empty = torch.zeros((0, 0))
    received = Received(
        np.arange(n), nobody, signal, empty.long(), empty.double(), n, np.full(4, n)
    )
    return codec.decode(turn, agreed, received)


def test_with_all_rows_of_a_transform_it_is_the_mean_of_the_largest_entries():
    dim, turn = 96, turn_at(build(small()), 3)
    codec = Measurements(dim, 10, dim + 1, "dct", mean_rounds=0)
    x = torch.from_numpy(np.random.default_rng(1).standard_normal((5, dim)))
    u = torch.zeros_like(x).scatter(1, top_k(x, 10), x.gather(1, top_k(x, 10)))
    update = heard(codec, x, turn, np.full(5, 0.3)).update
    torch.testing.assert_close(update.double(), u.mean(0), **EXACT)


def test_with_all_rows_and_everyone_equally_loud_a_run_is_that_of_top_k_unquantised():
    """Models and memories of every round; without noise, and at as many rows as entries."""
    same = {"scheduled": 6, "bits": 32, "global_sparsity": 0.2, "local_sparsity": 0.05}
    linear, quiet = {"name": "logistic"}, {"noise": 1e-30, "power": 1e9}
    all_rows = {"symbols": 41, "k": 10, "projection": "dct", "mean_rounds": 0}
    by_air = same | {"amplitude": "inversion", "options": all_rows}
    measured = play_small("a-dsgd", 5, model=linear, radio=quiet, scheme=by_air)
    packets = play_small("top-k", 5, model=linear, scheme=same)
    for (_, a, report, e), (_, b, _, f) in zip(measured, packets, strict=True):
        assert report.plan.active.all()
        torch.testing.assert_close(a.theta, b.theta, **EXACT)
        torch.testing.assert_close(e, f, **EXACT)
        assert report.columns["recovery"] < 1e-9


def test_weights_are_those_of_the_amplitudes():
    dim, turn = 96, turn_at(build(small()), 3)
    codec = Measurements(dim, 10, dim + 1, "dct", mean_rounds=0)
    x = torch.from_numpy(np.random.default_rng(1).standard_normal((2, dim)))
    u = torch.zeros_like(x).scatter(1, top_k(x, 10), x.gather(1, top_k(x, 10)))
    update = heard(codec, x, turn, [3.0, 1.0]).update
    torch.testing.assert_close(update.double(), 0.75 * u[0] + 0.25 * u[1], **EXACT)


@pytest.mark.parametrize("projection", ["gaussian", "dct"])
def test_means_that_go_apart_change_nothing_without_noise(projection):
    """With the same rows of A: those of a round in which the last one gives way."""
    dim, turn = 90, turn_at(build(small()), 3)
    x = torch.from_numpy(np.random.default_rng(2).standard_t(2, (4, dim)))
    apart = Measurements(dim, 8, 45, projection, mean_rounds=20)
    agreed, loud = apart.agree(turn), np.array([1.0, 2.0, 0.5, 1.0])
    found = heard(apart, x, turn, loud).update
    kept = np.arange(apart.rows) < apart.rows - 1
    u = torch.zeros_like(x).scatter(1, top_k(x, 8), x.gather(1, top_k(x, 8))).numpy()
    mean = (loud[:, None] * u).sum(0) / loud.sum()
    a = matrix(agreed.projection)[kept] * np.sqrt(apart.rows / kept.sum())
    x_plain, _, _ = plain.amp(a, a @ mean, plain.soft(1.1), 30, 1e-4)
    np.testing.assert_allclose(found, x_plain, **EXACT)


@pytest.mark.parametrize("round", [1, 21])
def test_the_noise_of_a_measurement_is_that_of_the_air_over_the_loudness_that_the_pilot_tells(
    round,
):
    """σ0²/ŝ², ŝ = y_c/c: as told, and over 150 draws where no mean, with its noise, goes apart."""
    quiet, paper = {"noise": 1e-8}, {"options": {"pilot": "paper"}}
    setup, turn, _, said, fading, plan, *_ = one_round("a-dsgd", round, scheme=paper, radio=quiet)
    centred, found = round <= 20, []
    for again in noises(turn, 150):
        received, _ = setup.scheme.transmit(again, said, fading, plan)
        y, kept, variance = read(received, 1.0, centred)
        assert kept.all()
        assert received.noise == 1e-8  # the receiver divides by nothing
        loudness = float(received.signal[-1])
        assert variance == pytest.approx(1e-8 / loudness**2, rel=1e-12)
        found.append(y * loudness)  # given the loudness
    if not centred:
        ratio = np.var(found, axis=0, ddof=1) / 1e-8
        assert ratio.mean() == pytest.approx(1.0, abs=5.0 * np.sqrt(2.0 / 150 / len(ratio)))


def test_a_pilot_that_drowns_in_noise_is_an_idle_round_whose_costs_stand():
    quiet = {"radio": {"power": 1e-12}}
    setup, _, _, said, _, plan, _, delivery = one_round("a-dsgd", 1, **quiet)
    assert plan.active.all()
    assert delivery.idle(said)
    assert delivery.spoke.all()
    rows = setup.scheme.codec.memory.changes(said, delivery)
    np.testing.assert_array_equal(rows, said.devices)  # whoever spoke remembers all of x
    for before, after, report, memory in play(setup, 3):
        assert torch.equal(before.theta, after.theta)
        assert (report.costs.energy > 0).all()
        assert report.costs.slots > 0
        assert np.isnan(report.columns["recovery"])
        assert memory.abs().sum() > 0


def test_the_pilot_follows_the_last_update_and_is_1_where_that_is_unknown():
    codec = Measurements(96, 10)
    turn = turn_at(build(small()), 3)
    size = float(turn.state.update.double().norm())
    assert codec.agree(turn).pilot == pytest.approx(0.1 * size)
    idle = dataclasses.replace(turn, state=dataclasses.replace(turn.state, idle=1))
    nothing = dataclasses.replace(turn.state, update=torch.zeros_like(turn.state.update))
    still = dataclasses.replace(turn, state=nothing)
    assert codec.agree(idle).pilot == codec.agree(still).pilot == 1.0
    assert Measurements(96, 10, pilot="paper").agree(turn).pilot == 1.0


def test_a_projection_stays_for_the_run_or_is_drawn_anew():
    setup = build(small())
    one, two = turn_at(setup, 1), turn_at(setup, 2)
    fixed, renewed = Measurements(96, 10), Measurements(96, 10, renew=True)
    assert fixed.agree(one).projection == fixed.agree(two).projection
    assert renewed.agree(one).projection != renewed.agree(two).projection


def test_all_that_was_heard_leaves_the_memory_and_nothing_else():
    setup, _, x, said, _, _, _, delivery = one_round("ca-dsgd", 1)
    memory = torch.zeros_like(x)
    rows = setup.scheme.codec.memory.changes(said, delivery)
    setup.scheme.codec.memory.remember(x, said, delivery, rows, {"memory": memory}, rows)
    left = x.scatter(1, top_k(x, said.index.shape[1]), 0.0)
    torch.testing.assert_close(memory[rows], left[rows])


def test_without_truncation_it_recovers_the_mean():
    loud = {"options": {"threshold": 0.0, "power_scalar": 1e9, "projection": "gaussian"}}
    free = {"power": 1e30}
    setup, turn, x, said, _, plan, received, _ = one_round("ca-dsgd", 2, scheme=loud, radio=free)
    assert plan.active.all()
    u = torch.zeros_like(x).scatter(1, said.index, said.value).numpy()
    measure = said.agreed.projection
    expected = shrink(measure, measure.apply(u.mean(0)))
    np.testing.assert_allclose(decoded(setup, turn, said, received).update, expected.x, **EXACT)


# Whole runs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["a-dsgd", "ca-dsgd"])
def test_a_belief_is_carried_checkpointed_and_resumed(scheme, tmp_path):
    options = {"options": {"denoiser": "markov", "renew": True}}
    e = small(scheme, scheme=options, training={"rounds": 6}, run={"checkpoint_every": 1})
    run = airfeel.run(e, tmp_path / "whole")
    airfeel.resume(interrupted(tmp_path / "cut", 4, e))
    assert content(tmp_path / "cut") == content(tmp_path / "whole")
    assert (run.rounds["recovery"][1:] < 1.0).all()
    assert (run.rounds["bits"] == 0).all()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"symbols": 2}, r"symbols = 2: must be at least 3"),
        ({"k": 1000}, r"k = 1000: must be at most 102"),
        ({"projection": "dct", "symbols": 200}, r"projection = 'dct': 199 measurements of 102"),
        ({"pilot": "none"}, r"scheme\.options\.pilot = 'none'"),
        ({"denoiser": "hard"}, r"scheme\.options\.denoiser = 'hard'"),
        ({"tuning": 0.0}, r"scheme\.options\.tuning = 0\.0"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(options, told):
    with pytest.raises(BadInput, match=told):
        build(small("a-dsgd", scheme={"options": options}))


def test_a_signal_is_laid_out_as_the_papers():
    np.testing.assert_allclose(lay_out(np.array([1.0, 3.0, 7.0]), 0.5, True), [-1, 1, 2, 0.5])
    np.testing.assert_allclose(lay_out(np.array([1.0, 3.0]), 0.0, False), [1, 3])

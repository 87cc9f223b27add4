"""QSGD, signSGD, EF-signSGD and Qsparse: a plain reading, their laws, and what is refused."""

import importlib
import math
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from airfeel.build.setup import build
from airfeel.compression.buckets import Qsparse, Quantised, excess
from airfeel.compression.signs import ScaledSigns
from airfeel.flower.allowed import Allowed
from airfeel.training.local_sgd import draw_batches
from airfeel.types import Agreed, BadInput, Turn
from small import play, play_small, small

SCHEMES = ("qsgd", "signsgd", "ef-signsgd", "qsparse")
CASES = [
    ("qsgd", {}),
    ("qsgd", {"bucket": 40}),
    ("qsgd", {"bucket": 40, "memory": True}),
    ("qsgd", {"bucket": 0, "memory": True, "scaled": False}),
    ("signsgd", {"stride": 0.01}),
    ("ef-signsgd", {}),
    ("ef-signsgd", {"groups": "layers"}),
    ("qsparse", {}),
    ("qsparse", {"scaled": False}),
    ("qsparse", {"sign": True}),
]
WEIGHED = [
    ("qsgd", {"bucket": 40, "memory": True}),
    ("signsgd", {"stride": 0.01}),
    ("ef-signsgd", {}),
    ("qsparse", {}),
    ("top-k", {}),
    ("tcs-d", {}),
]
UNEVEN = {"partition": "dirichlet", "alpha": 0.5}


@pytest.fixture(scope="module")
def phase():
    """The digital phase of the paper in loops."""
    page = Path(__file__).parents[2] / "examples" / "tcs_h_plain.py"
    return runpy.run_path(str(page))["digital_phase"]


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "plain"))
    return importlib.import_module("digital_plain")


@pytest.mark.parametrize(
    ("scheme", "options", "weights"),
    [(*case, "equal") for case in CASES] + [(*case, "samples") for case in WEIGHED],
)
def test_a_run_is_that_of_the_plain_reading(plain, phase, scheme, options, weights):
    """Updates, memories, bits, slots and energy of every round, on the same dice."""
    uneven = {"data": UNEVEN, "training": {"weights": weights}} if weights == "samples" else {}
    setup = build(small(scheme, scheme={"options": options, "bits": 4}, **uneven))
    codec, learn, world = setup.scheme.codec, setup.scheme.learn, setup.world
    everyone = np.arange(world.devices)
    keeps = bool(codec.memory.buffers)
    memory = np.zeros((world.devices, world.dim))
    sizes, k_global = [world.dim], round(0.3 * world.dim)
    samples = [len(shard) if uneven else 1 for shard in world.shards]
    assert (len(set(samples)) > 1) == bool(uneven)
    if options.get("groups") == "layers":
        sizes = [t.numel() for t in world.model.named(world.model.initial()).values()]
    for before, after, report, kept in play(setup, 6):
        turn = Turn(world, before, setup.streams)
        batch = setup.streams.uniform("batch", turn.round, everyone, learn.dice)
        delta = learn(turn, everyone, batch)[0].numpy()
        dice = setup.streams.uniform("quantize", turn.round, everyone, codec.dice)
        spoke = np.flatnonzero(report.plan.active)
        update, left, bits = plain.round_of(
            *(scheme, delta, memory, dice, spoke.tolist()),
            bits=4,
            k=k_global + round(0.1 * world.dim),
            bucket=options.get("bucket", 512),
            scaled=options.get("scaled", scheme == "qsparse" or options.get("memory", False)),
            signs=options.get("sign", False),
            sizes=sizes,
            stride=0.01,
            weight=plain.by_samples(samples),
            mask=plain.largest(before.update.tolist(), k_global) if scheme == "tcs-d" else (),
        )
        np.testing.assert_allclose(after.update, update, rtol=1e-9, atol=1e-12)
        if keeps:
            memory = left
            np.testing.assert_allclose(kept, memory, rtol=1e-9, atol=1e-12)
        check_ledger(phase, setup, turn, report, bits, spoke)


def check_ledger(phase, setup, turn, report, bits, spoke):
    """Slots and energy of the digital phase, from the sky alone, as the paper has it in loops."""
    world, gain2 = setup.world, setup.scheme.fade(turn).gain ** 2
    _, power, _, slots, total = phase(spoke, world.power, gain2, 1e-6, bits)
    assert (report.costs.slots_air, report.costs.slots_digital) == (0, total)
    np.testing.assert_allclose(report.costs.energy, slots * power.sum(axis=1), rtol=1e-9)
    assert report.costs.bits == pytest.approx(bits * len(spoke), rel=1e-12)


@pytest.mark.parametrize("subchannels", [3, 8])
@pytest.mark.parametrize(
    ("scheme", "options", "bits"),
    [
        ("qsgd", {"bucket": 0}, 4 * 102 + 32),
        ("qsgd", {"bucket": 40}, 4 * 102 + 3 * 32),  # norms of buckets cost always
        ("signsgd", {}, 102),
        ("ef-signsgd", {}, 102 + 32),
        ("ef-signsgd", {"groups": "layers"}, 102 + 4 * 32),  # two weights, two biases
        ("qsparse", {}, 41 * (math.log2(102) + 4) + 32),
        ("qsparse", {"sign": True}, 41 * (math.log2(102) + 1) + 32),
    ],
)
def test_strictly_each_norm_and_each_size_costs_32_bits(phase, scheme, options, bits, subchannels):
    own = {"options": options, "bits": 4, "strict_bits": True}
    setup = build(small(scheme, scheme=own, radio={"subchannels": subchannels}))
    for before, _, report, _ in play(setup, 2):
        spoke = np.flatnonzero(report.plan.active)
        check_ledger(phase, setup, Turn(setup.world, before, setup.streams), report, bits, spoke)


def assert_same(one, other):
    for (_, x, r, memory), (_, y, s, again) in zip(one, other, strict=True):
        assert torch.equal(x.theta, y.theta)
        assert torch.equal(memory, again)
        assert (r.costs.bits, r.costs.slots) == (s.costs.bits, s.costs.slots)
        np.testing.assert_array_equal(x.spent, y.spent)


@pytest.mark.parametrize("strict", [False, True])
def test_qsgd_with_one_norm_and_plain_memory_is_tcs_d_of_everything_to_the_bit(strict):
    own = {"options": {"bucket": 0, "memory": True, "scaled": False}, "strict_bits": strict}
    whole = {"global_sparsity": 1.0, "local_sparsity": 0.0, "strict_bits": strict}
    assert_same(play_small("qsgd", 5, scheme=own), play_small("tcs-d", 5, scheme=whole))


@pytest.mark.parametrize("strict", [False, True])
def test_qsparse_unscaled_is_top_k_to_the_bit(strict):
    own = {"options": {"scaled": False}, "strict_bits": strict}
    ours = play_small("qsparse", 5, scheme=own)
    assert_same(ours, play_small("top-k", 5, scheme={"strict_bits": strict}))


@pytest.mark.parametrize("scaled", [True, False])
def test_qsparse_of_one_local_step_and_no_quantiser_is_sparsified_sgd_with_memory(plain, scaled):
    """Stich 2018: gradients in NumPy, on the same batches."""
    paper = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "tcs_h_plain.py"))
    once = {"training": {"local_steps": 1}, "model": {"name": "logistic"}}
    chosen = {"bits": 32, "scheduled": 6, "options": {"scaled": scaled}}
    setup = build(small("qsparse", scheme=chosen, **once))
    world, k = setup.world, setup.scheme.codec.k
    x = world.data.inputs(world.data.train_x, torch.float64).flatten(1).numpy()
    y, memory = world.data.train_y.numpy(), np.zeros((6, world.dim))
    assert 0 < k < world.dim / 2
    theta = None
    for before, after, _, kept in play(setup, 5):
        theta = before.theta.numpy() if theta is None else theta
        dice = setup.streams.uniform("batch", before.round + 1, np.arange(6), 9)[:, :-1]
        batches = draw_batches(world.shards, dice.reshape(6, 1, 8))[:, 0]
        gradients = [paper["gradient"](theta, x[b], y[b], 0, 4) for b in batches]
        theta, memory = plain.mem_sgd(theta, memory, gradients, 0.1, k)
        np.testing.assert_allclose(after.theta, theta, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(-kept, memory, rtol=1e-9, atol=1e-12)


def test_qsgd_without_a_quantiser_is_fedavgs_mean():
    ours = play_small("qsgd", 4, scheme={"bits": 32, "scheduled": 6})
    theirs = play_small("fedavg", 4)
    for (_, x, _, _), (_, y, _, _) in zip(ours, theirs, strict=True):
        torch.testing.assert_close(x.theta, y.theta, rtol=1e-12, atol=1e-14)


def vectors(rows, dim, seed):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((rows, dim)) ** 3)


def said(codec, x, dice):
    agreed = Agreed(torch.arange(x.shape[1]))
    return codec.encode(x, agreed, np.arange(len(x)), dice)


@given(st.integers(0, 99), st.integers(2, 6), st.sampled_from([0, 7, 20]))
def test_qsgd_is_unbiased_and_its_error_is_bounded_in_each_bucket(seed, bits, bucket):
    dim, grid = 20, 4000
    x = vectors(1, dim, seed)
    dice = np.repeat(((np.arange(grid) + 0.5) / grid)[:, None], dim, axis=1)
    many = said(Quantised(dim, bits, bucket), x.expand(grid, -1), dice).common
    scale = float(x.abs().max())
    torch.testing.assert_close(many.mean(dim=0), x[0], rtol=0.0, atol=scale / 100)
    for first in range(0, dim, bucket or dim):
        part = slice(first, min(first + (bucket or dim), dim))
        error = float((many - x)[:, part].square().sum(dim=1).mean())
        limit = excess(part.stop - first, bits) * float(x[:, part].square().sum())
        assert error <= limit * 1.01 + 1e-12


@given(st.integers(0, 99), st.integers(1, 40))
def test_ef_signs_leave_the_norm_less_its_mean_size(seed, dim):
    x = vectors(3, dim, seed)
    left = x - said(ScaledSigns(dim), x, np.zeros((3, 0))).common
    expected = x.square().sum(dim=1) - x.abs().sum(dim=1) ** 2 / dim
    torch.testing.assert_close(left.square().sum(dim=1), expected, rtol=1e-9, atol=1e-9)


@given(st.integers(0, 99), st.integers(2, 8), st.integers(1, 30), st.booleans())
def test_qsparse_contracts_at_any_number_of_bits_or_unscaled_where_the_error_is_small(
    seed, bits, k, scaled
):
    dim, grid = 30, 1000
    x = vectors(1, dim, seed)
    dice = np.repeat(((np.arange(grid) + 0.5) / grid)[:, None], k, axis=1)
    words = said(Qsparse(dim, k, bits, scaled), x.expand(grid, -1), dice)
    left = x.expand(grid, -1).clone().scatter_add_(1, words.index, -words.value)
    beta = excess(k, bits)
    gamma = k / (dim * (1.0 + beta)) if scaled else (1.0 - beta) * k / dim
    error = float(left.square().sum(dim=1).mean())
    if scaled or beta < 1.0:  # else nothing is promised
        assert error <= (1.0 - gamma) * float(x.square().sum()) * 1.01 + 1e-12


def test_buckets_pay_for_their_norms_and_one_norm_only_under_strict_accounting():
    costs = {b: Quantised(100, 4, b).cost for b in (0, 30, 100)}
    assert costs == {0: 400, 30: 400 + 4 * 32, 100: 432}
    assert Quantised(100, 4, 0, strict=True).cost == 432
    assert Quantised(100, 32, 30).cost == 3200


@pytest.mark.parametrize("scheme", SCHEMES)
def test_threads_change_nothing(scheme):
    one, three = (play(build(small(scheme)), 4, threads=n) for n in (1, 3))
    assert_same(one, three)


@pytest.mark.parametrize(
    ("scheme", "options", "told"),
    [
        ("qsgd", {"buckets": 5}, r"scheme\.options\.buckets: is no setting.*'bucket'"),
        ("qsgd", {"bucket": -1}, r"scheme\.options\.bucket = -1"),
        ("signsgd", {"stride": 0.0}, r"scheme\.options\.stride = 0\.0"),
        ("signsgd", {"stride": {"name": "sine"}}, r"scheme\.options\.stride = 'sine'"),
        ("signsgd", {"momentum": 1.0}, r"scheme\.options\.momentum = 1\.0"),
        ("ef-signsgd", {"groups": "rows"}, r"scheme\.options\.groups = 'rows'"),
        ("qsparse", {"sgn": True}, r"scheme\.options\.sgn: is no setting.*'sign'"),
    ],
)
def test_bad_options_are_refused_by_name(scheme, options, told):
    with pytest.raises(BadInput, match=told):
        build(small(scheme, scheme={"options": options}))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_flower_refuses_by_name_what_its_wire_cannot_carry(scheme):
    codec = build(small(scheme)).scheme.codec
    with pytest.raises(BadInput, match=rf"scheme\.codec = {type(codec).__name__}"):
        Allowed().write(codec)


def test_a_stride_may_fall_over_the_rounds():
    cosine = {"name": "cosine", "start": 0.1, "end": 0.001}
    played = play_small("signsgd", 12, scheme={"options": {"stride": cosine}})
    moved = [float(after.update.abs().max()) for _, after, _, _ in played]
    assert moved[0] > 10 * moved[-1] > 0

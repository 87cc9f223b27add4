"""Lemma 1 against the library's compression, and Theorem 1 against training through it."""

import math
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from airfeel.compression.codecs import TimeCorrelated, TopK
from airfeel.compression.masks import top_k
from airfeel.compression.memory import residual
from airfeel.theory import contraction, convergence_bound
from airfeel.types import Agreed
from ridge import Case, journey

# Lemma 1 ----------------------------------------------------------------------------------------


def squared(x):
    return float(x.square().sum())


def said(part, x, support, dice):
    """What one device says."""
    words = part.encode(x[None], Agreed(support), np.array([0]), dice[None])
    return words.common[0], words.index[0], words.value[0]


def kept_share(part, x, support):
    """The share of ‖x‖² that the two masks keep."""
    index = said(part, x, support, np.zeros(part.dice))[1]
    return (squared(x[support]) + squared(x[index])) / squared(x)


def expected_error(part, x, support):
    """E‖x − what is said‖² exactly: (x − low)(high − x) for a value rounded without bias."""
    low, high = (
        residual(x, support, *said(part, x, support, np.full(part.dice, u))) for u in (1.0, 0.0)
    )
    index = said(part, x, support, np.zeros(part.dice))[1]
    rest = low.clone()
    rest[index] = 0.0
    return squared(rest) - float((low[index] * high[index]).sum())


def thrown_errors(part, x, support, draws):
    """‖x − what is said‖² for each of many throws of the quantiser's dice."""
    dice = np.random.default_rng(5).random((draws, part.dice))
    return np.array([squared(residual(x, support, *said(part, x, support, row))) for row in dice])


SHAPES = {
    "gauss": lambda rng, d: rng.standard_normal(d),
    "heavy": lambda rng, d: rng.standard_cauchy(d),
    "equal": lambda rng, d: rng.choice([-1.0, 1.0], d),
    "sparse": lambda rng, d: rng.standard_normal(d) * (rng.random(d) < 0.2),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("k_global", "k_local", "bits"), [(8, 10, 3), (8, 40, 4), (0, 30, 4), (20, 50, 6), (8, 10, 32)]
)
def test_lemma_1_over_many_throws(shape, k_global, k_local, bits):
    d = 80
    rng = np.random.default_rng(11)
    x = torch.from_numpy(SHAPES[shape](rng, d))
    part = TimeCorrelated(d, k_global, k_local, bits)
    support = top_k(x + 0.2 * torch.from_numpy(rng.standard_normal(d)) * x.abs(), k_global)
    assert kept_share(part, x, support) >= (k_global + k_local) / d * (1 - 1e-12)
    errors = thrown_errors(part, x, support, 200)
    doubt = 4.5 * errors.std() / math.sqrt(len(errors)) + 1e-9 * squared(x)
    exact = expected_error(part, x, support)
    assert abs(errors.mean() - exact) <= doubt
    assert exact <= (1 - contraction(k_global, k_local, bits, d)) * squared(x) * (1 + 1e-12)


def test_lemma_1_is_nearly_tight():
    """Three equal values in two bits: no smaller constant than K[l]/2^(2q−2) would do."""
    x = torch.ones(3, dtype=torch.float64)
    part = TopK(3, 3, 2)
    exact = expected_error(part, x, top_k(x, 0))
    allowed = (1 - contraction(0, 3, 2, 3)) * squared(x)
    assert 0.97 * allowed < exact <= allowed
    assert thrown_errors(part, x, top_k(x, 0), 500).mean() == pytest.approx(exact, rel=0.1)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    shape=st.sampled_from(sorted(SHAPES)),
    d=st.integers(2, 40),
    bits=st.sampled_from([2, 3, 4, 5, 6, 32]),
    drift=st.floats(0.0, 3.0),
    data=st.data(),
)
def test_lemma_1_wherever_its_condition_holds(seed, shape, d, bits, drift, data):
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(SHAPES[shape](rng, d))
    k_global = data.draw(st.integers(0, d - 1))
    most = d - k_global if bits == 32 else min(d - k_global, 4 ** (bits - 1) - 1)
    part = TimeCorrelated(d, k_global, data.draw(st.integers(1, most)), bits)
    support = top_k(x + drift * torch.from_numpy(rng.standard_normal(d)), k_global)
    assume(squared(x) > 0 and kept_share(part, x, support) >= (k_global + part.k_local) / d)
    gamma = contraction(k_global, part.k_local, bits, d)
    assert expected_error(part, x, support) <= (1 - gamma + 1e-12) * squared(x)


def test_last_rounds_mask_can_break_lemma_1():
    """The update has moved to other coordinates: the global mask keeps nothing of it."""
    d, k_global, k_local = 20, 8, 2
    part = TimeCorrelated(d, k_global, k_local, 32)
    last, x = torch.zeros(2, d, dtype=torch.float64)
    last[:8] = 1.0
    x[8:] = 1.0
    allowed = (1 - contraction(k_global, k_local, 32, d)) * squared(x)
    stale, fresh = top_k(last, k_global), top_k(x, k_global)
    assert kept_share(part, x, stale) < (k_global + k_local) / d
    assert expected_error(part, x, stale) == 10.0
    assert allowed == 6.0  # half of ‖x‖² = 12 may be lost
    assert expected_error(part, x, fresh) == 2.0 <= allowed


# Theorem 1, by training -------------------------------------------------------------------------

CASES = {
    "one step": Case(devices=4, local_steps=1, k_global=5, k_local=2, bits=4),
    "three steps": Case(devices=3, local_steps=3, k_global=5, k_local=2, bits=4),
    "more devices": Case(devices=6, local_steps=2, k_global=4, k_local=4, bits=6),
    "loud noise": Case(devices=3, local_steps=2, k_global=6, k_local=2, bits=6, noise=1e7),
    "no compression": Case(
        *(4, 1), k_global=6, k_local=0, bits=32, dim=6, ridge=300.0, batch_size=32, rounds=150
    ),
}
SEEDS = (0, 1)
trained = cache(lambda name, seed: journey(CASES[name], seed))


def bound_after(case, path, rounds):
    problem = path.problem
    return convergence_bound(
        smoothness=problem.smoothness,
        convexity=problem.convexity,
        local_steps=case.local_steps,
        batch_size=case.batch_size,
        devices=case.devices,
        gradient2=path.gradient2,
        noise=case.noise,
        k_global=case.k_global,
        gamma=path.gamma,
        a=path.a,
        rounds=rounds,
        distance2=float(np.square(path.models[0] - problem.optimum).sum()),
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CASES)
def test_training_stays_below_the_bound_and_converges(name, seed):
    case, path = CASES[name], trained(name, seed)
    assert path.everyone, "the theorem needs all devices in every round"
    checked = [case.rounds // 25, case.rounds // 5, case.rounds]
    errors = [path.error_after(rounds) for rounds in checked]
    for rounds, error in zip(checked, errors, strict=True):
        assert 0.0 <= error <= bound_after(case, path, rounds).total
    assert 2 * errors[2] < errors[1] < errors[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_without_compression_the_bound_says_something(seed):
    """It ends below the error that training began with."""
    case, path = CASES["no compression"], trained("no compression", seed)
    bound = bound_after(case, path, case.rounds).total
    assert path.error_after(case.rounds) < bound < path.error_after(1)


@pytest.mark.parametrize("name", ["one step", "loud noise"])
def test_lemma_1_along_training(name):
    """The last round's mask misses the condition now and then; nothing else breaks the lemma."""
    case, path = CASES[name], trained(name, 1)
    part, share = case.codec, (case.k_global + case.k_local) / case.dim
    stale = np.array([kept_share(part, x, mask) < share for x, mask in path.compressed])
    allowed = [(1 - path.gamma) * squared(x) for x, _ in path.compressed]
    broken = np.array([expected_error(part, x, mask) for x, mask in path.compressed]) > allowed
    assert 0.0 < stale.mean() < 0.05
    assert broken.any()
    assert not (broken & ~stale).any()

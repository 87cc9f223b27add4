"""Projections and recovery: adjoints, phase transition, a belief that follows its entries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airfeel.build.setup import build
from airfeel.compression.markov import at_first, foreseen, posterior, recover
from airfeel.compression.projections import Cosine, Gaussian, Some, projection
from airfeel.compression.recovery import (
    SoftThreshold,
    amp,
    energy,
    least_squares,
    minimax_tuning,
    shrink,
)
from airfeel.errors import BadInput
from plain import measured_plain as plain
from small import small, turn_at

KINDS = ["gaussian", "dct"]


def nmse(found, x):
    return energy(found - x) / energy(x)


def sparse(dim, k, seed, values=np.random.Generator.standard_normal):
    rng = np.random.default_rng(seed)
    x = np.zeros(dim)
    x[rng.permutation(dim)[:k]] = values(rng, k)
    return x


def log_normal(sigma):
    return lambda rng, k: np.exp(sigma * rng.standard_normal(k)) * rng.choice([-1.0, 1.0], k)


def matrix(measure):
    return np.stack([measure.apply(column) for column in np.eye(measure.dim)], axis=1)


# Projections ----------------------------------------------------------------------------------


@given(
    kind=st.sampled_from(KINDS),
    dim=st.integers(2, 60),
    part=st.floats(0.05, 1.0),
    seed=st.integers(0, 2**62 - 1),
)
def test_the_adjoint_is_the_adjoint(kind, dim, part, seed):
    measure = projection(kind, max(1, int(part * dim)), dim, seed)
    rng = np.random.default_rng(seed)
    x, z = rng.standard_normal(dim), rng.standard_normal(measure.rows)
    assert measure.apply(x) @ z == pytest.approx(x @ measure.adjoint(z), abs=1e-9)
    kept = rng.random(measure.rows) < 0.5
    if kept.any():
        some = Some(measure, kept)
        assert some.apply(x) @ z[kept] == pytest.approx(x @ some.adjoint(z[kept]), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_have_norm_1_in_the_mean_also_where_rows_are_left_out(kind):
    whole = projection(kind, 400, 900, seed=5)
    some = Some(whole, np.arange(400) % 4 > 0)
    for measure in (whole, some):
        squares = np.square(matrix(measure)).sum(axis=0)
        assert squares.mean() == pytest.approx(1.0, abs=0.02)


def test_all_rows_of_a_transform_are_orthonormal_columns():
    measure = Cosine(seed=2, rows=96, dim=96)
    np.testing.assert_allclose(matrix(measure).T @ matrix(measure), np.eye(96), atol=1e-12)
    padded = Cosine(seed=2, rows=Cosine(2, 1, 97).length, dim=97)
    assert padded.rows > 97
    np.testing.assert_allclose(matrix(padded).T @ matrix(padded), np.eye(97), atol=1e-12)


def test_what_is_too_large_or_too_many_is_refused_by_name():
    with pytest.raises(BadInput, match=r"projection = 'gaussian': 11586 × 11586 .* use 'dct'"):
        Gaussian(0, 11586, 11586)
    with pytest.raises(BadInput, match="projection = 'dct': 101 measurements of 100 entries"):
        Cosine(0, 101, 100)
    assert isinstance(projection("auto", 11585, 11585, 0), Gaussian)
    assert isinstance(projection("auto", 11586, 11586, 0), Cosine)


# Soft threshold -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_below_the_transition_it_recovers_and_goes_on_to(kind):
    """δ = 0.5, k = 0.2·s̃, Gaussian values, no noise."""
    for seed in range(3):
        x = sparse(2000, 200, seed)
        measure = projection(kind, 1000, 2000, seed)
        y = measure.apply(x)
        twenty, sixty = (shrink(measure, y, iterations=count, tolerance=0.0) for count in (20, 60))
        assert nmse(twenty.x, x) <= 1e-3
        assert nmse(sixty.x, x) <= 1e-7
        assert sixty.residual < twenty.residual < 0.1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("values", "least", "most"),
    [
        (np.random.Generator.standard_normal, 0.05, 0.2),
        (log_normal(1.0), 0.025, 0.06),
        (log_normal(1.5), 0.0, 0.01),
    ],
    ids=["gaussian", "heavy", "heavier"],
)
def test_above_the_transition_much_is_lost_unless_tails_are_heavy(kind, values, least, most):
    """k = s̃/2 lies above the ℓ1 transition, 0.39·s̃ at δ = 0.5: no more may be asked."""
    # Means over 12 seeds, Gaussian rows and dct: 0.112 and 0.099 for Gaussian values; of e^N(0, σ²)
    # with random signs 0.047 and 0.043 at σ = 1, 0.0040 and 0.0034 at σ = 1.5. An NMSE of 0.012 was
    # once stated for log-normal values: neither of these comes out at it.
    found = []
    for seed in range(4):
        x, measure = sparse(2000, 500, seed, values), projection(kind, 1000, 2000, seed)
        found.append(nmse(shrink(measure, measure.apply(x)).x, x))
    assert least < np.mean(found) < most


def test_what_does_not_converge_is_guarded():
    """Columns of norm 3 instead of 1: it diverges, and 0 is the estimate of smallest ‖z‖."""
    measure = projection("gaussian", 50, 100, 1)
    x = sparse(100, 40, 1)

    class Loud:
        rows, dim = 50, 100
        apply = staticmethod(lambda x: 3.0 * measure.apply(x))
        adjoint = staticmethod(lambda z: 3.0 * measure.adjoint(z))

    found = shrink(Loud(), Loud.apply(x), tuning=0.1, iterations=2000)
    assert np.isfinite(found.x).all()
    assert found.residual <= 1.0
    nothing = shrink(measure, np.zeros(50))
    assert not nothing.x.any()
    assert nothing.residual == 0.0


def test_minimax_tuning_is_that_of_the_paper():
    found = [minimax_tuning(share) for share in (0.05, 0.1, 0.25)]
    np.testing.assert_allclose(found, [1.398, 1.140, 0.766], atol=5e-4)
    x, measure = sparse(400, 20, 3), projection("dct", 200, 400, 3)
    turn, y = turn_at(build(small()), 1), measure.apply(x)
    by_name = SoftThreshold("minimax")(turn, measure, y, 0.0, 0.05)
    by_value = shrink(measure, y, minimax_tuning(0.05))
    np.testing.assert_array_equal(by_name.x, by_value.x)


@pytest.mark.parametrize("kind", KINDS)
def test_as_many_measurements_as_entries_leave_nothing_to_guess(kind):
    rng = np.random.default_rng(4)
    x = rng.standard_normal(60)
    measure = projection(kind, 60 if kind == "dct" else 120, 60, 4)
    found = least_squares(measure, measure.apply(x))
    np.testing.assert_allclose(found.x, x, atol=1e-9)
    assert found.residual < 1e-9


# Markov ---------------------------------------------------------------------------------------


def sequence(seed, renewed, rounds=10, dim=1000, rows=150, share=0.1, leave=0.05, forget=0.1):
    """NMSE over rounds 3 to 10 of a belief that is carried, one that is not, soft threshold."""
    rng = np.random.default_rng(seed)
    on, value = rng.random(dim) < share, rng.standard_normal(dim)
    prior, errors = at_first(dim, share, 1.0), []
    for t in range(rounds):
        measure = projection("gaussian", rows, dim, 100 * seed + (t if renewed else 0))
        x = on * value
        y = measure.apply(x) + 0.01 * rng.standard_normal(rows)
        carried = recover(measure, y, prior)
        plainly = recover(measure, y, at_first(dim, share, 1.0))
        soft = shrink(measure, y)
        errors.append([nmse(found.x, x) for found in (carried, plainly, soft)])
        after = prior if carried.r is None else posterior(carried.r, carried.variance, prior)
        prior = foreseen(after, prior, share, 1.0, leave, forget)
        value = (1 - forget) * value + np.sqrt(forget * (2 - forget)) * rng.standard_normal(dim)
        dice = rng.random(dim)
        on = np.where(on, dice > leave, dice < share * leave / (1 - share))
    return np.mean(errors[2:], axis=0)


def test_a_belief_that_is_carried_beats_one_that_is_not_and_soft_threshold_fails():
    """By much where the projection is drawn anew: one that stays hides the same part each time.

    Over 40 sequences 0.59 against 0.64 with one that stays (standard error of the difference 0.02),
    over 15 sequences 0.11 against 0.59 with new ones.
    """
    stays = np.mean([sequence(seed, renewed=False) for seed in range(10)], axis=0)
    renewed = np.mean([sequence(seed, renewed=True) for seed in range(3)], axis=0)
    assert stays[0] < stays[1] < stays[2]
    assert renewed[0] < 0.5 * renewed[1] < renewed[2]
    assert min(stays[2], renewed[2]) > 1.0


def test_forgetting_all_is_a_bernoulli_gaussian_amp_without_memory():
    share, prior = 0.1, at_first(200, 0.1, 1.3)
    measure = projection("dct", 80, 200, 7)
    for seed in range(3):
        y = measure.apply(sparse(200, 20, seed))
        found = recover(measure, y, prior)
        after = posterior(found.r, found.variance, prior)
        later = foreseen(after, prior, share, 1.3, leave=1 - share, forget=1.0)
        for name in ("pi", "mean", "variance"):
            np.testing.assert_allclose(getattr(later, name), getattr(prior, name), atol=1e-15)


# The plain reading ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_recovery_is_that_of_plain_loops(kind):
    measure = projection(kind, 24, 48, 11)
    a = matrix(measure)
    y = measure.apply(sparse(48, 6, 2)) + 0.01 * np.random.default_rng(2).standard_normal(24)
    found = shrink(measure, y)
    x, residual, _ = plain.amp(a, y, plain.soft(1.1), 30, 1e-4)
    np.testing.assert_allclose(found.x, x, atol=1e-9)
    assert found.residual == pytest.approx(residual, abs=1e-9)

    prior, loops = at_first(48, 0.1, 1.0), [(0.1, 0.0, 1.0)] * 48
    for _ in range(3):
        found = recover(measure, y, prior)
        x, residual, seen = plain.amp(a, y, plain.bernoulli_gaussian(loops), 30, 1e-4)
        np.testing.assert_allclose(found.x, x, atol=1e-9)
        after = prior if found.r is None else posterior(found.r, found.variance, prior)
        prior = foreseen(after, prior, 0.1, 1.0, 0.05, 0.1)
        loops = plain.next_prior(loops, seen, 0.1, 1.0, 0.05, 0.1)
        carried = np.stack([prior.pi, prior.mean, prior.variance], axis=1)
        np.testing.assert_allclose(carried, loops, atol=1e-9)


def test_amp_of_nothing_is_nothing():
    measure = projection("dct", 5, 9, 0)
    found = amp(measure, np.zeros(5), lambda r, v: (r, 0.0))
    assert not found.x.any()
    assert found.r is None

"""A prior of each entry that follows it from round to round, for recovery by message passing.

The idea is of Fan, Yuan, Zhang 2021 (arXiv:2103.02270): aggregated updates change slowly, so that
former rounds tell which entries are probably not 0, and how large they are. That paper's messages
were not at hand; this is the filtering form of a Bernoulli–Gaussian Markov chain, of our choosing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float64
from scipy.special import expit, logit

from airfeel.compression.projections import Projection
from airfeel.compression.recovery import Iterations, Recovered, Tolerance, amp, energy
from airfeel.ranges import Share, about
from airfeel.types import Happened, Turn

_Vector = Float64[np.ndarray, "D"]
_FAR = 50.0  # largest log-odds
_SELDOM = 1e-6  # smallest probability that is carried
_NAMES = ("prior.pi", "prior.mean", "prior.var")


@dataclass(frozen=True)
class Belief:
    """Of each entry: 0 with probability 1 − π, else N(mean, variance)."""

    pi: Float64[np.ndarray, "D"]
    mean: Float64[np.ndarray, "D"]
    variance: Float64[np.ndarray, "D"]


@dataclass(frozen=True)
class Markov:
    """AMP whose denoiser is the posterior mean under a belief that is carried over the rounds.

    It pays where the projection is drawn anew in every round (`renew`): one that stays hides the
    same part of x each time, and the belief grows sure of what it cannot see.

    Carried: `prior.pi`, `prior.mean`, `prior.var` [D]; NaN before the first round that is decoded.
    With forget = 1 and leave = 1 − share nothing is carried over: a Bernoulli–Gaussian AMP.
    """

    leave: Annotated[Share, about("p10, probability that an entry becomes 0")] = 0.05
    forget: Annotated[Share, about("a, how fast a value is forgotten")] = 0.1
    iterations: Iterations = 30
    tolerance: Tolerance = 1e-4

    def __call__(
        self,
        turn: Turn,
        measure: Projection,
        y: Float64[np.ndarray, "s"],
        noise: float,
        share: float,
    ) -> Recovered:
        fresh = max(energy(y) - len(y) * noise, 0.0) / (share * measure.dim)
        prior = Belief(*(np.asarray(turn.state_of(self)[name]) for name in _NAMES))
        if np.isnan(prior.pi).any():
            prior = at_first(measure.dim, share, fresh)
        found = recover(measure, y, prior, self.iterations, self.tolerance)
        after = prior if found.r is None else posterior(found.r, found.variance, prior)
        later = foreseen(after, prior, share, fresh, self.leave, self.forget)
        notes = dict(zip(_NAMES, (later.pi, later.mean, later.variance), strict=True))
        return Recovered(found.x, found.residual, found.r, found.variance, notes)

    def begin(self, turn: Turn) -> Mapping[str, np.ndarray]:
        """Nothing is known."""
        return {name: np.full(turn.world.dim, np.nan) for name in _NAMES}

    def advance(self, turn: Turn, happened: Happened) -> Mapping[str, np.ndarray]:
        """What the round told; as before where nothing was recovered by message passing."""
        notes = {} if happened.decoded is None else happened.decoded.notes
        return {name: np.asarray(notes.get(name, turn.state_of(self)[name])) for name in _NAMES}


def at_first(dim: int, share: float, variance: float) -> Belief:
    """What is believed before anything was received: the same of every entry.

    Args:
        dim: D.
        share: λ, of entries that are not 0.
        variance: v0, of those.
    """
    return Belief(np.full(dim, share), np.zeros(dim), np.full(dim, variance))


def recover(
    measure: Projection,
    y: Float64[np.ndarray, "s"],
    prior: Belief,
    iterations: int = 30,
    tolerance: float = 1e-4,
) -> Recovered:
    """AMP with x' = E[x | r] under a prior; the slopes' sum is Σ Var[x | r]/τ².

    Args:
        measure: A.
        y: ỹ = A x + noise.
        prior: what is believed of x.
        iterations, tolerance: see `amp`.
    """

    def denoise(r: _Vector, variance: float) -> tuple[_Vector, float]:
        after = posterior(r, variance, prior)
        x = after.pi * after.mean
        spread = after.pi * (after.variance + after.mean**2) - x**2
        return x, float(spread.sum() / variance)

    return amp(measure, y, denoise, iterations, tolerance)


def posterior(r: _Vector, noise: float, prior: Belief) -> Belief:
    """What is believed of x once r = x + N(0, τ²) is known.

    logit π' = logit π − ½ ln((v + τ²)/τ²) − (r − μ)²/(2(v + τ²)) + r²/(2τ²), within ±50;
    m = (v r + τ² μ)/(v + τ²), V = v τ²/(v + τ²).

    Args:
        r: what was seen of each entry.
        noise: τ².
        prior: what was believed.

    >>> after = posterior(np.array([2.0, 0.0]), 1.0, at_first(2, share=0.5, variance=1.0))
    >>> after.mean, after.variance, after.pi.round(2)
    (array([1., 0.]), array([0.5, 0.5]), array([0.66, 0.41]))
    """
    v, both = prior.variance, prior.variance + noise
    odds = (
        logit(prior.pi)
        - 0.5 * np.log(both / noise)
        - np.square(r - prior.mean) / (2.0 * both)
        + np.square(r) / (2.0 * noise)
    )
    mean = (v * r + noise * prior.mean) / both
    return Belief(expit(np.clip(odds, -_FAR, _FAR)), mean, v * noise / both)


def foreseen(
    after: Belief, prior: Belief, share: float, fresh: float, leave: float, forget: float
) -> Belief:
    """What is believed of the next round's x: entries come and go, values drift.

    With m̄, v̄ the mean and variance of what a value is, seen (π') or not (1 − π'):
    μ ← (1 − a)·m̄, v ← (1 − a)²·v̄ + a(2 − a)·v0, π ← π'(1 − p10) + (1 − π')·p01,
    p01 = λ p10/(1 − λ), which keeps a share λ of entries in the mean.

    Args:
        after, prior: what is believed of this round's x with and without its measurements.
        share: λ, of entries that are not 0, below 1.
        fresh: v0, variance of a value that is new.
        leave: p10, probability that an entry becomes 0.
        forget: a, how fast a value is forgotten.

    >>> prior = at_first(1, share=0.1, variance=2.0)
    >>> forgot = foreseen(Belief(np.ones(1), np.ones(1), np.zeros(1)), prior, 0.1, 2.0, 0.9, 1.0)
    >>> forgot.pi.round(9), forgot.mean, forgot.variance
    (array([0.1]), array([0.]), array([2.]))
    """
    p, q = after.pi, 1.0 - after.pi
    mean = p * after.mean + q * prior.mean
    square = p * (after.variance + after.mean**2) + q * (prior.variance + prior.mean**2)
    come = min(share * leave / (1.0 - share), 1.0) if share < 1.0 else 1.0
    return Belief(
        np.clip(p * (1.0 - leave) + q * come, _SELDOM, 1.0 - _SELDOM),
        (1.0 - forget) * mean,
        (1.0 - forget) ** 2 * np.maximum(square - mean**2, 0.0) + forget * (2.0 - forget) * fresh,
    )

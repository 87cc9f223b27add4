"""Recovery of a sparse vector from a projection of it: approximate message passing (AMP)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64
from scipy.optimize import minimize_scalar
from scipy.sparse.linalg import LinearOperator, lsqr
from scipy.special import ndtr

from airfeel.compression.projections import Projection
from airfeel.ranges import Count, NotNegative, Positive, about
from airfeel.types import Turn

_Vector = Float64[np.ndarray, "D"]
Denoise = Callable[[_Vector, float], tuple[_Vector, float]]  # (r, τ²) → x', Σ ∂x'/∂r

Tuning = Annotated[
    Positive | Literal["minimax"], about("threshold over τ, or minimax for the share of k in D")
]
Iterations = Annotated[Count, about("of AMP, at most")]
Tolerance = Annotated[NotNegative, about("change of the estimate, over its norm, at which it ends")]


@dataclass(frozen=True)
class Recovered:
    """What was made of some measurements."""

    x: Float64[np.ndarray, "D"]  # the estimate
    residual: float  # ‖z‖/‖ỹ‖, what it leaves unexplained
    r: Float64[np.ndarray, "D"] | None = None  # what the last denoising saw: x plus noise …
    variance: float = 0.0  # … of variance τ²; None where there was none
    notes: Mapping[str, np.ndarray] = field(default_factory=dict)  # for its own carry


@runtime_checkable
class Recover(Protocol):
    """x from ỹ = A x + noise; may remember from round to round.

    noise: variance of one entry of ỹ. share: of entries of x that are not 0, as far as is known.
    """

    def __call__(
        self,
        turn: Turn,
        measure: Projection,
        y: Float64[np.ndarray, "s"],
        noise: float,
        share: float,
    ) -> Recovered: ...


@dataclass(frozen=True)
class SoftThreshold:
    """AMP whose denoiser is the soft threshold at θ = tuning·τ: see `amp`, `soft_threshold`.

    For Gaussian values it recovers below the ℓ1 phase transition (at s̃ = D/2: up to 0.39·s̃ entries
    that are not 0), and degrades above; heavy tails are kinder. `minimax` is `minimax_tuning`.
    """

    tuning: Tuning = 1.1
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
        tuning = minimax_tuning(share) if self.tuning == "minimax" else self.tuning
        return shrink(measure, y, tuning, self.iterations, self.tolerance)


def shrink(
    measure: Projection,
    y: Float64[np.ndarray, "s"],
    tuning: float = 1.1,
    iterations: int = 30,
    tolerance: float = 1e-4,
) -> Recovered:
    """AMP with x' = sign(r)·max(|r| − θ, 0), θ = tuning·τ; the slopes' sum is ‖x'‖₀.

    Args:
        measure: A.
        y: ỹ = A x + noise.
        tuning: θ over τ.
        iterations, tolerance: see `amp`.

    >>> from airfeel.compression.projections import Gaussian
    >>> A, x = Gaussian(seed=1, rows=20, dim=40), np.eye(40)[7] * 3.0
    >>> bool(np.abs(shrink(A, A.apply(x)).x - x).max() < 1e-3)
    True
    """

    def denoise(r: _Vector, variance: float) -> tuple[_Vector, float]:
        x = soft_threshold(r, tuning * np.sqrt(variance))
        return x, float(np.count_nonzero(x))

    return amp(measure, y, denoise, iterations, tolerance)


def soft_threshold(r: _Vector, threshold: float) -> _Vector:
    """sign(r)·max(|r| − θ, 0).

    Args:
        r: values.
        threshold: θ, in their unit.

    >>> soft_threshold(np.array([3.0, -0.5, -2.0]), 1.0)
    array([ 2., -0., -1.])
    """
    return np.asarray(np.sign(r) * np.maximum(np.abs(r) - threshold, 0.0))


def minimax_tuning(share: float) -> float:
    """The α of least ε(1 + α²) + (1 − ε)(2(1 + α²)Φ(−α) − 2αφ(α)): the soft threshold's worst MSE.

    Donoho, Maleki, Montanari 2009 (arXiv:0907.3574).

    Args:
        share: ε, of entries that are not 0.

    >>> [round(minimax_tuning(share), 3) for share in (0.05, 0.1, 0.25)]
    [1.398, 1.14, 0.766]
    """

    def risk(a: float) -> float:
        rest = 2.0 * (1.0 + a**2) * ndtr(-a) - 2.0 * a * np.exp(-(a**2) / 2.0) / np.sqrt(
            2.0 * np.pi
        )
        return float(share * (1.0 + a**2) + (1.0 - share) * rest)

    found = minimize_scalar(risk, bounds=(0.0, 10.0), method="bounded", options={"xatol": 1e-9})
    return float(found.x)


def amp(
    measure: Projection,
    y: Float64[np.ndarray, "s"],
    denoise: Denoise,
    iterations: int = 30,
    tolerance: float = 1e-4,
) -> Recovered:
    """Approximate message passing (Donoho, Maleki, Montanari 2009, arXiv:0907.3574).

    From x = 0, z = ỹ on: τ² = ‖z‖²/s̃, r = x + Aᵀz, x' = denoise(r, τ²) and
    z' = ỹ − A x' + z·(Σ ∂x'/∂r)/s̃. It ends after so many iterations, where x changes by less than
    the tolerance, or where z is not finite; the x of smallest ‖z‖ is returned, 0 among them.

    Args:
        measure: A, whose columns have norm 1 in the mean.
        y: ỹ = A x + noise.
        denoise: (r, τ²) → x' and the sum of its slopes.
        iterations: at most.
        tolerance: ‖x' − x‖ over ‖x'‖.

    >>> from airfeel.compression.projections import Cosine
    >>> A, x = Cosine(seed=1, rows=4, dim=4), np.array([1.0, 0.0, 2.0, -1.0])
    >>> np.allclose(amp(A, A.apply(x), lambda r, variance: (r, 0.0)).x, x)
    True
    """
    size, start = len(y), energy(y)
    x, z = np.zeros(measure.dim), y
    least, best = start, Recovered(x, 1.0 if start > 0.0 else 0.0)
    for _ in range(iterations):
        left = energy(z)
        if not 0.0 < left < np.inf:
            break
        r, variance = x + measure.adjoint(z), left / size
        with np.errstate(over="ignore", invalid="ignore"):  # it may diverge: that is seen in z
            new, slopes = denoise(r, variance)
            z = y - measure.apply(new) + z * (slopes / size)
        if not np.isfinite(z).all():
            break
        settled = energy(new - x) <= tolerance**2 * energy(new)
        x = new
        if energy(z) < least:
            least = energy(z)
            best = Recovered(x, float(np.sqrt(least / start)), r, variance)
        if settled:
            break
    return best


def least_squares(measure: Projection, y: Float64[np.ndarray, "s"]) -> Recovered:
    """The x of least ‖ỹ − A x‖, for as many measurements as entries or more: nothing is guessed.

    Args:
        measure: A.
        y: ỹ = A x + noise.

    >>> from airfeel.compression.projections import Cosine
    >>> A, x = Cosine(seed=1, rows=4, dim=4), np.array([1.0, 0.0, 2.0, -1.0])
    >>> np.allclose(least_squares(A, A.apply(x)).x, x)
    True
    """
    operator = LinearOperator(
        (measure.rows, measure.dim), matvec=measure.apply, rmatvec=measure.adjoint, dtype=y.dtype
    )
    x = np.asarray(lsqr(operator, y, atol=1e-14, btol=1e-14, conlim=0.0)[0])
    start = energy(y)
    left = energy(y - measure.apply(x))
    return Recovered(x, float(np.sqrt(left / start)) if start > 0.0 else 0.0)


def energy(z: Float64[np.ndarray, "_"]) -> float:
    """‖z‖², a sum whose order no number of threads changes.

    Args:
        z: values.

    >>> energy(np.array([3.0, 4.0]))
    25.0
    """
    with np.errstate(over="ignore"):
        return float(np.square(z).sum())

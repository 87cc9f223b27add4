"""The paper's theory as functions: Lemma 1 (compression) and Theorem 1 (convergence of TCS-H).

Theorem 1 holds for local losses F_n that are all μ-strongly convex and L-smooth, when every device
takes part in every round, no power limit binds, and the compression of every round obeys Lemma 1.
It speaks of the expected loss. The bound is a worst case, and a loose one: it tells how the error
moves with the settings, not how large it will be.
"""

import math
from dataclasses import dataclass

from airfeel.bits import UNQUANTISED, check_bits
from airfeel.errors import BadInput
from airfeel.theory.checks import at_least_zero, positive, sizes, whole


def contraction(k_global: int, k_local: int, bits: int, dim: int) -> float:
    """γ = (1 − K[l]/2^(2q−2))·(K[g] + K[l])/d of Lemma 1, eq. (6).

    Lemma 1: E‖x − x∘m[g] − Q(x∘m[l], q)‖² ≤ (1 − γ)‖x‖², over the dice of the quantiser.
    **It holds where the two masks together keep at least their share (K[g] + K[l])/d of ‖x‖².** A
    top-K mask of x itself always does. The global mask of TCS is a top-K mask of the last global
    update instead, and need not: where x has changed its place since, it may keep next to nothing
    of x, and the inequality fails. It is enough that m[g] alone keeps K[g]/d of ‖x‖², since m[l]
    takes the largest entries of the rest.

    The quantiser has 2^(q−1) − 1 levels beside zero, one fewer than the lemma counts, and obeys it
    all the same: rounding a value between two levels has at most a quarter of a level's variance.
    With bits = 32 nothing is quantised: γ = (K[g] + K[l])/d for every K[l].

    Args:
        k_global, k_local: K[g] and K[l], values in the two masks, which share none.
        bits: q, from 2 to 24, or 32.
        dim: d, parameters of the model.

    >>> contraction(3, 1, bits=2, dim=8)
    0.375
    """
    whole("dim", dim, 1)
    whole("k_global", k_global, 0, dim)
    whole("k_local", k_local, 0, dim - k_global)
    if k_global + k_local == 0:
        raise BadInput("k_local = 0: must be above 0 where k_global = 0 too, or nothing is sent")
    return _kept_by_quantiser(k_local, bits) * (k_global + k_local) / dim


def _kept_by_quantiser(k_local: int, bits: int) -> float:
    """1 − K[l]/2^(2q−2); 1 for values that are sent as they are."""
    check_bits(bits)
    if bits == UNQUANTISED:
        return 1.0
    levels2 = 4 ** (bits - 1)
    if k_local >= levels2:
        raise BadInput(
            f"k_local = {k_local}: must be below 2^(2q−2) = {levels2} with bits = {bits} (Lemma 1)"
        )
    return 1.0 - k_local / levels2


@dataclass(frozen=True)
class Bound:
    """The right-hand side of Theorem 1, eq. (7), and what it is made of."""

    initial: float  # how far the first model was from the optimum; falls as 1/S_T
    noise: float  # of the channel, V1
    variance: float  # of the stochastic gradients, V2; decides at last, as 1/T
    compression: float  # error memory and the drift of local steps, V3

    @property
    def total(self) -> float:
        return self.initial + self.noise + self.variance + self.compression


def convergence_bound(
    *,
    smoothness: float,
    convexity: float,
    local_steps: int,
    batch_size: int,
    devices: int,
    gradient2: float,
    noise: float,
    k_global: int,
    gamma: float,
    a: float,
    rounds: int,
    distance2: float,
) -> Bound:
    """Upper bound on E[F(w̄_T)] − F* under Theorem 1's schedules, eq. (7).

    La³‖w_0−w*‖²/(4S_T) + LT²V1/(μHS_T) + 8LT(T+2a+1)V2/(μ²H²S_T) + 64LTV3/(μ³H³S_T),
    V1 = (7μH/2 + 6HL)·σ0²K[g]/N², V2 = HG²/(BN), A1 = 4aγ(1−γ²)/(aγ−4H) (its least value),
    V3 = (3μ/2 + 9L/2)·G²(H−1)H + (14μ + 24L)·A1H³G²/γ, S_T = Σ_{t=1..T} ω_t, ω_t = (a+t)², for the
    mean model w̄_T = (1/S_T) Σ_{t=1..T} ω_t w_{t−1}, `learning_rate` η_t and `power_scalar` σ_t.

    Args:
        smoothness, convexity: L and μ of every local loss.
        local_steps, batch_size: H and B.
        devices: N, all heard every round.
        gradient2: G², bounds the mean of ‖∇F_n(w; x)‖² over the single samples x of each device,
            wherever training goes.
        noise: σ0² of one received element [W].
        k_global: K[g].
        gamma: γ, see `contraction` for when it holds.
        a: must be above max(4H/γ, 32L/μ), see `smallest_a`.
        rounds: T.
        distance2: ‖w_0 − w*‖².

    >>> b = convergence_bound(
    ...     smoothness=2, convexity=1, local_steps=1, batch_size=8, devices=4, gradient2=1,
    ...     noise=0, k_global=3, gamma=1.0, a=65, rounds=10_000, distance2=1,
    ... )
    >>> f"{b.initial:.1e} {b.variance:.1e} {b.noise + b.compression}"
    '4.0e-07 1.5e-04 0.0'
    """
    sizes(batch_size=batch_size, devices=devices, rounds=rounds)
    whole("k_global", k_global, 0)
    at_least_zero(gradient2=gradient2, noise=noise, distance2=distance2)
    _check_a(a, _limit(gamma, local_steps, smoothness, convexity))
    L, mu, H, T, G2 = smoothness, convexity, local_steps, rounds, gradient2
    v1 = (3.5 * mu * H + 6 * H * L) * noise * k_global / devices**2
    v2 = H * G2 / (batch_size * devices)
    # A1 with γ cancelled: a is above 4H/γ, so their difference is above 0 in floating point too.
    a1 = 4 * a * (1 - gamma**2) / (a - 4 * H / gamma)
    v3 = (1.5 * mu + 4.5 * L) * G2 * (H - 1) * H + (14 * mu + 24 * L) * a1 * H**3 * G2 / gamma
    s = T * a**2 + a * T * (T + 1) + T * (T + 1) * (2 * T + 1) / 6
    return Bound(
        initial=L * a**3 * distance2 / (4 * s),
        noise=L * T**2 * v1 / (mu * H * s),
        variance=8 * L * T * (T + 2 * a + 1) * v2 / (mu**2 * H**2 * s),
        compression=64 * L * T * v3 / (mu**3 * H**3 * s),
    )


def learning_rate(t: int, *, convexity: float, local_steps: int, a: float) -> float:
    """η_t = 8/(μH(a+t)) of round t, under Theorem 1.

    Args:
        t: the round.
        convexity: μ of every local loss.
        local_steps: H.
        a: of the theorem, see `smallest_a`.

    >>> learning_rate(10, convexity=0.1, local_steps=2, a=90)
    0.4
    """
    whole("t", t, 0)
    sizes(local_steps=local_steps)
    positive("convexity", convexity)
    positive("a", a)
    return 8.0 / (convexity * local_steps * (a + t))


def power_scalar(t: int, a: float) -> float:
    """σ_t = (a+t)² of round t, under Theorem 1; the weight ω_t of w_{t−1} in w̄_T is the same.

    Args:
        t: the round.
        a: of the theorem, see `smallest_a`.

    >>> power_scalar(10, 90)
    10000.0
    """
    whole("t", t, 0)
    positive("a", a)
    return float((a + t) ** 2)


def smallest_a(*, gamma: float, local_steps: int, smoothness: float, convexity: float) -> float:
    """The least a that Theorem 1 allows: the first number above max(4H/γ, 32L/μ).

    Take a larger one where 4H/γ decides: A1, and with it the bound, has a pole there.

    Args:
        gamma: γ of Lemma 1, see `contraction`.
        local_steps: H.
        smoothness, convexity: L and μ of every local loss.

    >>> round(smallest_a(gamma=0.25, local_steps=10, smoothness=4, convexity=1), 6)
    160.0
    """
    return math.nextafter(_limit(gamma, local_steps, smoothness, convexity), math.inf)


def _limit(gamma: float, local_steps: int, smoothness: float, convexity: float) -> float:
    """max(4H/γ, 32L/μ), which a must exceed."""
    sizes(local_steps=local_steps)
    positive("convexity", convexity)
    positive("smoothness", smoothness)
    if smoothness < convexity:
        raise BadInput(f"smoothness = {smoothness}: must be at least convexity = {convexity}")
    if not 0.0 < gamma <= 1.0:
        raise BadInput(f"gamma = {gamma}: must be above 0 and at most 1")
    return max(4 * local_steps / gamma, 32 * smoothness / convexity)


def _check_a(a: float, limit: float) -> None:
    if not limit < a < math.inf:
        raise BadInput(f"a = {a}: must be finite and above max(4H/γ, 32L/μ) = {limit:.6g}")

"""What is proven of `backlog`: how long an entry waits, how much is withheld, where training ends.

The steps, with every assumption, are in docs/backlog.md. Nothing here speaks of a sky: how small a
share may become, how loud the noise is and how fast the rates fall are measured, or assumed.
"""

import math

from airfeel.errors import BadInput
from airfeel.theory.checks import at_least_zero, positive, sizes, whole


def longest_wait(dim: int, k: int, floor: float = 0.1, fall: float = 1.0, idle: int = 0) -> float:
    """Most rounds A from one sending of an entry to its next, under the mask by expected backlog.

    A ≤ 1 + I + (q + √(q² − 1 + 2(q − 1)·I·K/d))·d/K with q = 1 + 1/(f·r); without idle rounds that
    is below 1 + 2q·d/K. Some rate must be above 0.

    Args:
        dim: d, entries of the model.
        k: K, entries of the mask.
        floor: f, the least rate that counts, as a part of the mean rate.
        fall: r, the least factor by which the mean rate changes during any one wait, at most 1;
            1 where rates are fixed or rise.
        idle: I, most rounds within one wait in which nothing is sent. They count in A, and let
            entries of high rate come before others again and again.

    >>> round(longest_wait(2000, 100)), round(longest_wait(2000, 100, idle=9))
    (440, 457)
    """
    sizes(dim=dim)
    whole("k", k, 1, dim)
    whole("idle", idle, 0)
    positive("floor", floor)
    if not 0.0 < fall <= 1.0:
        raise BadInput(f"fall = {fall}: must be above 0 and at most 1")
    if k == dim:
        return 1.0 + idle
    q = 1.0 + 1.0 / (floor * fall)
    passed = q + math.sqrt(q * q - 1.0 + 2.0 * (q - 1.0) * idle * k / dim)  # rounds, over d/K
    return 1.0 + idle + passed * dim / k


def memory_bound(wait: float, withheld: float, update: float) -> float:
    """Most that √E‖e_n‖² can be: A·U/(1 − p).

    Args:
        wait: A, rounds from one sending of an entry to its next, at most and almost surely, idle
            ones among them; see `longest_wait`.
        withheld: p, where E(1 − c)² ≤ p² for the share c of whatever is in the mask of a round that
            is not idle, given x: 0 where everything is sent, below 1 in any case.
        update: U, bounds √E‖Δ_n‖² of every device in every round: ηHG for gradients below G.

    >>> memory_bound(wait=10, withheld=0.5, update=0.01)
    0.2
    """
    at_least_zero(wait=wait, update=update)
    if not 0.0 <= withheld < 1.0:
        raise BadInput(f"withheld = {withheld}: must be at least 0 and below 1")
    return wait * update / (1.0 - withheld)


def smooth_bound(
    *,
    smoothness: float,
    learning_rate: float,
    local_steps: int,
    devices: int,
    rounds: int,
    gap: float,
    variance: float,
    gradient2: float,
    memory: float,
    noise: float,
) -> float:
    """Bound on the mean of E‖∇F(w_t)‖² over T rounds, for losses F_n that are L-smooth.

    4·gap/(ηHT) + 2LηH·s²/(NH) + 6L²B² + 3L²η²H²G²·[H > 1] + 2L·V/(ηH). All devices train in every
    round and count the same, η is constant, and the model takes ĝ as it is.

    Args:
        smoothness: L of every local loss.
        learning_rate: η, at most 1/(LH).
        local_steps: H.
        devices: N.
        rounds: T.
        gap: F(w_0) − F*.
        variance: s², of a mini-batch's gradient.
        gradient2: G², bounds E‖∇F_n(w; B)‖² of a mini-batch at every local model that is met;
            matters for H > 1 alone.
        memory: B, bounds √E‖e_n‖² in every round; see `memory_bound`.
        noise: V, the mean over rounds of the noise that the model takes, E‖z‖²/(σ_t N)².

    >>> known = dict(smoothness=1, devices=10, gap=1, variance=1, gradient2=1, memory=0, noise=0)
    >>> round(smooth_bound(learning_rate=0.1, local_steps=1, rounds=1000, **known), 6)
    0.06
    """
    rate = _rate(learning_rate, local_steps, smoothness)
    sizes(devices=devices, rounds=rounds)
    at_least_zero(gap=gap, variance=variance, gradient2=gradient2, memory=memory, noise=noise)
    L = smoothness
    drift = 3 * (L * rate) ** 2 * gradient2 if local_steps > 1 else 0.0
    start = 4 * gap / (rate * rounds)
    batches = 2 * L * rate * variance / (devices * local_steps)
    return start + batches + 6 * (L * memory) ** 2 + drift + 2 * L * noise / rate


def convex_bound(
    *,
    smoothness: float,
    convexity: float,
    learning_rate: float,
    devices: int,
    rounds: int,
    distance2: float,
    variance: float,
    memory: float,
    noise: float,
) -> float:
    """Bound on E‖v_T − w*‖² for F that is L-smooth and μ-strongly convex, H = 1.

    v_T = w_T + mean_n e_n is the model with everything that waits. With ζ = ημ/2:
    (1 − ζ)^T·‖w_0 − w*‖² + (1 − (1 − ζ)^T)/ζ·(3ηL·B² + η²s²/N + V). All devices train in every
    round and count the same, η is constant, and the model takes ĝ as it is.

    Args:
        smoothness, convexity: L and μ of the global loss.
        learning_rate: η, at most 1/(2L).
        devices: N.
        rounds: T.
        distance2: ‖w_0 − w*‖².
        variance: s², of a mini-batch's gradient.
        memory: B, bounds √E‖mean_n e_n‖² in every round; see `memory_bound`.
        noise: V, bounds the noise that the model takes in a round, E‖z‖²/(σ_t N)².

    >>> known = dict(smoothness=1, convexity=0.5, devices=10, variance=0, memory=0, noise=0)
    >>> round(convex_bound(learning_rate=0.4, rounds=10, distance2=1, **known), 4)
    0.3487
    """
    rate = _rate(learning_rate, 2, smoothness) / 2
    positive("convexity", convexity)
    sizes(devices=devices)
    whole("rounds", rounds, 0)
    if smoothness < convexity:
        raise BadInput(f"smoothness = {smoothness}: must be at least convexity = {convexity}")
    at_least_zero(distance2=distance2, variance=variance, memory=memory, noise=noise)
    zeta = rate * convexity / 2
    left = (1 - zeta) ** rounds
    added = 3 * rate * smoothness * memory**2 + rate**2 * variance / devices + noise
    return left * distance2 + (1 - left) / zeta * added


def mean_loss_bound(
    *,
    smoothness: float,
    learning_rate: float,
    devices: int,
    rounds: int,
    distance2: float,
    variance: float,
    memory: float,
    noise: float,
) -> float:
    """Bound on mean_t E F(w_t) − F* over T rounds for F that is L-smooth and convex, H = 1.

    (‖w_0 − w*‖²/(ηT) + 2L·B² + η·s²/N + V/η)/(1 − 2ηL), w* any minimum. All devices train in every
    round and count the same, η is constant, and the model takes ĝ as it is.

    Args:
        smoothness: L of the global loss.
        learning_rate: η, below 1/(2L).
        devices: N.
        rounds: T.
        distance2: ‖w_0 − w*‖².
        variance: s², of a mini-batch's gradient.
        memory: B, bounds √E‖mean_n e_n‖² in every round; see `memory_bound`.
        noise: V, bounds the noise that the model takes in a round, E‖z‖²/(σ_t N)².

    >>> known = dict(smoothness=1, devices=10, variance=0, memory=0, noise=0)
    >>> mean_loss_bound(learning_rate=0.25, rounds=100, distance2=1, **known)
    0.08
    """
    left = 1.0 - _rate(learning_rate, 2, smoothness) * smoothness
    if left == 0.0:
        raise BadInput(f"learning_rate = {learning_rate}: must be below {0.5 / smoothness:.6g}")
    sizes(devices=devices, rounds=rounds)
    at_least_zero(distance2=distance2, variance=variance, memory=memory, noise=noise)
    rate = learning_rate
    start, noisy = distance2 / (rate * rounds), rate * variance / devices + noise / rate
    return (start + 2 * smoothness * memory**2 + noisy) / left


def _rate(learning_rate: float, steps: int, smoothness: float) -> float:
    """ηH, if it is at most 1/L."""
    positive("smoothness", smoothness)
    positive("learning_rate", learning_rate)
    sizes(local_steps=steps)
    if learning_rate * steps * smoothness > 1.0:
        limit = 1.0 / (smoothness * steps)
        raise BadInput(f"learning_rate = {learning_rate}: must be at most {limit:.6g}")
    return learning_rate * steps

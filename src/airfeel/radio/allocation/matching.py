"""Who gets which sub-channel: bottleneck matching first, greedy completion after."""

import math

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import linear_sum_assignment

from airfeel.radio import native
from airfeel.radio.allocation.links import Links, check_owner
from airfeel.types import BadInput

Array = np.ndarray


def bottleneck_matching(rate: Float[Array, "n m"]) -> Int[Array, "n"]:
    """One column for each row, all different, so that the smallest rate is as large as possible.

    max over matchings of min_n rate[n, column_n] (Sun et al. 2022, Algorithm 2, first step). Among
    the optimal matchings the one with the largest sum of rates is returned.

    Args:
        rate: rate of each device (row) on each sub-channel (column), n ≤ m; any monotone unit
            gives the same bottleneck, the tie rule sums what is given.

    >>> bottleneck_matching(np.array([[5.0, 4.0], [3.0, 1.0]]))
    array([1, 0])
    """
    n, m = rate.shape
    if n > m:
        raise BadInput(f"rate has {n} rows and {m} columns: must have at most as many rows")
    if n == 0:
        return np.zeros(0, dtype=np.intp)
    rate = np.asarray(rate, dtype=np.float64)
    allowed = native.bottleneck_edges(rate) if native.KERNEL.missing is None else None
    if allowed is None:
        allowed = _bottleneck_edges(rate)
    return np.asarray(linear_sum_assignment(allowed, maximize=True)[1])


def assign_subchannels(links: Links) -> Int[Array, "m"]:
    """The owner of each sub-channel, −1 for none, as in Sun et al. 2022, Algorithm 2.

    First one sub-channel for each device by bottleneck matching of the single-channel rates r_{n,m}
    [nats/slot], then greedy completion as if all had the same bits. Ties go to the lower index.

    Args:
        links: the links of n devices on m sub-channels.

    >>> gain2 = np.array([[9.0, 8.0, 7.0], [9.0, 1.0, 1.0]])
    >>> assign_subchannels(Links(np.ones(2), gain2, 1.0, np.ones(2)))
    array([1, 0, 0])
    """
    snr = links.snr
    n, m = snr.shape
    owner = np.full(m, -1, dtype=np.int64)
    owner[bottleneck_matching(np.log1p(snr))] = np.arange(n)
    return complete_greedily(snr, owner, np.ones(n))


def complete_greedily(
    snr: Float[Array, "n m"], owner: Int[Array, "m"], bits: Float[Array, "n"]
) -> Int[Array, "m"]:
    """Give the sub-channels that nobody owns, one at a time, to the slowest device.

    It takes the best one left if ΔR = Σ_{S∪m†} log(1 + snr/(|S|+1)) − Σ_S log(1 + snr/|S|) > 0,
    otherwise it is removed from the candidates (Sun et al. 2022, Algorithm 2 and eq. (4), where all
    have the same bits).

    Args:
        snr: power·gain2/noise of each device on each sub-channel, with its whole power.
        owner: device that owns each sub-channel already, −1 for none.
        bits: what each device has to send; the slowest has the smallest rate/bits.

    >>> snr = np.array([[9.0, 8.0, 7.0], [9.0, 1.0, 1.0]])
    >>> complete_greedily(snr, np.array([1, 0, -1]), np.ones(2))
    array([1, 0, 0])
    """
    fits = owner.shape == snr.shape[1:] and bits.shape == snr.shape[:1]
    if fits and native.KERNEL.missing is None:
        completed = native.complete(snr, owner, bits)
        if completed is not None:
            return completed
    check_owner(owner, *snr.shape)
    if bits.shape != snr.shape[:1] or not (bits > 0.0).all():
        raise BadInput(f"bits = {bits}: must be {snr.shape[0]} numbers above 0")
    return _complete(np.asarray(snr, dtype=np.float64), owner.astype(np.int64), bits)


def sum_rate_assignment(rate: Float[Array, "n m"]) -> Int[Array, "m"]:
    """The owner of each sub-channel by the largest sum of rates (Hungarian method).

    One sub-channel for each device first; what is left over is matched again until none is left.

    Args:
        rate: rate of each device (row) on each sub-channel (column), in any unit.

    >>> sum_rate_assignment(np.array([[5.0, 4.0], [3.0, 1.0]]))
    array([1, 0])
    """
    owner = np.full(rate.shape[1], -1, dtype=np.intp)
    while rate.shape[0] and (owner < 0).any():
        free = np.flatnonzero(owner < 0)
        row, column = linear_sum_assignment(rate[:, free], maximize=True)
        owner[free[column]] = row
    return owner


def _complete(
    snr: Float[Array, "n m"], owner: Int[Array, "m"], bits: Float[Array, "n"]
) -> Int[Array, "m"]:
    """The plain reading of `complete_greedily`, which fills the owners in.

    The C library's log1p and sums from left to right, not NumPy's: so the kernel computes the same.
    """
    free = np.flatnonzero(owner < 0)
    held = [np.flatnonzero(owner == n).tolist() for n in range(snr.shape[0])]
    speed = np.array([_speed(snr[n, held[n]], bits[n]) for n in range(snr.shape[0])])
    while speed.size and free.size:
        slowest = int(speed.argmin())
        if speed[slowest] == np.inf:  # no candidate is left
            break
        pick = int(snr[slowest, free].argmax())
        wider = [*held[slowest], int(free[pick])]
        faster = _speed(snr[slowest, wider], bits[slowest])
        if faster > speed[slowest]:
            held[slowest], speed[slowest] = wider, faster
            owner[free[pick]] = slowest
            free = np.delete(free, pick)
        else:
            speed[slowest] = np.inf
    return owner


def _speed(snr: Float[Array, "k"], bits: float) -> float:
    """Rate [nats/slot] over bits, with equal power on all k sub-channels."""
    rate = 0.0
    for share in (snr / snr.size).tolist():
        rate += math.log1p(share)
    return rate / bits


def _bottleneck_edges(rate: Float[Array, "n m"]) -> Float[Array, "n m"]:
    """The rates of at least the largest threshold that still holds a matching of all rows, else −∞.

    No threshold above the smallest row maximum (for a square matrix also column maximum) can do,
    and the answer is mostly near it: gallop down from there, then bisect.
    """
    if not np.isfinite(rate).all():
        raise BadInput(f"rate holds {rate[~np.isfinite(rate)][0]}: must be finite")
    n, m = rate.shape
    top = rate.max(axis=1).min()
    if n == m:
        top = min(top, rate.max(axis=0).min())
    values = np.sort(rate[rate <= top])
    good, bad = values.size - 1, values.size
    step = 1
    while good > 0 and not _covers_rows(rate >= values[good]):
        good, bad = max(good - step, 0), good
        step *= 2
    while bad - good > 1:
        middle = (good + bad) // 2
        if _covers_rows(rate >= values[middle]):
            good = middle
        else:
            bad = middle
    return np.where(rate >= values[good], rate, -np.inf)


def _covers_rows(edges: Bool[Array, "n m"]) -> bool:
    """Whether the bipartite graph has a matching of all its rows: one without any missing edge.

    SciPy's `maximum_bipartite_matching` would do, but did not return on a staircase of 1000 × 1250.
    """
    return bool(edges[linear_sum_assignment(~edges)].all())

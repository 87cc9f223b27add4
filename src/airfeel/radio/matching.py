"""Who gets which sub-channel: bottleneck matching first, greedy completion after."""

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from airfeel.radio.power import check_radio
from airfeel.types import BadInput

Array = np.ndarray


def bottleneck_matching(rate: Float[Array, "n m"]) -> Int[Array, "n"]:
    """One column for each row, all different, so that the smallest rate is as large as possible.

    max over matchings of min_n rate[n, column_n] (Sun et al. 2022, Algorithm 2). Among the optimal
    matchings the one with the largest sum of rates is returned.

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
    if not np.isfinite(rate).all():
        raise BadInput(f"rate holds {rate[~np.isfinite(rate)][0]}: must be finite")
    allowed = rate >= _bottleneck_value(rate)
    column = linear_sum_assignment(np.where(allowed, rate, -np.inf), maximize=True)[1]
    return np.asarray(column)


def assign_subchannels(
    power: Float[Array, "n"], gain2: Float[Array, "n m"], noise: float
) -> Int[Array, "m"]:
    """The owner of each sub-channel, −1 for none, as in Sun et al. 2022, Algorithm 2.

    First one sub-channel for each device by bottleneck matching of the single-channel rates
    log2(1 + power_n·gain2_{n,m}/noise); then the device of smallest rate takes its best remaining
    sub-channel, as long as that raises its rate at equal power over its sub-channels; a device for
    which it does not is served no more. Ties go to the lower index.

    Args:
        power: power of each device [W].
        gain2: |h|² of each device on each sub-channel, n ≤ m.
        noise: noise variance σ0² [W].

    >>> assign_subchannels(np.ones(2), np.array([[9.0, 8.0, 7.0], [9.0, 1.0, 1.0]]), 1.0)
    array([1, 0, 0])
    """
    check_radio(power, gain2, noise)
    if power.size > gain2.shape[1]:
        raise BadInput(
            f"gain2 has {power.size} devices and {gain2.shape[1]} sub-channels: "
            "must have at most as many devices"
        )
    snr = power[:, None] * gain2 / noise
    owner = np.full(gain2.shape[1], -1, dtype=np.intp)
    owner[bottleneck_matching(np.log1p(snr))] = np.arange(power.size)
    return complete_greedily(snr, owner, np.ones(power.size))


def complete_greedily(
    snr: Float[Array, "n m"], owner: Int[Array, "m"], bits: Float[Array, "n"]
) -> Int[Array, "m"]:
    """Give the sub-channels that nobody owns, one at a time, to the slowest device.

    It takes the best one left if ΔR = Σ_{S∪m†} log(1 + snr/(|S|+1)) − Σ_S log(1 + snr/|S|) > 0,
    else it leaves the willing (Sun et al. 2022, Algorithm 2, where all have the same bits).

    Args:
        snr: power·gain2/noise of each device on each sub-channel, with its whole power.
        owner: device that owns each sub-channel already, −1 for none.
        bits: what each device has to send; the slowest has the smallest rate/bits.
    """
    n, owner = snr.shape[0], owner.astype(np.intp)
    free, used = np.flatnonzero(owner < 0), np.flatnonzero(owner >= 0)
    who = owner[used]
    share = np.log1p(snr[who, used] / np.bincount(who, minlength=n)[who])
    speed = np.bincount(who, weights=share, minlength=n) / bits
    held: list[list[int]] = [[] for _ in range(n)]
    for device, m in zip(who.tolist(), used.tolist(), strict=True):
        held[device].append(m)
    while speed.size and free.size:
        slowest = int(speed.argmin())
        if speed[slowest] == np.inf:  # nobody is willing any more
            break
        pick = int(snr[slowest, free].argmax())
        wider = [*held[slowest], int(free[pick])]
        faster = np.log1p(snr[slowest, wider] / len(wider)).sum() / bits[slowest]
        if faster > speed[slowest]:
            held[slowest], speed[slowest] = wider, faster
            owner[free[pick]] = slowest
            free = np.delete(free, pick)
        else:
            speed[slowest] = np.inf
    return owner


def sum_rate_assignment(rate: Float[Array, "n m"]) -> Int[Array, "m"]:
    """The owner of each sub-channel by the largest sum of rates (Hungarian method).

    One sub-channel for each device first; what is left over is matched again until none is left.

    >>> sum_rate_assignment(np.array([[5.0, 4.0], [3.0, 1.0]]))
    array([1, 0])
    """
    owner = np.full(rate.shape[1], -1, dtype=np.intp)
    while rate.shape[0] and (owner < 0).any():
        free = np.flatnonzero(owner < 0)
        row, column = linear_sum_assignment(rate[:, free], maximize=True)
        owner[free[column]] = row
    return owner


def _bottleneck_value(rate: Float[Array, "n m"]) -> float:
    """The largest threshold whose edges still hold a matching of all rows.

    No threshold above the smallest row maximum (for a square matrix also column maximum) can do,
    and the answer is mostly near it: gallop down from there, then bisect.
    """
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
    return float(values[good])


def _covers_rows(edges: Bool[Array, "n m"]) -> bool:
    """Whether the bipartite graph has a matching of all its rows."""
    # Built by hand: the constructor from a dense matrix costs more than the matching itself.
    start = np.zeros(edges.shape[0] + 1, dtype=np.int32)
    np.cumsum(np.count_nonzero(edges, axis=1), out=start[1:])
    column = np.nonzero(edges)[1].astype(np.int32)
    entries = np.ones(column.size, dtype=bool), column, start
    graph: csr_array = csr_array(entries, shape=edges.shape)
    return bool((maximum_bipartite_matching(graph, perm_type="column") >= 0).all())

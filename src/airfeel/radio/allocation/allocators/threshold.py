"""An assignment that first decides what rate everybody must have."""

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment

from airfeel.radio.allocation.links import Links
from airfeel.radio.allocation.matching import complete_greedily
from airfeel.radio.allocation.power import rates

Array = np.ndarray


def threshold_assignment(start: Int[Array, "m"], links: Links) -> Int[Array, "m"]:
    """The assignment for the largest target min_n R_n/bits_n found by bisection, or the start.

    For a target, as many devices as possible get one sub-channel that reaches it alone, the weakest
    that does (a matching); the others share what is left, each at least two. With M < 2N that
    decides all: the target is set by who must live on one sub-channel, not by the weakest device.
    Targets are the single-channel scores above the start's; each costs O(n²·m).

    Args:
        start: a known assignment, −1 for none; returned where no higher target is reached.
        links: the links of the devices.

    >>> links = Links(np.ones(2), np.array([[9.0, 8.0, 7.0], [9.0, 1.0, 1.0]]), 1.0, np.ones(2))
    >>> threshold_assignment(np.array([0, 1, 1]), links)
    array([1, 0, 0])
    """
    some = np.flatnonzero(links.bits > 0.0)
    if some.size == 0:
        return start
    due = links.of(some)
    snr, single = due.snr, due.single_rates / due.bits[:, None]

    def score(owner: Int[Array, "m"]) -> float:
        rate = rates(links.water_filling(owner), links.gain2, links.noise)
        return float((rate[some] / due.bits).min())

    best, reached = start, score(start)
    targets = np.unique(single[single > reached])
    low, high = 0, targets.size
    while low < high:
        middle = (low + high) // 2
        owner = _assign_for(targets[middle], single, snr, due.bits)
        if owner is not None:
            owner = np.where(owner >= 0, some[owner], -1)
        lowest = 0.0 if owner is None else score(owner)
        if owner is not None and lowest > reached:
            best, reached = owner, lowest
        if lowest >= targets[middle]:
            low = middle + 1
        else:
            high = middle
    return best


def _assign_for(
    target: float, single: Float[Array, "n m"], snr: Float[Array, "n m"], bits: Float[Array, "n"]
) -> Int[Array, "m"] | None:
    """An attempt to bring everybody to the target; None where counting shows that none can."""
    n, m = single.shape
    enough = single >= target
    # The size of the matching first, the sum of (small) preferences for weak sub-channels second.
    rate = np.log1p(snr)
    worth = np.where(enough, 1.0 + (1.0 - rate / rate.max()) / (2 * n), 0.0)
    row, column = linear_sum_assignment(worth, maximize=True)
    alone = enough[row, column]
    if alone.sum() + 2 * (n - alone.sum()) > m:
        return None
    owner = np.full(m, -1, dtype=np.intp)
    owner[column[alone]] = row[alone]
    return complete_greedily(snr, owner, bits)

"""A proven bound: the number of digital slots below which no assignment can get."""

from time import monotonic
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import linprog
from scipy.sparse import block_array, block_diag, csr_array, eye_array, hstack

from airfeel.radio.allocation.links import Links
from airfeel.radio.allocation.matching import bottleneck_matching
from airfeel.radio.allocation.power import best_rates, needed_slots

Array = np.ndarray
# Water levels that are tried lie above the lowest floor by the power divided by these: as if it
# were shared by so many sub-channels of equal gain.
_SHARES = np.array([1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0])
_SAFE = 1e-6  # what the linear programme's solver may be wrong by
_CLOSE = 1e-7  # of the bound: less than one slot, but where there are more than ten million
_LEAST_REST = 1e-6  # of a rate: of a smaller difference rounding would be too large a share
_LONGEST = 1e9  # seconds: the solver takes no infinite time limit


def slots_bound(links: Links, known: float = np.inf, time_limit: float = np.inf) -> float:
    """A lower bound on max_n ⌈bits_n/R_n⌉ over all assignments and powers, by linear programmes.

    For a number of slots T device n needs the rate t_n = bits_n/T. Three kinds of inequality hold
    for every assignment x ∈ {0, 1}^{n×m} that gives it so much:

    1. For any water level L, weak duality in the power gives R_n ≤ P/(L ln 2) + Σ_m x_m·φ_L(m),
       φ_L(m) = max_p log2(1 + p·g_m/noise) − p/(L ln 2). With c = t_n − P/(L ln 2) > 0, every φ_L
       may be cut at c: Σ_m x_m·min(φ_L(m)/c, 1) ≥ 1.
    2. If k is the least number of sub-channels that reach t_n, Σ_m x_m/k ≥ 1.
    3. If k ≥ 2 is the least number among those that do not reach t_n alone, one that does counts
       1 and every other 1/k, and the sum is at least 1.

    If no x ∈ [0, 1]^{n×m} with Σ_n x_{n,m} ≤ 1 satisfies them all, T slots are too few. T is found
    by bisection; whatever levels L are tried, the bound is valid.

    Args:
        links: the links of the devices.
        known: slots of a known assignment, where the search may end; ∞ for none.
        time_limit: seconds after which the bound proven so far is returned.

    >>> slots_bound(Links(np.array([1.0]), np.array([[1.0, 1.0]]), 1.0, np.array([7.0])))
    6.0
    """
    deadline = monotonic() + time_limit
    links = links.of(np.flatnonzero(links.bits > 0.0))
    all_channels = best_rates(links.power, links.gain2, links.noise)
    low = float(needed_slots(all_channels, links.bits).max(initial=0.0))
    high = min(known, _single_slots(links))
    if not np.isfinite(high):
        return high
    reach = _Reach(links, deadline)
    # A good assignment is often optimal: one programme then decides.
    if low < high and not reach.possible(links.bits / (high - 1.0)):
        return high
    while high - low > _CLOSE * low and monotonic() < deadline:
        middle = np.floor((low + high) / 2.0)
        if reach.possible(links.bits / middle):
            high = middle
        else:
            low = middle + 1.0
    return low


def _single_slots(links: Links) -> float:
    """Slots with one sub-channel for each device; ∞ only if no assignment gives all a rate."""
    column = bottleneck_matching(links.single_rates)
    rate = links.single_rates[np.arange(column.size), column]
    return float(needed_slots(rate, links.bits).max(initial=0.0))


class _Reach:
    """The linear programme of `slots_bound` for one draw and any required rates."""

    def __init__(self, links: Links, deadline: float) -> None:
        self.links, self.deadline = links, deadline

    def possible(self, rate: Float[Array, "n"]) -> bool:
        """False only if no assignment gives every device its rate."""
        n, m = self.links.gain2.shape
        cuts = [self._cuts(i, float(r)) for i, r in enumerate(rate)]
        rows: Any = block_diag([csr_array(c) for c in cuts])
        count = rows.shape[0]
        once: Any = hstack([eye_array(m)] * n)
        # Maximise s with every cut ≥ s and every sub-channel given at most once.
        blocks: Any = [[-rows, np.ones((count, 1))], [once, None]]
        matrix: Any = block_array(blocks, format="csr")
        limit = np.concatenate([np.zeros(count), np.ones(m)])
        aim = np.append(np.zeros(n * m), -1.0)
        left: Any = {"time_limit": min(max(self.deadline - monotonic(), 0.0), _LONGEST)}
        solved: Any = linprog(aim, A_ub=matrix, b_ub=limit, bounds=(0.0, 1.0), options=left)
        # Where the solver gives up nothing is proven.
        return bool(solved.status != 0 or solved.x[-1] >= 1.0 - _SAFE)

    def _cuts(self, device: int, rate: float) -> Float[Array, "c m"]:
        """Rows of coefficients of which Σ_m x_m·row_m ≥ 1 must hold."""
        alone = self.links.single_rates[device] >= rate
        every = np.ones(alone.size, dtype=bool)
        cuts = [np.full(alone.size, 1.0 / self._least_number(device, every, rate))]
        cuts.append(np.where(alone, 1.0, 1.0 / max(self._least_number(device, ~alone, rate), 2.0)))
        power, gain2, noise = self.links.power[device], self.links.gain2[device], self.links.noise
        with np.errstate(divide="ignore", over="ignore"):
            floor = noise / gain2
        for level in floor.min() + power / _SHARES:
            price = 1.0 / (level * np.log(2.0))
            depth = np.maximum(level - floor, 0.0)
            value = np.log1p(depth * gain2 / noise) / np.log(2.0) - depth * price
            rest = rate - power * price
            if rest > _LEAST_REST * rate:
                cuts.append(np.minimum(value / rest, 1.0))
        return np.array(cuts)

    def _least_number(self, device: int, of: Bool[Array, "m"], rate: float) -> float:
        """How many of some sub-channels, the best first, the device needs for a rate, ∞ if more."""
        links = self.links
        gains = -np.sort(-links.gain2[device, of])
        for count in range(1, gains.size + 1):
            top = best_rates(links.power[device : device + 1], gains[None, :count], links.noise)
            if top[0] >= rate:
                return float(count)
        return np.inf

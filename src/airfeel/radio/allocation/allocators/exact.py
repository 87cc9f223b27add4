"""The optimum by branch and bound: for small instances, and to measure heuristics with."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from time import monotonic
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int

from airfeel.radio.allocation.allocators.bound import slots_bound
from airfeel.radio.allocation.allocators.exchange import best_exchange, exchange_channels
from airfeel.radio.allocation.links import Allocation, Links
from airfeel.radio.allocation.power import best_rates
from airfeel.ranges import Positive, about
from airfeel.types import BadInput

Array = np.ndarray


@dataclass(frozen=True)
class Exact:
    """The fewest digital slots that any assignment can reach, proven if the time limit allows.

    Starts from `Exchange`; `gap` is 0 where the optimum is proven, else it is the distance to the
    best proven bound. The time needed grows exponentially with the number of devices.

    time_limit: seconds of search for each allocation, above 0.
    """

    time_limit: Annotated[Positive, about("of the search for each allocation", "s")] = 10.0

    def __post_init__(self) -> None:
        if not self.time_limit > 0.0:
            raise BadInput(f"time_limit = {self.time_limit}: must be above 0 seconds")

    def __call__(self, links: Links) -> Allocation:
        owner, gap = solve_exactly(best_exchange(links), links, self.time_limit)
        return Allocation(owner, links.water_filling(owner), gap)


def solve_exactly(
    start: Int[Array, "m"], links: Links, time_limit: float
) -> tuple[Int[Array, "m"], float]:
    """The assignment of fewest slots max_n ⌈bits_n/R_n⌉, and its gap to the best proven bound.

    For a given assignment water-filling is the best power, so the problem is to find the smallest
    T for which disjoint sets S_n with R_n(S_n) ≥ bits_n/T exist, R_n water-filled. That is monotone
    in T: bisection between `slots_bound` and the best assignment known, each step decided by the
    complete search of `_Search`. The gap is 0 if bisection ends; at the time limit (in seconds) it
    is (slots − bound)/bound with the bound proven so far.

    Args:
        start: a known assignment, −1 for none.
        links: the links of the devices.
        time_limit: of the whole search [s].

    >>> links = Links(np.ones(2), np.array([[9.0, 8.0], [9.0, 1.0]]), 1.0, np.full(2, 60.0))
    >>> solve_exactly(np.array([0, 1]), links, time_limit=10.0)
    (array([1, 0]), 0.0)
    """
    best, high = start, links.slots(start)
    deadline = monotonic() + time_limit
    low = slots_bound(links, high, time_limit)
    while low < high < np.inf:
        middle = min(low + np.floor((high - low) / 2.0), np.nextafter(high, 0.0))
        try:
            owner = _Search(links, links.bits / middle, deadline).run()
        except TimeoutError:
            return best, (high - low) / low
        if owner is None:
            low = max(middle + 1.0, np.nextafter(middle, np.inf))
        else:
            best = min([owner, exchange_channels(owner, links)], key=links.slots)
            high = min(links.slots(best), middle)
    return best, 0.0


class _Search:
    """Whether every device can have its rate: complete, depth first.

    R_n grows with the set, so only minimal sets that reach the rate matter: one sub-channel that
    does alone, or several of which none does. Devices that live on one form a matching. If a
    maximum matching leaves a device out, the devices reached from it by alternating paths have
    fewer such sub-channels than they are (Hall): one of them must live on several. Branch on which
    one and on its minimal sets; a device whose turn has failed lives on one from there on. A branch
    ends where the free sub-channels are too few (one for each matched device, for every other the
    least number of its best ones that reach its rate) or where the same has failed before. Sets of
    sub-channels are bit masks.
    """

    def __init__(self, links: Links, rate: Float[Array, "n"], deadline: float) -> None:
        self.links, self.rate, self.deadline = links, rate, deadline
        self.channels = links.gain2.shape[1]
        alone = links.single_rates >= rate[:, None]
        self.alone = [_mask(np.flatnonzero(row).tolist()) for row in alone]
        self.reached: dict[tuple[int, int], bool] = {}
        self.failed: set[tuple[frozenset[int], int, frozenset[int]]] = set()
        self.least = [self._least_number(device) for device in range(rate.size)]

    def run(self) -> Int[Array, "m"] | None:
        """The owners of an assignment that gives every device its rate; None if there is none."""
        devices = frozenset(np.flatnonzero(self.rate > 0.0).tolist())
        sets = self._extend(devices, (1 << self.channels) - 1, frozenset())
        if sets is None:
            return None
        owner = np.full(self.channels, -1, dtype=np.intp)
        for device, mask in sets.items():
            owner[_members(mask)] = device
        return owner

    def _extend(
        self, devices: frozenset[int], free: int, single: frozenset[int]
    ) -> dict[int, int] | None:
        """Sets for these devices out of the free sub-channels; `single` ones live on one."""
        self._check_time()
        if (devices, free, single) in self.failed:
            return None
        self.failed.add((devices, free, single))  # true when asked again, unless this succeeds
        match, short = self._match(devices, free)
        if not short:
            return {device: 1 << channel for channel, device in match.items()}
        several = sorted(self.least[device] for device in devices)[: len(devices) - len(match)]
        if len(match) + sum(several) > free.bit_count():
            return None
        for device in sorted(short - single):
            for mask in self._several(device, free, devices):
                rest = self._extend(devices - {device}, free & ~mask, single)
                if rest is not None:
                    return rest | {device: mask}
            single = single | {device}
        return None

    def _match(self, devices: frozenset[int], free: int) -> tuple[dict[int, int], frozenset[int]]:
        """A maximum matching {channel: device}, and a set of devices short of sub-channels."""
        match: dict[int, int] = {}
        short: frozenset[int] = frozenset()
        for device in sorted(devices, key=lambda d: (self.alone[d] & free).bit_count()):
            reached = {device}
            if not self._augment(device, free, match, set(), reached) and (
                not short or len(reached) < len(short)
            ):
                short = frozenset(reached)
        return match, short

    def _augment(
        self, device: int, free: int, match: dict[int, int], seen: set[int], reached: set[int]
    ) -> bool:
        for channel in _members(self.alone[device] & free):
            if channel in seen:
                continue
            seen.add(channel)
            other = match.get(channel)
            if other is not None:
                reached.add(other)
            if other is None or self._augment(other, free, match, seen, reached):
                match[channel] = device
                return True
        return False

    def _several(self, device: int, free: int, devices: frozenset[int]) -> Iterator[int]:
        """Minimal sets of two or more sub-channels that reach the device's rate, smallest first."""
        usable = _members(free & ~self.alone[device])
        # Those that fewest others could live on come first: a solution is found sooner.
        usable.sort(key=lambda c: sum(self.alone[d] >> c & 1 for d in devices))
        minimal: list[int] = []
        for size in range(2, free.bit_count() - len(devices) + 2):
            wanting = False
            for chosen in combinations(usable, size):
                self._check_time()
                mask = _mask(chosen)
                if any(mask & f == f for f in minimal):
                    continue
                if self._reaches(device, mask):
                    minimal.append(mask)
                    yield mask
                else:
                    wanting = True
            if not wanting:  # every larger set contains one that was found
                return

    def _check_time(self) -> None:
        if monotonic() > self.deadline:
            raise TimeoutError

    def _least_number(self, device: int) -> int:
        """The least number of sub-channels, two or more, none of which reaches the rate alone."""
        few = _members(((1 << self.channels) - 1) & ~self.alone[device])
        few.sort(key=lambda c: -self.links.gain2[device, c])
        enough = (k for k in range(2, len(few) + 1) if self._reaches(device, _mask(few[:k])))
        return next(enough, len(few) + self.links.gain2.size)

    def _reaches(self, device: int, mask: int) -> bool:
        key = device, mask
        if key not in self.reached:
            gains = self.links.gain2[device, _members(mask)][None]
            power = self.links.power[device : device + 1]
            rate = best_rates(power, gains, self.links.noise)[0]
            self.reached[key] = bool(rate >= self.rate[device])
        return self.reached[key]


def _members(mask: int) -> list[int]:
    """The sub-channels in a bit mask, in order."""
    return [c for c in range(mask.bit_length()) if mask >> c & 1]


def _mask(channels: Iterable[int]) -> int:
    """The bit mask of some sub-channels."""
    return sum(1 << c for c in channels)

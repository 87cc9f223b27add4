"""Simple allocators to compare with."""

from dataclasses import dataclass

import numpy as np

from airfeel.radio.allocation.allocators.fill import Fill, check_fill, filled
from airfeel.radio.allocation.links import Allocation, Links
from airfeel.radio.allocation.matching import sum_rate_assignment


@dataclass(frozen=True)
class SumRate:
    """The largest sum of single-channel rates, by the Hungarian method, whoever comes last.

    fill: "water" for water-filling, "equal" for equal power on all sub-channels of a device.
    """

    fill: Fill = "water"

    def __post_init__(self) -> None:
        check_fill(self.fill)

    def __call__(self, links: Links) -> Allocation:
        return filled(links, sum_rate_assignment(np.log1p(links.snr)), self.fill)


@dataclass(frozen=True)
class RoundRobin:
    """Sub-channel m goes to device m mod n, whatever the gains.

    fill: "water" for water-filling, "equal" for equal power on all sub-channels of a device.
    """

    fill: Fill = "water"

    def __post_init__(self) -> None:
        check_fill(self.fill)

    def __call__(self, links: Links) -> Allocation:
        n, m = links.gain2.shape
        turn = np.arange(m)
        return filled(links, turn % n if n else np.full_like(turn, -1), self.fill)

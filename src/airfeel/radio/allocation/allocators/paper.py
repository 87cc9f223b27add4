"""The allocation of the paper."""

from dataclasses import dataclass

from airfeel.radio.allocation.allocators.fill import Fill, check_fill, filled
from airfeel.radio.allocation.links import Allocation, Links
from airfeel.radio.allocation.matching import assign_subchannels


@dataclass(frozen=True)
class Paper:
    """Bottleneck matching, greedy completion, water-filling (Sun et al. 2022, Algorithm 2).

    fill: "water" for water-filling, "equal" for equal power on all sub-channels of a device.
    """

    fill: Fill = "water"

    def __post_init__(self) -> None:
        check_fill(self.fill)

    def __call__(self, links: Links) -> Allocation:
        return filled(links, assign_subchannels(links), self.fill)

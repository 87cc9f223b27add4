"""How the powers of an assignment are chosen."""

from typing import Annotated, Literal

import numpy as np
from jaxtyping import Int

from airfeel.radio.allocation.links import Allocation, Links
from airfeel.ranges import about
from airfeel.types import BadInput

Fill = Annotated[
    Literal["water", "equal"], about("how a device's power is spread over its sub-channels")
]


def check_fill(fill: str) -> None:
    """Refuse a way of filling that there is not."""
    if fill not in ("water", "equal"):
        raise BadInput(f"fill = {fill!r}: must be 'water' or 'equal'")


def filled(links: Links, owner: Int[np.ndarray, "m"], fill: Fill = "water") -> Allocation:
    """The assignment with its powers: water-filling, eq. (5), or equal shares.

    Args:
        links: the links of n devices on m sub-channels.
        owner: device that owns each sub-channel, −1 for none.
        fill: "water" or "equal".

    >>> links = Links(np.array([3.0]), np.array([[0.5, 1.0, 0.1]]), 1.0, np.ones(1))
    >>> filled(links, np.array([0, 0, 0])).power.round(9)
    array([[1., 2., 0.]])
    """
    power = links.water_filling(owner) if fill == "water" else links.equal_power(owner)
    return Allocation(owner, power)

"""One sky, several allocators: slots, rates, fairness and the distance to a proven bound."""

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from jaxtyping import Float64

from airfeel.catalogues import ALLOCATORS
from airfeel.radio.allocation.allocators.bound import slots_bound
from airfeel.radio.allocation.allocators.paper import Paper
from airfeel.radio.allocation.links import Links
from airfeel.radio.transmission.digital import Division, divide
from airfeel.types import Fading


@dataclass(frozen=True)
class Outcome:
    """What one allocator made of one sky."""

    allocator: str
    division: Division
    seconds: float
    over: float  # slots/bound − 1 with the proven bound; NaN where none is known

    @property
    def fairness(self) -> float:
        """Jain's index of the rates: 1 where all are equal, 1/n where one device has all."""
        rate = self.rates
        return float(rate.sum() ** 2 / (len(rate) * np.square(rate).sum())) if len(rate) else np.nan

    @property
    def rates(self) -> Float64[np.ndarray, "n"]:
        """Rates of the devices that were served [bits/slot]."""
        return self.division.rate[self.division.batch >= 0]


def outcomes(
    names: list[str],
    fading: Fading,
    power: Float64[np.ndarray, "N"],
    bits: float,
    bound_seconds: float = 10.0,
) -> list[Outcome]:
    """Every named allocator on the same sky."""
    parts = {name: ALLOCATORS.make(name, "--allocators") for name in names}
    everyone, each = np.arange(len(power)), np.full(len(power), bits)
    divide(everyone, power, fading, each, Paper())  # the first call pays for warming up
    timed = []
    for name, part in parts.items():
        clock = perf_counter()
        division = divide(everyone, power, fading, each, part)
        timed.append((name, division, perf_counter() - clock))
    fewest = min(division.slots for _, division, _ in timed)
    bound = _bound(fading, power, bits, fewest, bound_seconds)
    return [Outcome(n, d, s, d.slots / bound - 1.0) for n, d, s in timed]


def _bound(
    fading: Fading, power: Float64[np.ndarray, "N"], bits: float, fewest: int, seconds: float
) -> float:
    """The proven bound; NaN where devices speak in batches or somebody cannot be served."""
    n, m = fading.gain.shape
    served = (power * fading.gain2.max(axis=1) > 0).all()
    if n > m or not served or bits == 0:
        return float("nan")
    links = Links(power, fading.gain2, fading.noise, np.full(n, bits))
    return slots_bound(links, float(fewest), seconds)

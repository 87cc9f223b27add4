"""Allocators: who owns which sub-channel, and with how much power."""

from dataclasses import dataclass
from typing import Annotated, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from airfeel.radio import native
from airfeel.radio.exact import solve_exactly
from airfeel.radio.exchange import exchange_channels
from airfeel.radio.matching import assign_legal, assign_subchannels, sum_rate_assignment
from airfeel.radio.power import (
    check_radio,
    check_shapes,
    equal_power_all,
    fill_legal,
    needed_slots,
    rates,
    water_fill_all,
)
from airfeel.radio.threshold import threshold_assignment
from airfeel.ranges import about
from airfeel.types import BadInput

Array = np.ndarray
Fill = Annotated[str, about("power on a device's sub-channels: water or equal")]


@dataclass(frozen=True)
class Allocation:
    """Sub-channels and powers of the devices that speak digitally."""

    owner: Int[Array, "m"]  # device that owns each sub-channel, -1 for none
    power: Float[Array, "n m"]  # transmit power [W]
    gap: float | None = None  # (slots - bound)/bound with a proven bound; None where none is known


@runtime_checkable
class Allocator(Protocol):
    """Shares m sub-channels among n ≤ m devices, each with its power [W] and bits to send."""

    def __call__(
        self,
        power: Float[Array, "n"],
        gain2: Float[Array, "n m"],
        noise: float,
        bits: Float[Array, "n"],
    ) -> Allocation: ...


@dataclass(frozen=True)
class Paper:
    """Bottleneck matching, greedy completion, water-filling (Sun et al. 2022, Algorithm 2)."""

    fill: Fill = "water"

    def __call__(
        self,
        power: Float[Array, "n"],
        gain2: Float[Array, "n m"],
        noise: float,
        bits: Float[Array, "n"],
    ) -> Allocation:
        _check(power, gain2, noise, bits)
        return _filled(self.fill, power, gain2, noise, assign_legal(power, gain2, noise))


@dataclass(frozen=True)
class Exchange:
    """Fewer digital slots than the paper's heuristic where it can, never more, in polynomial time.

    Three starts (the paper's assignment, `threshold_assignment`, `sum_rate_assignment`) are each
    improved by `exchange_channels`; the best of all is taken, the paper's own among them.
    """

    def __call__(
        self,
        power: Float[Array, "n"],
        gain2: Float[Array, "n m"],
        noise: float,
        bits: Float[Array, "n"],
    ) -> Allocation:
        _check(power, gain2, noise, bits)
        return _filled("water", power, gain2, noise, best_exchange(power, gain2, noise, bits))


@dataclass(frozen=True)
class Exact:
    """The fewest digital slots that any assignment can reach, proven if the time limit allows.

    Starts from `Exchange`; `gap` is 0 where the optimum is proven, else it is the distance to the
    best proven bound. The time needed grows exponentially with the number of devices.
    """

    time_limit: Annotated[float, about("of the search in a round", "s")] = 10.0

    def __call__(
        self,
        power: Float[Array, "n"],
        gain2: Float[Array, "n m"],
        noise: float,
        bits: Float[Array, "n"],
    ) -> Allocation:
        _check(power, gain2, noise, bits)
        if not self.time_limit > 0.0:
            raise BadInput(f"time_limit = {self.time_limit}: must be above 0 seconds")
        start = best_exchange(power, gain2, noise, bits)
        owner, gap = solve_exactly(start, power, gain2, noise, bits, self.time_limit)
        return Allocation(owner, water_fill_all(power, gain2, noise, owner), gap)


@dataclass(frozen=True)
class SumRate:
    """The largest sum of single-channel rates, by the Hungarian method, whoever comes last."""

    fill: Fill = "water"

    def __call__(
        self,
        power: Float[Array, "n"],
        gain2: Float[Array, "n m"],
        noise: float,
        bits: Float[Array, "n"],
    ) -> Allocation:
        _check(power, gain2, noise, bits)
        rate = np.log1p(power[:, None] * gain2 / noise)
        return _filled(self.fill, power, gain2, noise, sum_rate_assignment(rate))


@dataclass(frozen=True)
class RoundRobin:
    """Sub-channel m goes to device m mod n, whatever the gains."""

    fill: Fill = "water"

    def __call__(
        self,
        power: Float[Array, "n"],
        gain2: Float[Array, "n m"],
        noise: float,
        bits: Float[Array, "n"],
    ) -> Allocation:
        _check(power, gain2, noise, bits)
        turn = np.arange(gain2.shape[1])
        owner = turn % power.size if power.size else np.full_like(turn, -1)
        return _filled(self.fill, power, gain2, noise, owner)


def best_exchange(
    power: Float[Array, "n"], gain2: Float[Array, "n m"], noise: float, bits: Float[Array, "n"]
) -> Int[Array, "m"]:
    """The best of the paper's, the threshold and the sum-rate assignment, all improved."""

    def slots(owner: Int[Array, "m"]) -> float:
        rate = rates(water_fill_all(power, gain2, noise, owner), gain2, noise)
        return float(needed_slots(rate, bits).max(initial=0.0))

    paper = assign_subchannels(power, gain2, noise)
    starts = [
        paper,
        threshold_assignment(paper, power, gain2, noise, bits),
        sum_rate_assignment(np.log1p(power[:, None] * gain2 / noise)),
    ]
    some = np.flatnonzero(bits > 0.0)
    if 0 < some.size < bits.size:  # the paper's, as if those with nothing to send were not there
        owner = assign_subchannels(power[some], gain2[some], noise)
        starts.append(np.where(owner >= 0, some[owner], -1))
    ends = [exchange_channels(owner, power, gain2, noise, bits) for owner in starts]
    return min([*ends, paper], key=slots)


def _filled(
    fill: str, power: Float[Array, "n"], gain2: Float[Array, "n m"], noise: float, owner: Array
) -> Allocation:
    if fill == "water":
        return Allocation(owner, fill_legal(power, gain2, noise, owner))
    if fill == "equal":
        return Allocation(owner, equal_power_all(power, owner))
    raise BadInput(f"fill = {fill!r}: must be 'water' or 'equal'")


def _check(
    power: Float[Array, "n"], gain2: Float[Array, "n m"], noise: float, bits: Float[Array, "n"]
) -> None:
    check_shapes(power, gain2)
    if power.size > gain2.shape[1]:
        raise BadInput(
            f"gain2 has {power.size} devices and {gain2.shape[1]} sub-channels: "
            "must have at most as many devices"
        )
    if bits.shape != power.shape:
        raise BadInput(f"bits has shape {bits.shape}: must be {power.shape}")
    kernel = native.kernel()
    if kernel and native.legal(kernel, power, gain2, noise, bits):
        return  # else look again, to name what is wrong
    check_radio(power, gain2, noise)
    if bits.size and not (bits.min() >= 0.0 and bits.max() < np.inf):
        bad = bits[~((bits >= 0.0) & (bits < np.inf))][0]
        raise BadInput(f"bits holds {bad}: must be finite and at least 0")

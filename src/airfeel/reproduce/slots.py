"""Slots of a round from many draws of the sky, without any training."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64
from scipy.stats import t

from airfeel.compression.codecs import TimeCorrelated, TopK
from airfeel.radio.allocation.allocators.paper import Paper
from airfeel.radio.allocation.links import Links
from airfeel.radio.allocation.power import rates
from airfeel.radio.channel.fading import rayleigh
from airfeel.radio.power_budget import remaining_power
from airfeel.radio.selection.device_selection import lowest
from airfeel.radio.transmission.digital import divide
from airfeel.segments import air_slots
from airfeel.streams import Streams
from airfeel.types import Fading

Array = np.ndarray


@dataclass(frozen=True)
class Cost:
    """What a scheme sends in a round: slots by air, and bits of each scheduled device."""

    air: int
    bits: float

    def slots(self, rate: Float64[Array, "*shape"]) -> Float64[Array, "*shape"]:
        """U = U[g] + ⌈Q/R⌉ for the rate R of the slowest device; none where nobody is heard."""
        return np.where(np.isinf(rate), 0.0, self.air + np.ceil(self.bits / rate))


@dataclass(frozen=True)
class Uplink:
    """The paper's numbers."""

    dim: int = 258_898
    devices: int = 20
    subchannels: int = 25
    noise: float = 1e-6
    power: float = 5e-3
    bits: int = 16

    def cost(self, scheme: str, global_sparsity: float, local_sparsity: float) -> Cost:
        """The cost of tcs-h, tcs-d or top-k at (φ[g], φ[l])."""
        k, local = round(global_sparsity * self.dim), round(local_sparsity * self.dim)
        if scheme == "top-k":
            return Cost(0, TopK(self.dim, k + local, self.bits).cost)
        analog = scheme == "tcs-h"
        part = TimeCorrelated(self.dim, k, local, self.bits, analog=analog)
        return Cost(air_slots(k, self.subchannels) if analog else 0, part.cost)

    def sky(self, streams: Streams, round: int) -> Float64[Array, "N M"]:
        """|h| of every device on every sub-channel in one round."""
        shape = (self.devices, self.subchannels)
        return rayleigh(shape, rng=streams.rng("fading", round))


@dataclass(frozen=True)
class Skies:
    """Rate of the slowest of n devices in each draw, for n = 0 … N; infinite for n = 0.

    `any` takes n devices at random. `cheap` takes the n that the power rule would take first if all
    updates had the same norm, evenly over the sub-channels: those of smallest Σ_m 1/|h_{n,m}|².
    `price` is that sum.
    """

    any: Float64[Array, "T counts"]
    cheap: Float64[Array, "T counts"]
    price: Float64[Array, "T N"]

    def afford(self, share: float, factor: float = 1.0) -> Int64[Array, "T"]:
        """How many devices the power rule takes in each draw, where `factor` times that energy is
        allowed which would take `share` of them on average."""
        return np.asarray((self.price <= factor * np.quantile(self.price, share)).sum(axis=1))


def draw_skies(
    uplink: Uplink,
    draws: int,
    seed: int = 0,
    counts: Sequence[int] = (),
    tick: Callable[[], object] = lambda: None,
) -> Skies:
    """Algorithm 2's sub-channels and powers for `counts` of devices (all, if none are named)."""
    n = uplink.devices
    anyone, cheap = np.full((draws, n + 1), np.nan), np.full((draws, n + 1), np.nan)
    anyone[:, 0] = cheap[:, 0] = np.inf
    price, streams = np.zeros((draws, n)), Streams(seed)
    for i in range(draws):
        gain2 = np.square(uplink.sky(streams, i + 1))
        price[i] = (1.0 / gain2).sum(axis=1)
        ordered = gain2[np.argsort(price[i], kind="stable")]
        for k in counts or range(1, n + 1):  # devices are alike: the first k are as good as any k
            anyone[i, k] = _slowest(uplink, gain2[:k])
            cheap[i, k] = _slowest(uplink, ordered[:k])
        tick()
    return Skies(anyone, cheap, price)


def _slowest(uplink: Uplink, gain2: Float64[Array, "k M"]) -> float:
    power, bits = np.full(len(gain2), uplink.power), np.ones(len(gain2))
    allocation = Paper()(Links(power, gain2, uplink.noise, bits))
    return float(rates(allocation.power, gain2, uplink.noise).min())


def spend_later(uplink: Uplink, count: int | float, slots: int, seed: int) -> float:
    """How many slots devices need that may spend later what they did not spend before, against the
    slots of static power for the same rounds.

    P̄_{t,n} = (C·P̄_n − spent_n)/(C − slots used), played until C is used up. But for ⌈⌉ the share
    depends on neither the bits nor C, if C is many rounds (1000 are within 0.02 % of 4000).

    Args:
        count: devices of a round, or the probability of each to be in it.
        slots: C, where every device sends a million bits in a round.
    """
    n, bits, allocate = uplink.devices, np.full(uplink.devices, 1e6), Paper()
    streams, limit = Streams(seed), np.full(uplink.devices, uplink.power)
    spent, used, static, played = np.zeros(n), 0, 0, 0
    while True:
        power = remaining_power(limit, spent, slots, used)
        dice = streams.rng("invite", played + 1).random(n)
        invited = lowest(dice, count, power) if isinstance(count, int) else dice < count
        fading = Fading(uplink.sky(streams, played + 1), uplink.noise)
        division = divide(np.flatnonzero(invited), power, fading, bits, allocate)
        if used + division.slots > slots:
            return used / static
        static += divide(np.flatnonzero(invited), limit, fading, bits, allocate).slots
        spent += division.own_slots * division.power.sum(axis=1)
        used, played = used + division.slots, played + 1


@dataclass(frozen=True)
class Estimate:
    """A number and half the width of its 95 % confidence interval."""

    value: float
    half: float

    def times(self, other: "float | Estimate") -> "Estimate":
        """The product with a number, or with an independent estimate."""
        if isinstance(other, Estimate):
            half = math.hypot(self.value * other.half, other.value * self.half)
            return Estimate(self.value * other.value, half)
        return Estimate(other * self.value, abs(other) * self.half)

    def per(self, total: float) -> "Estimate":
        """total/value: such as rounds within a budget, from slots per round."""
        value = total / self.value
        return Estimate(value, value * self.half / self.value)

    def less(self) -> "Estimate":
        """1 − value: a saving, from a ratio of costs."""
        return Estimate(1.0 - self.value, self.half)


def mean(values: Float64[Array, "T"]) -> Estimate:
    """The mean of independent draws, at least two, with Student's interval.

    >>> mean(np.array([1.0, 2.0, 3.0])).value
    2.0
    """
    n = len(values)
    half = float(t.ppf(0.975, n - 1)) * float(values.std(ddof=1)) / math.sqrt(n)
    return Estimate(float(values.mean()), half)


def ratio(above: Float64[Array, "T"], below: Float64[Array, "T"]) -> Estimate:
    """The ratio of two means over the same draws (delta method).

    >>> ratio(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0]))
    Estimate(value=0.5, half=0.0)
    """
    value = float(above.mean() / below.mean())
    rest = mean(above - value * below)
    return Estimate(value, rest.half / float(below.mean()))

"""The uplinks of some devices, and an allocation of their sub-channels and powers."""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from airfeel.radio import native
from airfeel.radio.allocation.power import (
    check_amounts,
    check_radio,
    fill_sorted,
    needed_slots,
    rates,
    single_rates,
)
from airfeel.types import BadInput

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Links:
    """The uplinks of n devices on m ≥ n sub-channels: what an allocator is asked about.

    Checked once, when it is made; every reader may rely on it.

    Args:
        power: power P̄_n of each device [W].
        gain2: |h|² of each device on each sub-channel.
        noise: noise variance σ0² [W].
        bits: what each device has to send.

    >>> links = Links(np.array([1.0, 3.0]), np.ones((2, 2)), 1.0, np.array([6.0, 6.0]))
    >>> links.single_rates.tolist(), links.slots(np.array([0, 1]))
    ([[1.0, 1.0], [2.0, 2.0]], 6.0)
    """

    power: Float[Array, "n"]
    gain2: Float[Array, "n m"]
    noise: float
    bits: Float[Array, "n"]

    def __post_init__(self) -> None:
        self._check_shapes()
        radio = self.power, self.gain2, self.noise
        if native.KERNEL.missing is None and native.legal(*radio, self.bits):
            return  # else look again, to name what is wrong
        check_radio(*radio)
        check_amounts("bits", self.bits)

    def _check_shapes(self) -> None:
        power, gain2, bits = self.power.shape, self.gain2.shape, self.bits.shape
        if len(gain2) != 2 or power != gain2[:1]:
            raise BadInput(f"power has shape {power} and gain2 {gain2}: must be (n,) and (n, m)")
        if gain2[0] > gain2[1]:
            raise BadInput(
                f"gain2 has {gain2[0]} devices and {gain2[1]} sub-channels: "
                "must have at most as many devices"
            )
        if bits != power:
            raise BadInput(f"bits has shape {bits}: must be {power}")

    @property
    def snr(self) -> Float[Array, "n m"]:
        """power·|h|²/σ0², with a device's whole power on each sub-channel."""
        return self.power[:, None] * self.gain2 / self.noise

    @cached_property
    def single_rates(self) -> Float[Array, "n m"]:
        """r_{n,m} = log2(1 + P̄_n|h_{n,m}|²/σ0²) [bits/slot]."""
        return single_rates(self.power, self.gain2, self.noise)

    def of(self, devices: Int[Array, "k"]) -> "Links":
        """The links of some of the devices alone."""
        return Links(self.power[devices], self.gain2[devices], self.noise, self.bits[devices])

    def water_filling(self, owner: Int[Array, "m"]) -> Float[Array, "n m"]:
        """The split of each device's power over its sub-channels that maximises its rate [W].

        Maximises Σ_m log2(1 + p_m·gain2_m/noise) subject to Σ p_m = power, p ≥ 0; the answer is
        p_m = max(1/λ − noise/gain2_m, 0) with one water level 1/λ for each device (Sun et al. 2022,
        eq. (5)). A zero gain gets nothing, and if every gain is zero nothing is spent.

        Args:
            owner: device that owns each sub-channel, −1 for none.

        >>> links = Links(np.array([3.0]), np.array([[0.5, 1.0, 0.1]]), 1.0, np.ones(1))
        >>> links.water_filling(np.array([0, 0, 0]))
        array([[1., 2., 0.]])
        """
        if owner.shape == self.gain2.shape[1:] and native.KERNEL.missing is None:
            filled = native.fill(self.power, self.gain2, self.noise, owner)
            if filled is not None:
                return filled
        check_owner(owner, *self.gain2.shape)
        column = np.flatnonzero(owner >= 0)
        who = owner[column]
        order = np.lexsort((-self.gain2[who, column], who))
        column, who = column[order], who[order]
        held = np.bincount(who, minlength=self.power.size)
        place = np.arange(who.size) - (np.cumsum(held) - held)[who]
        # One row for each device, best gain first; the padding has zero gain and so gets no power.
        rows = np.zeros((self.power.size, int(held.max(initial=0))))
        rows[who, place] = self.gain2[who, column]
        filled = np.zeros(self.gain2.shape)
        filled[who, column] = fill_sorted(self.power, rows, self.noise)[who, place]
        return filled

    def equal_power(self, owner: Int[Array, "m"]) -> Float[Array, "n m"]:
        """Each device's power in equal shares over its sub-channels [W]; owner is −1 for none."""
        check_owner(owner, *self.gain2.shape)
        column = np.flatnonzero(owner >= 0)
        who = owner[column]
        share = np.zeros(self.gain2.shape)
        share[who, column] = self.power[who] / np.bincount(who, minlength=self.power.size)[who]
        return share

    def slots(self, owner: Int[Array, "m"]) -> float:
        """max_n ⌈bits_n/R_n⌉ with water-filled powers: what an assignment takes, ∞ if for ever."""
        rate = rates(self.water_filling(owner), self.gain2, self.noise)
        return float(needed_slots(rate, self.bits).max(initial=0.0))


@dataclass(frozen=True)
class Allocation:
    """Sub-channels and powers of the devices that speak digitally."""

    owner: Int[Array, "m"]  # device that owns each sub-channel, -1 for none
    power: Float[Array, "n m"]  # transmit power [W]
    gap: float | None = None  # (slots - bound)/bound with a proven bound; None where none is known


@runtime_checkable
class Allocator(Protocol):
    """Shares the sub-channels of some links among their devices."""

    def __call__(self, links: Links) -> Allocation: ...


def check_owner(owner: Int[Array, "m"], devices: int, channels: int) -> None:
    """Refuse an owner that is neither a device nor −1 (nobody)."""
    if owner.shape != (channels,):
        raise BadInput(f"owner has shape {owner.shape}: must be ({channels},)")
    if owner.size and not (owner.min() >= -1 and owner.max() < devices):
        bad = owner[(owner < -1) | (owner >= devices)][0]
        raise BadInput(f"owner holds {bad}: must be -1 or a device below {devices}")

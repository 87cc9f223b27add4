"""What real radios make of a sky: links that bear less, pilots, amplifiers, converters, clocks.

`Fading` holds one of each, or None where the radio is ideal. Shapes: N devices.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64


@dataclass(frozen=True)
class Link:
    """What a digital link bears, and how carefully its rate is chosen.

    ψ(s) = min(log2(1 + s/Γ), cap) bits per slot on a sub-channel of signal-to-noise ratio s, or
    the bits of the highest row of `table` whose ratio is met. All ratios are linear.
    """

    gap: float = 1.0  # Γ, signal-to-noise ratio over what capacity needs
    cap: float = float("inf")  # most bits per slot on one sub-channel
    table: tuple[tuple[float, float], ...] | None = None  # least ratio and bits of each row, rising
    margin: float = 1.0  # μ, what the believed ratio is divided by when a rate is chosen
    transmissions: int = 1  # L, most tries of a packet
    quadratures: int = 2  # that carry bits; with one of them half of them fit

    @property
    def backoff(self) -> float:
        """Factor on the noise in every digital rate that assignment and water-filling see."""
        return self.margin if self.table is not None else self.gap * self.margin

    def rates(self, snr: Float64[np.ndarray, "n M"]) -> Float64[np.ndarray, "n"]:
        """Σ_m ψ of each device's signal-to-noise ratios [bits/slot]."""
        if self.table is None and np.isinf(self.cap):  # in the order of eq. (3), to the bit
            whole = np.asarray(np.log1p(snr / self.gap).sum(axis=1) / np.log(2.0))
        else:
            whole = np.asarray(self.bits(snr).sum(axis=1))
        return whole if self.quadratures == 2 else whole / 2.0

    def bits(self, snr: Float64[np.ndarray, "*n"]) -> Float64[np.ndarray, "*n"]:
        """ψ of each signal-to-noise ratio, on both quadratures [bits/slot].

        >>> Link(gap=3.0, cap=2.0).bits(np.array([0.0, 3.0, 90.0])).tolist()
        [0.0, 1.0, 2.0]
        >>> Link(table=((1.0, 0.9), (3.0, 1.8))).bits(np.array([0.5, 1.0, 7.0])).tolist()
        [0.0, 0.9, 1.8]
        """
        if self.table is None:
            return np.asarray(np.minimum(np.log1p(snr / self.gap) / np.log(2.0), self.cap))
        least, bits = np.array(self.table).T
        row = np.searchsorted(least, snr, side="right")
        return np.asarray(np.concatenate(([0.0], bits))[row])


@dataclass(frozen=True)
class Upkeep:
    """What it costs to keep the channel known: pilots, and re-alignments within the air phase."""

    energy: Float64[np.ndarray, "N"]  # of one slot of pilots of each device [W·slots]
    pilots: int = 0  # slots of each device that is estimated
    everyone: bool = False  # whether all devices with power are, or only who is invited
    every: int = 0  # slots of the air between two re-alignments; 0: there are none
    overhead: int = 0  # slots of one re-alignment

    def alignments(self, slots_air: int) -> int:
        """U[s], slots of all re-alignments in an air phase of so many slots.

        >>> Upkeep(np.zeros(1), every=100, overhead=2).alignments(250)
        4
        """
        if self.every == 0 or slots_air == 0:
            return 0
        return self.overhead * (-(-slots_air // self.every) - 1)

    def own_energy(self, slots_air: int) -> Float64[np.ndarray, "N"]:
        """What a device that is estimated and speaks pays in all [W·slots]."""
        return self.energy * (self.pilots + self.alignments(slots_air))


@dataclass(frozen=True)
class Front:
    """What amplifiers, converters and clocks do to values on the air, beside `Fading.residual`.

    Element i of a sub-channel is sub-carrier i mod S of symbol ⌊i/S⌋, which S slots long.
    """

    peak: float = float("inf")  # most power of a device in one slot, all sub-channels [W]
    dac_bits: int = 0  # of each device's converter; 0: ideal
    adc_bits: int = 0  # of the base station's; 0: ideal
    loading: float = 4.0  # full scale of converters over root mean square
    debias: float = 1.0  # what the base station divides by beside σ_t
    every: int = 0  # slots after which phases begin anew; 0: never
    slot_seconds: float = 1e-6  # T_s
    subcarriers: int = 1  # S, in a sub-channel
    spacing: float = 0.0  # Δ, of sub-carriers [Hz]; 0 where S is 1
    middle: float = 0.0  # of the receiver's window, after the begin of a symbol [s]
    delay: Float64[np.ndarray, "N"] | None = None  # τ, timing of each device [s]
    drift: Float64[np.ndarray, "N"] | None = None  # ξ, error of each device's sampling clock

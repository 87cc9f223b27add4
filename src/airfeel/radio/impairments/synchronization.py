"""What is left of synchronisation: phases, carrier and timing offsets, and clocks that drift."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex128, Float64

from airfeel.radio.channel.gaussian import normal
from airfeel.radio.channel.profiles import frequencies
from airfeel.types import Turn


@dataclass(frozen=True)
class Clocks:
    """Residual offsets of devices: standard deviations, or for timing the largest one.

    phase [rad], cfo [Hz], timing [s], clock: of the sampling clock, relative.
    """

    phase: float = 0.0
    cfo: float = 0.0
    timing: float = 0.0
    clock: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether all devices are aligned."""
        return not (self.phase or self.cfo or self.timing or self.clock)

    def draw(self, turn: Turn) -> "Offsets":
        """φ, Δf, τ and ξ of each device in this round: four uniforms each of the room `sync`."""
        u = turn.rng("sync").random((turn.world.devices, 4))
        return Offsets(
            self.phase * normal(u[:, 0]),
            self.cfo * normal(u[:, 1]),
            self.timing * (2.0 * u[:, 2] - 1.0),
            self.clock * normal(u[:, 3]),
        )


@dataclass(frozen=True)
class Offsets:
    """Offsets of each device in a round."""

    phase: Float64[np.ndarray, "N"]  # φ [rad]
    cfo: Float64[np.ndarray, "N"]  # Δf [Hz]
    timing: Float64[np.ndarray, "N"]  # τ [s]
    clock: Float64[np.ndarray, "N"]  # ξ

    def residual(
        self, subchannels: int, width: float, spacing: float = 0.0
    ) -> Complex128[np.ndarray, "N {subchannels}"]:
        """e^{j(φ − 2πf_m·τ)}, times sinc(Δf/Δ) with sub-carriers: what an inverted unit becomes.

        Args:
            subchannels: M.
            width: of a sub-channel [Hz]; f_m = (m − ⌊M/2⌋)·width.
            spacing: Δ, of sub-carriers [Hz]; 0 where a sub-channel is one of them.

        >>> still = np.zeros(1)
        >>> Offsets(still, still, np.array([0.25e-6]), still).residual(3, 1e6).round(3)
        array([[0.+1.j, 1.+0.j, 0.-1.j]])
        """
        f = frequencies(subchannels, width)
        turned = np.exp(1j * (self.phase[:, None] - 2.0 * np.pi * f * self.timing[:, None]))
        return turned * np.sinc(self.cfo / spacing)[:, None] if spacing else turned

    def spin(
        self, subchannels: int, width: float, slot_seconds: float
    ) -> Float64[np.ndarray, "N {subchannels}"]:
        """2πT_s(Δf − f_m·ξ), how far that turns from slot to slot [rad].

        Args:
            subchannels: M.
            width: of a sub-channel [Hz].
            slot_seconds: T_s.
        """
        f = frequencies(subchannels, width)
        return 2.0 * np.pi * slot_seconds * (self.cfo[:, None] - f * self.clock[:, None])

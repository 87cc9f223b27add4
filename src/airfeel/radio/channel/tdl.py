"""Skies of tapped delay lines: neighbouring sub-channels fade alike (TR 38.901, section 7.7.2)."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Complex128, Float64

from airfeel.radio.channel.fading import Rayleigh, Rician, Scale
from airfeel.radio.channel.gaussian import complex_normal
from airfeel.radio.channel.profiles import Profile, frequencies, response, taps
from airfeel.radio.channel.waves import waves_of
from airfeel.ranges import NotNegative, Positive, about
from airfeel.types import Moments, Turn


@dataclass(frozen=True)
class Tdl:
    """h_m = √Ω·Σ_l √p_l·a_l·e^{−2πj·f_m·τ_l}, a_l ~ CN(0, 1); E|h|² = 2s² as for Rayleigh.

    Taps at τ_l = d_l·delay_spread; profiles D and E have a line of sight at delay 0.
    """

    profile: Annotated[Profile, about("A, B, C without, D, E with a line of sight")] = "A"
    delay_spread: Annotated[NotNegative, about("root mean square of the delays", "s")] = 1e-7
    spacing: Annotated[Positive, about("from one sub-channel to the next", "Hz")] = 1e6
    scale: Scale = 1.0

    def __post_init__(self) -> None:
        taps(self.profile)

    def __call__(self, turn: Turn) -> Float64[np.ndarray, "N M"]:
        return np.abs(waves_of(self, turn)[..., 0])

    @property
    def moments(self) -> Moments:
        """Of one sub-channel alone: Rayleigh, or Rician by the line of sight."""
        sight = taps(self.profile).sight
        return Rician(self.scale, sight / (1.0 - sight)) if sight else Rayleigh(self.scale)

    @property
    def longest(self) -> float:
        """The delay of the last tap [s]."""
        return float(taps(self.profile).delay.max()) * self.delay_spread

    def width(self, turn: Turn) -> int:
        """A wave for each tap."""
        return len(taps(self.profile).delay)

    def fresh(
        self, turn: Turn, round: int, antennas: int
    ) -> Complex128[np.ndarray, "N W {antennas}"]:
        """A complex Gaussian number for each tap and antenna."""
        size = (turn.world.devices, self.width(turn), antennas, 2)
        return complex_normal(turn.streams.rng("fading", round).random(size))

    def compose(
        self,
        turn: Turn,
        scattered: Complex128[np.ndarray, "N W R"],
        round: int,
        turned: float = 0.0,
    ) -> Complex128[np.ndarray, "N M R"]:
        """The response of the taps on the sub-channels."""
        world = turn.world
        phase = 2.0 * np.pi * turn.streams.rng("phase", round).random(world.devices)
        h = tdl_response(
            np.moveaxis(scattered, 1, 2),
            phase[:, None] + turned,
            self.profile,
            self.delay_spread,
            frequencies(world.subchannels, self.spacing),
        )
        return np.asarray(self.scale * np.sqrt(2.0) * np.moveaxis(h, 2, 1))


def tdl_response(
    waves: Complex128[np.ndarray, "*n L"],
    sight: Float64[np.ndarray, "*#n"],
    profile: Profile,
    delay_spread: float,
    frequency: Float64[np.ndarray, "M"],
) -> Complex128[np.ndarray, "*n M"]:
    """Σ_l √p_l·a_l·e^{−2πj·f_m·τ_l} + √p_LoS·e^{jφ}: E|h|² = 1 (TR 38.901, section 7.7.2).

    Args:
        waves: a, of mean power 1, one for each scattered tap.
        sight: φ, phase of the line of sight [rad]; of no use to profiles A, B, C.
        profile: a letter from A to E.
        delay_spread: root mean square of the delays [s].
        frequency: f_m, about the carrier [Hz].

    >>> flat = tdl_response(np.ones((1, 23)) + 0j, np.zeros(1), "A", 0.0, np.array([0.0, 1e6]))
    >>> bool(flat[0, 0] == flat[0, 1])
    True
    """
    line = taps(profile)
    h = response(np.sqrt(line.power) * waves, line.delay * delay_spread, frequency)
    return h if not line.sight else h + np.sqrt(line.sight) * np.exp(1j * sight)[..., None]

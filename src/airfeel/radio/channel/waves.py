"""Complex channels: what a draw of |h| becomes where phases and antennas matter."""

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Complex128, Float64

from airfeel.errors import BadInput
from airfeel.radio.channel.fading import Draw
from airfeel.radio.channel.gaussian import phasor
from airfeel.types import Turn


@runtime_checkable
class Waves(Protocol):
    """A draw that knows phases: h on every sub-channel at every antenna; |h| of one is the draw."""

    def waves(self, turn: Turn, antennas: int) -> Complex128[np.ndarray, "N M {antennas}"]: ...


@runtime_checkable
class Moduli(Protocol):
    """A draw that knows |h| at every antenna, and whose phases are uniform."""

    def moduli(self, turn: Turn, antennas: int) -> Float64[np.ndarray, "N M {antennas}"]: ...


@runtime_checkable
class Scattering(Protocol):
    """A draw made of W independent Gaussian waves of power 1 per device, and a line of sight.

    `fresh` draws the waves of a round, `compose` makes h of waves, whoever drew them: the phase of
    the line of sight is that of a round, turned by an angle [rad].
    """

    def width(self, turn: Turn) -> int: ...
    def fresh(
        self, turn: Turn, round: int, antennas: int
    ) -> Complex128[np.ndarray, "N W {antennas}"]: ...
    def compose(
        self,
        turn: Turn,
        scattered: Complex128[np.ndarray, "N W R"],
        round: int,
        turned: float = 0.0,
    ) -> Complex128[np.ndarray, "N M R"]: ...


def waves_of(draw: Draw, turn: Turn, antennas: int = 1) -> Complex128[np.ndarray, "N M {antennas}"]:
    """h of a round: as the draw knows it, or |h| with phases from the dice of the room `phase`.

    Args:
        draw: of |h|, with or without phases of its own.
        turn: the round.
        antennas: R, at the base station.
    """
    if isinstance(draw, Waves):
        return draw.waves(turn, antennas)
    if isinstance(draw, Scattering):
        return draw.compose(turn, draw.fresh(turn, turn.round, antennas), turn.round)
    if isinstance(draw, Moduli):
        return with_phase(draw.moduli(turn, antennas), turn)
    if antennas > 1:
        raise BadInput(
            f"radio.antennas = {antennas}: must be 1, {type(draw).__name__} draws no more"
        )
    return with_phase(draw(turn)[..., None], turn)


def with_phase(gain: Float64[np.ndarray, "N M R"], turn: Turn) -> Complex128[np.ndarray, "N M R"]:
    """|h|·e^{jθ}, θ uniform from the dice of the room `phase`.

    Args:
        gain: |h| at every antenna.
        turn: the round.
    """
    return np.asarray(gain * phasor(turn.rng("phase").random(gain.shape)))

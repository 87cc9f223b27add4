"""Rounds that follow each other: channels that remember, and are the same when a run is resumed."""

from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Complex128, Float64

from airfeel.errors import BadInput
from airfeel.radio.channel.doppler import SINUSOIDS, doppler_shift, jakes, sinusoids
from airfeel.radio.channel.fading import Draw, moments_of
from airfeel.radio.channel.waves import Scattering
from airfeel.types import Dice, Moments, Turn

Correlation = Literal["block", "jakes", "gauss-markov"]
SIGHT = 0.7  # of f_D, the Doppler shift of a line of sight, as in TR 38.901


@runtime_checkable
class Moving(Protocol):
    """A draw that knows by itself how rounds follow each other, so many seconds apart."""

    def __call__(self, turn: Turn) -> Float64[np.ndarray, "N M"]: ...
    def moving(self, seconds: float) -> Draw: ...


@dataclass(frozen=True)
class _Held:
    """The waves of a round, and whose they are."""

    streams: Dice
    round: int
    waves: Complex128[np.ndarray, "N W R"]


@dataclass(frozen=True)
class GaussMarkov:
    """w_t = ρ·w_{t−1} + √(1 − ρ²)·v_t, w_0 = v_0, with v_t the draw's own waves of round t.

    No state is kept: the rounds before are played again where it is not held from the round before.

    draw: of independent rounds. rho: ρ, from one round to the next.
    """

    draw: Scattering
    rho: float
    _held: list[_Held] = field(default_factory=list, init=False, repr=False, compare=False)

    def __call__(self, turn: Turn) -> Float64[np.ndarray, "N M"]:
        return np.abs(self.waves(turn, 1)[..., 0])

    @property
    def moments(self) -> Moments | None:
        """Of one round alone: the draw's."""
        return moments_of(self.draw)

    def waves(self, turn: Turn, antennas: int) -> Complex128[np.ndarray, "N M {antennas}"]:
        """The line of sight, if there is one, stands still."""
        size = (turn.world.devices, self.draw.width(turn), antennas)
        last = self._before(turn, size) or _Held(
            turn.streams, 0, self.draw.fresh(turn, 0, antennas)
        )
        waves, new = last.waves, np.sqrt(1.0 - self.rho**2)
        for t in range(last.round + 1, turn.round + 1):
            waves = self.rho * waves + new * self.draw.fresh(turn, t, antennas)
        others = [held for held in self._held if held.waves.shape != size]  # of fewer antennas, say
        self._held[:] = [*others, _Held(turn.streams, turn.round, waves)]
        return self.draw.compose(turn, waves, 0)

    def _before(self, turn: Turn, size: tuple[int, ...]) -> _Held | None:
        """What is held, if this round can go on from there."""
        for held in self._held:
            if held.waves.shape == size:
                same = held.streams == turn.streams
                return held if same and held.round <= turn.round else None
        return None


@dataclass(frozen=True)
class Jakes:
    """Waves from all around at time t·seconds: autocorrelation J0(2πf_D·τ), any round directly.

    draw: says what waves make h. doppler: f_D [Hz]. seconds: from one round to the next.
    """

    draw: Scattering
    doppler: float
    seconds: float

    def __call__(self, turn: Turn) -> Float64[np.ndarray, "N M"]:
        return np.abs(self.waves(turn, 1)[..., 0])

    @property
    def moments(self) -> Moments | None:
        """Of one round alone: the draw's."""
        return moments_of(self.draw)

    def waves(self, turn: Turn, antennas: int) -> Complex128[np.ndarray, "N M {antennas}"]:
        """The line of sight, if there is one, turns with 0.7 f_D."""
        size = (turn.world.devices, self.draw.width(turn), antennas, 2, SINUSOIDS)
        dice = turn.streams.rng("paths").random(size) - 0.5
        time = turn.round * self.seconds
        angle, phase = dice[..., 0, :], 2.0 * np.pi * dice[..., 1, :]
        scattered = sinusoids(angle, phase, self.doppler, time)
        return self.draw.compose(turn, scattered, 0, 2.0 * np.pi * SIGHT * self.doppler * time)


def correlate(
    draw: Draw, kind: Correlation, speed: float, carrier: float, seconds: float, rho: float | None
) -> Draw:
    """A draw whose rounds follow each other as told; the draw itself where they do not.

    Args:
        draw: of independent rounds.
        kind: block (independent), jakes or gauss-markov.
        speed: of the devices [m/s].
        carrier: frequency [Hz].
        seconds: from one round to the next.
        rho: ρ of gauss-markov; None: J0(2πf_D·seconds).
    """
    if rho is not None and kind != "gauss-markov":
        raise BadInput(f'radio.rho = {rho}: is of radio.correlation = "gauss-markov" alone')
    if kind == "block":
        return draw
    if kind == "jakes" and isinstance(draw, Moving):
        return draw.moving(seconds)
    if not isinstance(draw, Scattering):
        raise BadInput(
            f"radio.correlation = {kind!r}: must be 'block', {type(draw).__name__} has no waves "
            "that could go on from round to round"
        )
    doppler = doppler_shift(speed, carrier)
    if kind == "jakes":
        return Jakes(draw, doppler, seconds)
    chosen = jakes(doppler, seconds) if rho is None else rho
    if not abs(chosen) < 1.0:
        raise BadInput(f"radio.speed = {speed}: gives ρ = {chosen}; must be above 0, or give rho")
    return GaussMarkov(draw, chosen) if chosen else draw

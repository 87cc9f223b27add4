"""The sky as a real radio knows it and meets it: around an ideal one."""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Complex128, Float64

from airfeel.radio.channel.fading import Sky
from airfeel.radio.channel.waves import waves_of
from airfeel.radio.impairments.antennas import Antennas, heard_by
from airfeel.radio.impairments.channel_estimation import Sounding
from airfeel.radio.impairments.synchronization import Clocks
from airfeel.types import BadInput, Fade, Fading, Front, Link, Turn, Upkeep


@dataclass(frozen=True)
class RealSky:
    """What devices believe of a sky, what signals meet, and what knowing it costs.

    Each part may be ideal, and then leaves everything as it was, to the bit.

    sky: the ideal one. sounding: how well channels are known. clocks: what is left of
    synchronisation. link: what digital links bear. truncation: γ = |ĝ|²/Ω below which a device is
    silent on a sub-channel. front: amplifiers, converters and the grid of the air. pilot_power: of
    a device on a sub-channel in a pilot slot [W]; None: P̄_n/M. pilots: slots of pilots of a device.
    overhead: slots of a re-alignment within the air. antennas: of the base station, for packets by
    maximum ratio, for the air by one unit vector per sub-channel.
    """

    sky: Sky
    sounding: Sounding = field(default_factory=Sounding)
    clocks: Clocks = field(default_factory=Clocks)
    link: Link | None = None
    truncation: float = 0.0
    front: Front | None = None
    pilot_power: float | None = None
    pilots: int = 0
    overhead: int = 0
    antennas: Antennas = field(default_factory=Antennas)

    def __call__(self, turn: Turn) -> Fading:
        fading = self.sky(turn)
        if not self.sounding.exact or self.antennas.count > 1:
            fading = self._known(turn, fading)
        if not self.clocks.exact:
            fading = self._turned(turn, fading)
        elif self.front is not None:
            fading = replace(fading, front=self.front)
        silent = self._silent(fading)
        upkeep = self._upkeep(turn) if self.pilots or self.overhead else None
        return replace(fading, link=self.link, silent=silent, upkeep=upkeep)

    def _known(self, turn: Turn, ideal: Fading) -> Fading:
        """Estimates in place of channels: gain and air as they are believed, residual and truth."""
        mean2 = _means(ideal)
        h = later = known = self._waves(turn)
        if self.sounding.estimates:
            error = self.sounding.errors(self._pilot_power(turn), mean2, ideal.noise)
            known, later = self.sounding.sound(h, error, mean2, turn)
        beam = self.antennas.beams(known, mean2)
        heard = self.sounding.fed_back(heard_by(beam, known), mean2)
        arriving = heard_by(beam, h)
        residual = np.divide(arriving, heard, out=np.zeros_like(arriving), where=heard != 0.0)
        whole = np.linalg.norm(known, axis=-1)
        truth, gain = None, whole if self.antennas.count > 1 else ideal.gain
        if self.sounding.estimates:
            truth, gain = _combined(known, later, whole), whole
        return replace(
            ideal,
            gain=gain,
            truth=truth,
            air=np.abs(heard),
            residual=None if self.sounding.exact else residual,
            moments=ideal.moments if self.antennas.count == 1 else None,
        )

    def _turned(self, turn: Turn, fading: Fading) -> Fading:
        """Offsets of this round: in the residual, its spin, and what sub-carriers see."""
        offsets, front, m = self.clocks.draw(turn), self.front or Front(), turn.world.subchannels
        width = front.subcarriers * front.spacing or 1.0 / front.slot_seconds
        turned = offsets.residual(m, width, front.spacing)
        residual = turned if fading.residual is None else fading.residual * turned
        moves = self.clocks.cfo or self.clocks.clock
        spin = offsets.spin(m, width, front.slot_seconds) if moves else None
        if front.subcarriers > 1:
            front = replace(front, delay=offsets.timing, drift=offsets.clock)
        return replace(fading, residual=residual, spin=spin, front=front)

    def _silent(self, fading: Fading) -> Bool[np.ndarray, "N M"] | None:
        """Where devices do not speak on the air: too weak a channel, or none that was fed back."""
        if self.truncation > 0.0:
            _means(fading)
            return np.asarray((fading.relative < self.truncation) | (fading.air_gain == 0.0))
        if self.sounding.magnitude_bits:
            return np.asarray(fading.air_gain == 0.0)
        return None

    def _upkeep(self, turn: Turn) -> Upkeep:
        energy = self._pilot_power(turn) * turn.world.subchannels
        every = (self.front or Front()).every
        return Upkeep(energy, self.pilots, every=every, overhead=self.overhead)

    def _pilot_power(self, turn: Turn) -> Float64[np.ndarray, "N"]:
        """P_p of each device on a sub-channel [W]."""
        world = turn.world
        if self.pilot_power is None:
            return world.power / world.subchannels
        return np.full(world.devices, self.pilot_power)

    def _waves(self, turn: Turn) -> Complex128[np.ndarray, "N M R"]:
        """h itself, which nobody knows."""
        factor = np.broadcast_to(np.sqrt(self.sky.mean_gain), turn.world.devices)
        return waves_of(self.sky.draw, turn, self.antennas.count) * factor[:, None, None]


@dataclass(frozen=True)
class AllSounded:
    """A sky for which all devices with power send pilots, not only who is invited.

    fade: any; parts may be around the real sky.
    """

    fade: Fade

    def __call__(self, turn: Turn) -> Fading:
        fading = self.fade(turn)
        if fading.upkeep is None:
            return fading
        return replace(fading, upkeep=replace(fading.upkeep, everyone=True))


def _combined(
    known: Complex128[np.ndarray, "N M R"],
    later: Complex128[np.ndarray, "N M R"],
    whole: Float64[np.ndarray, "N M"],
) -> Float64[np.ndarray, "N M"]:
    """|ĥ^H·h_d|/‖ĥ‖: what packets meet where antennas are weighed by what is known."""
    met = np.abs((known.conj() * later).sum(axis=-1))
    return np.divide(met, whole, out=np.zeros_like(whole), where=whole > 0.0)


def _means(fading: Fading) -> Float64[np.ndarray, "N"]:
    """Ω of each device."""
    if fading.mean2 is None:
        raise BadInput("radio.fading: tells no mean |h|², which csi and hardware.truncation need")
    return fading.mean2

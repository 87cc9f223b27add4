"""What is known of a channel: pilots, estimation error, ageing and quantised feedback."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex128, Float64

from airfeel.radio.channel.doppler import jakes
from airfeel.radio.channel.gaussian import complex_normal
from airfeel.types import Turn

_LEAST_DB, _MOST_DB = -30.0, 10.0  # of fed back magnitudes, over the mean


@dataclass(frozen=True)
class Sounding:
    """How well channels are known: the settings of `csi`, with the speed of the devices.

    error: ε where it is given; None: as the pilots' ratio says. doppler: f_D [Hz].
    """

    pilots: int = 0
    error: float | None = None
    age_air: float = 0.0
    age_digital: float = 0.0
    doppler: float = 0.0
    magnitude_bits: int = 0
    phase_bits: int = 0

    @property
    def exact(self) -> bool:
        """Whether nothing is wrong with what is known; it may cost something all the same."""
        return not (self.estimates or self.magnitude_bits or self.phase_bits)

    @property
    def estimates(self) -> bool:
        """Whether the estimate differs from the channel, or the channel changes after it."""
        wrong = self.pilots > 0 if self.error is None else self.error > 0.0
        return wrong or self.doppler * max(self.age_air, self.age_digital) > 0.0

    def errors(
        self, power: Float64[np.ndarray, "N"], mean2: Float64[np.ndarray, "N"], noise: float
    ) -> Float64[np.ndarray, "N"]:
        """ε_n = 1 − ρ²(1 − ε), ε = 1/(1 + τ·P_p·Ω/σ0²): estimation and ageing as one number.

        The estimate is the minimum mean square error prediction of a Rayleigh channel of mean
        power Ω with Jakes' correlation ρ = J0(2πf_D·age).

        Args:
            power: P_p of each device on a sub-channel in a pilot slot [W].
            mean2: Ω of each device.
            noise: σ0² [W].

        >>> one = np.ones(1)
        >>> Sounding(pilots=1).errors(0.0002 * one, 2.0 * one, 1e-6).round(4)
        array([0.0025])
        """
        if self.error is not None:
            error = np.full(len(mean2), self.error)
        elif self.pilots > 0:
            error = 1.0 / (1.0 + self.pilots * power * mean2 / noise)
        else:
            error = np.zeros(len(mean2))
        return np.asarray(1.0 - self._kept(self.age_air) ** 2 * (1.0 - error))

    def sound(
        self,
        h: Complex128[np.ndarray, "N M *R"],
        error: Float64[np.ndarray, "N"],
        mean2: Float64[np.ndarray, "N"],
        turn: Turn,
    ) -> tuple[Complex128[np.ndarray, "N M *R"], Complex128[np.ndarray, "N M *R"]]:
        """ĥ = (1−ε)h + √(ε(1−ε)Ω)·w as it is known, and h_d = ρ'h + √(1−ρ'²)·√Ω·w' met later.

        E|ĥ|² = Ω(1−ε), and under Rayleigh E[h|ĥ] = ĥ. w, then w', from the room `csi`: the uniforms
        of a device are its own.

        Args:
            h: the channel that values on the air meet.
            error: ε of each device, see `errors`.
            mean2: Ω of each device.
            turn: the round.
        """
        shape = (len(h),) + (1,) * (h.ndim - 1)
        e, mean = error.reshape(shape), mean2.reshape(shape)
        w = complex_normal(turn.rng("csi").random((len(h), 2, *h.shape[1:], 2)))
        known = (1.0 - e) * h + np.sqrt(e * (1.0 - e) * mean) * w[:, 0]
        rho = self._kept(self.age_digital - self.age_air)
        later = rho * h + np.sqrt(max(1.0 - rho**2, 0.0) * mean) * w[:, 1] if rho < 1.0 else h
        return np.asarray(known), np.asarray(later)

    def fed_back(
        self, known: Complex128[np.ndarray, "N M"], mean2: Float64[np.ndarray, "N"]
    ) -> Complex128[np.ndarray, "N M"]:
        """What a device hears of ĝ: phase to the nearest of 2^b, magnitude to one of 2^a levels.

        Levels lie evenly on −30…10 dB over √Ω; half a step below the lowest, a device is silent.

        Args:
            known: ĝ.
            mean2: Ω of each device.

        >>> heard = Sounding(phase_bits=1).fed_back(np.array([[1.0 + 2.0j, -4.0]]), np.ones(1))
        >>> heard.real.round(3).tolist()
        [[2.236, -4.0]]
        """
        size, angle = np.abs(known), np.angle(known)
        if self.phase_bits:
            points = 2**self.phase_bits
            angle = 2.0 * np.pi * (np.round(angle * points / (2.0 * np.pi)) % points) / points
        if self.magnitude_bits:
            root = np.sqrt(mean2)[:, None]
            step = (_MOST_DB - _LEAST_DB) / (2**self.magnitude_bits - 1)
            with np.errstate(divide="ignore", invalid="ignore"):
                level = (20.0 * np.log10(size / root) - _LEAST_DB) / step
            heard = level >= -0.5
            level = np.clip(np.round(np.where(heard, level, 0.0)), 0, 2**self.magnitude_bits - 1)
            size = np.where(heard, root * 10.0 ** ((_LEAST_DB + step * level) / 20.0), 0.0)
        return np.asarray(size * np.exp(1j * angle))

    def _kept(self, age: float) -> float:
        """ρ = J0(2πf_D·age)."""
        return jakes(self.doppler, age)

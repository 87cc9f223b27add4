"""The air as samples: an OFDM waveform that carries what a symbol-level model only claims.

A sub-channel is S adjacent sub-carriers, element i of its segment sits on sub-carrier i mod S of
symbol ⌊i/S⌋. All transforms are unitary, so that a channel of |h| = 1 keeps powers.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Complex128, Float64, Int64

from airfeel.errors import BadInput
from airfeel.segments import segment_sizes


@dataclass(frozen=True)
class Ofdm:
    """The numbers of a waveform, and its two ends."""

    subchannels: int = 25  # M
    subcarriers: int = 12  # S, of one sub-channel
    points: int = 512  # F, of the transform
    prefix: int = 36  # cyclic prefix [samples]
    spacing: float = 15e3  # Δ, between sub-carriers [Hz]

    def __post_init__(self) -> None:
        if self.subchannels * self.subcarriers > self.points:
            wanted = f"{self.subchannels} × {self.subcarriers} sub-carriers"
            raise BadInput(f"points = {self.points}: must be at least {wanted}")

    @property
    def rate(self) -> float:
        """F·Δ, samples per second."""
        return self.points * self.spacing

    @property
    def length(self) -> int:
        """Samples of a symbol with its prefix."""
        return self.points + self.prefix

    @property
    def shift(self) -> float:
        """What the carrier is off the transform's grid [Hz]: half a bin where S is even."""
        return -0.5 * self.spacing * (self.subcarriers % 2 == 0)

    @cached_property
    def frequency(self) -> Float64[np.ndarray, "M S"]:
        """f = (m − ⌊M/2⌋)·S·Δ + (s − (S − 1)/2)·Δ, of every sub-carrier about the carrier [Hz]."""
        S = self.subcarriers
        middle = (np.arange(self.subchannels) - self.subchannels // 2) * S
        return (middle[:, None] + np.arange(S) - (S - 1) / 2.0) * self.spacing

    @cached_property
    def bins(self) -> Int64[np.ndarray, "M S"]:
        """The transform's bin of every sub-carrier, from −F/2."""
        return np.rint((self.frequency - self.shift) / self.spacing).astype(np.int64)

    def lay(self, values: Complex128[np.ndarray, "*n K"]) -> Complex128[np.ndarray, "*n B M S"]:
        """Values in index order as segments on sub-channels, these as symbols of S sub-carriers."""
        m, s, b, _ = self._places(values.shape[-1])
        grid = np.zeros((*values.shape[:-1], b.max(initial=-1) + 1, *self.bins.shape), complex)
        grid[..., b, m, s] = values
        return grid

    def take(
        self, grid: Complex128[np.ndarray, "*n B M S"], values: int
    ) -> Complex128[np.ndarray, "*n {values}"]:
        """The values that `lay` laid out."""
        m, s, b, _ = self._places(values)
        return np.asarray(grid[..., b, m, s])

    def _places(self, values: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Sub-channel, sub-carrier, symbol and place in the segment of each value."""
        sizes = segment_sizes(values, self.subchannels)
        m = np.repeat(np.arange(self.subchannels), sizes)
        i = np.arange(values) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return m, i % self.subcarriers, i // self.subcarriers, i

    def modulate(self, grid: Complex128[np.ndarray, "*n B M S"]) -> Complex128[np.ndarray, "*n T"]:
        """Symbols as samples, a prefix before each."""
        bins = np.zeros((*grid.shape[:-2], self.points), complex)
        bins[..., self.bins] = grid
        body = np.fft.ifft(bins, norm="ortho")
        whole = np.concatenate([body[..., self.points - self.prefix :], body], axis=-1)
        return whole.reshape(*grid.shape[:-3], -1)

    def demodulate(
        self, samples: Complex128[np.ndarray, "*n T"], early: int = 0
    ) -> Complex128[np.ndarray, "*n B M S"]:
        """Samples as symbols, read so many samples before a prefix ends; that ramp is removed."""
        whole = samples.reshape(*samples.shape[:-1], -1, self.length)
        first = self.prefix - early
        bins = np.fft.fft(whole[..., first : first + self.points], norm="ortho")
        ramp = np.exp(2j * np.pi * self.bins * early / self.points)
        return np.asarray(bins[..., self.bins] * ramp)


@dataclass(frozen=True)
class Paths:
    """What each device's samples go through: taps on the grid of samples."""

    taps: Complex128[np.ndarray, "n R L"]  # amplitude of each path at each antenna
    delay: Int64[np.ndarray, "L"]  # of each path [samples]
    late: Int64[np.ndarray, "n"]  # τ, how much too late each device is [samples]; may be negative
    offset: Float64[np.ndarray, "n"]  # Δf, carrier offset [Hz]

    def heard(
        self, ofdm: Ofdm, samples: Complex128[np.ndarray, "n T"]
    ) -> Complex128[np.ndarray, "R T"]:
        """Σ_n of what arrives at each antenna, without noise; time begins with the first sample."""
        time = np.arange(samples.shape[1]) / ofdm.rate
        total = np.zeros((self.taps.shape[1], samples.shape[1]), complex)
        for x, taps, late, offset in zip(samples, self.taps, self.late, self.offset, strict=True):
            through = sum(
                taps[:, k, None] * _moved(ofdm, x, int(late + d)) for k, d in enumerate(self.delay)
            )
            total += through * np.exp(2j * np.pi * offset * time)
        return total

    def response(self, ofdm: Ofdm) -> Complex128[np.ndarray, "n M S R"]:
        """h of each device on every sub-carrier, as an estimate at the right time would find it."""
        turns = np.exp(-2j * np.pi * ofdm.frequency[..., None] * self.delay / ofdm.rate)
        return np.einsum("nrl,msl->nmsr", self.taps, turns)


def _moved(ofdm: Ofdm, x: Complex128[np.ndarray, "T"], by: int) -> Complex128[np.ndarray, "T"]:
    """The samples, later by so many; what is pushed out is lost. A carrier off the grid turns."""
    out = np.zeros_like(x)
    if by >= 0:
        out[by:] = x[: len(x) - by]
    else:
        out[:by] = x[-by:]
    return np.asarray(out * np.exp(-2j * np.pi * ofdm.shift * by / ofdm.rate))


def clip(samples: Complex128[np.ndarray, "*n T"], limit: float) -> Complex128[np.ndarray, "*n T"]:
    """Samples of more than `limit` times their row's mean power, scaled down to it.

    Args:
        samples: of each device.
        limit: γ, largest power over the mean.

    >>> clip(np.array([3.0 + 0j, 1.0]), 1.0).real.round(3)
    array([2.236, 1.   ])
    """
    most = np.sqrt(limit * np.mean(np.abs(samples) ** 2, axis=-1, keepdims=True))
    size = np.abs(samples)
    return np.asarray(samples * np.minimum(1.0, most / np.maximum(size, 1e-300)))


def carry(
    ofdm: Ofdm,
    values: Complex128[np.ndarray, "n K"],
    paths: Paths,
    inverse: Complex128[np.ndarray, "n M S"],
    noise: float = 0.0,
    limit: float = np.inf,
    beam: Complex128[np.ndarray, "M R"] | None = None,
    *,
    rng: np.random.Generator,
) -> Complex128[np.ndarray, "K"]:
    """What the base station holds of values that all devices send at once, as samples (eq. 1).

    Values ride on sub-carriers, times `inverse` (σ_t/ĝ); transform, prefix, taps, timing and
    carrier offset of each device; the sum, with noise; the transform in a window in the middle of
    what the prefix leaves; f_m^H of the antennas. Division by σ_t is the caller's.

    Args:
        ofdm: the waveform.
        values: a row for each device; real ones, or I and Q.
        paths: what each device's samples go through.
        inverse: factor on each sub-carrier; 0 is silence there.
        noise: variance of a complex sample [W]: 2σ0² for real values, σ0² for I and Q.
        limit: samples are clipped at so many times their mean power.
        beam: f_m, unit vectors; None for one antenna.
        rng: dice of the noise.
    """
    samples = ofdm.modulate(ofdm.lay(values) * inverse[:, None])
    if np.isfinite(limit):
        samples = clip(samples, limit)
    heard = paths.heard(ofdm, np.pad(samples, ((0, 0), (0, ofdm.length))))
    parts = rng.standard_normal((2, *heard.shape)) * np.sqrt(noise / 2.0)
    early = (ofdm.prefix - int(paths.delay.max(initial=0))) // 2
    grid = ofdm.demodulate((heard + parts[0] + 1j * parts[1])[:, : samples.shape[1]], early)
    one = np.ones((ofdm.subchannels, 1)) if beam is None else beam
    return ofdm.take(np.einsum("mr,rbms->bms", one.conj(), grid), values.shape[1])

"""W6 and W7: what one coefficient per sub-channel misses, and what clipped samples cost."""

from itertools import pairwise

import numpy as np
from scipy.special import erfc, exp1

from airfeel.radio.ofdm import Ofdm, Paths, carry, clip
from airfeel.types import Dice
from airfeel.waveform.scene import OMEGA, Finding, Point, Scene, nmse, rounded, scene

_LEAST = 0.2  # |ĥ|² below which a device is silent in W6
_WIDE = (Ofdm(), Ofdm(subcarriers=72, points=2048, prefix=144))


def selective(streams: Dice, draws: int = 10) -> Finding:
    """W6: a device inverts one coefficient, of the middle, on all S sub-carriers."""
    points = []
    for wide in _WIDE:
        for i, spread in enumerate((3e-8, 1e-7, 3e-7)):
            rng, found = streams.rng("waveform", 600 + 10 * wide.subcarriers + i), []
            for _ in range(draws):
                found.append(_flat_error(scene(wide, 1, rng=rng, spread=spread), rng=rng))
            point = Point(
                spread, float(np.mean(found)), flat_law(wide, spread), f"S = {wide.subcarriers}"
            )
            points.append(point)
    narrow, broad = points[:3], points[3:]
    rising = all(a.measured < b.measured for each in (narrow, broad) for a, b in pairwise(each))
    above = all(a.measured < b.measured for a, b in zip(narrow, broad, strict=True))
    return Finding(
        "W6",
        "One coefficient for a whole sub-channel",
        "NMSE rises with the delay spread and with S",
        ", ".join(f"{p.label}: {p.measured:.1e} at {1e9 * p.x:.0f} ns" for p in points),
        rising and above,
        tuple(points),
        "delay spread [ns]",
        1e9,
        model="closed form",
    )


def _flat_error(s: Scene, *, rng: np.random.Generator) -> float:
    """NMSE where 1/ĥ of the middle of each sub-channel goes on all of its sub-carriers."""
    middle = _middle(s)
    loud = np.abs(middle) ** 2 >= _LEAST
    inverse = np.where(loud, 1.0 / middle, 0.0)[..., None] * np.ones(s.ofdm.subcarriers)
    found = carry(s.ofdm, s.values, s.paths, inverse, rng=rng)
    grid = (s.ofdm.lay(s.values) * loud[:, None, :, None]).sum(axis=0)
    return nmse(found, s.ofdm.take(grid, s.values.shape[1]))


def _middle(s: Scene) -> np.ndarray:
    """h in the middle of each sub-channel [n M]."""
    turns = np.exp(
        -2j * np.pi * np.multiply.outer(s.ofdm.frequency.mean(axis=1), s.paths.delay) / s.ofdm.rate
    )
    return np.asarray(s.paths.taps[:, 0] @ turns.T)


def flat_law(ofdm: Ofdm, spread: float) -> float:
    """E|h_f/ĥ − 1|² = |ρ − 1|² + (1 − |ρ|²)·e^g·E1(g), ρ(f) between f and the middle, g = |ĥ|²/Ω.

    Args:
        ofdm: the waveform.
        spread: root mean square of the delays [s].
    """
    line, g = rounded(ofdm, spread), _LEAST / OMEGA
    apart = ofdm.frequency[0] - ofdm.frequency[0].mean()
    rho = np.exp(-2j * np.pi * np.multiply.outer(apart, line.delay) / ofdm.rate) @ line.power
    scattered = (1.0 - np.abs(rho) ** 2) * np.exp(g) * exp1(g)
    return float(np.mean(np.abs(rho - 1.0) ** 2 + scattered))


def clipped(streams: Dice, symbols: int = 60) -> Finding:
    """W7: samples clipped at γ times their mean power."""
    ofdm, points = Ofdm(), []
    rng = streams.rng("waveform", 700)
    s = _flat(scene(ofdm, symbols, rng=rng))
    grid = ofdm.lay(s.values)
    samples = ofdm.modulate(grid)
    for limit in (1.0, 2.0, 3.0, 4.0):
        cut, law = clip(samples, limit), clip_law(limit)
        inside = nmse(ofdm.demodulate(cut).ravel(), grid.ravel())
        points.append(Point(limit, nmse(cut.ravel(), samples.ravel()), law, "all samples"))
        points.append(Point(limit, inside, law, "in band"))
    everywhere, band = points[::2], points[1::2]
    off = max(abs(p.measured / p.expected - 1.0) for p in everywhere)
    share = [p.measured / p.expected for p in band]
    power = np.abs(samples) ** 2 / np.mean(np.abs(samples) ** 2, axis=1, keepdims=True)
    peak = 10.0 * np.log10(np.quantile(power, 0.999))
    recorded = [_inverted_clip(ofdm, streams, limit) for limit in (2.0, 4.0)]
    return Finding(
        "W7",
        "Clipped samples",
        "e^{−γ} − √(πγ)·erfc(√γ) within 10 %; in band 0.5 to 1 of it",
        f"off by {off:.1%} at most; in band {min(share):.2f} to {max(share):.2f}; recorded: TDL-A "
        f"inverted {recorded[0]:.1e}, {recorded[1]:.1e} at γ = 2, 4; {peak:.1f} dB over the mean "
        "in 1 of 1000 samples",
        off <= 0.1 and min(share) >= 0.5 and max(share) <= 1.0,
        tuple(points),
        "clipped at γ times the mean power",
        model="closed form",
    )


def clip_law(limit: float) -> float:
    """e^{−γ} − √(πγ)·erfc(√γ), the error of clipped Gaussian samples over their power."""
    return float(np.exp(-limit) - np.sqrt(np.pi * limit) * erfc(np.sqrt(limit)))


def _flat(s: Scene) -> Scene:
    """The same scene behind |h| = 1."""
    n = len(s.values)
    still = np.zeros(n, dtype=np.int64)
    paths = Paths(np.ones((n, 1, 1), complex), still[:1], still, np.zeros(n))
    return Scene(s.ofdm, paths, s.values, s.least)


def _inverted_clip(ofdm: Ofdm, streams: Dice, limit: float) -> float:
    rng = streams.rng("waveform", 710)
    s = scene(ofdm, 10, rng=rng)
    return nmse(s.waveform(rng=rng, limit=limit), s.total())

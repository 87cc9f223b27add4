"""W1 to W5: inversion, noise, timing and carrier offsets, in samples and at symbol level."""

from itertools import pairwise

import numpy as np

from airfeel.radio.ofdm import Ofdm
from airfeel.types import Dice
from airfeel.waveform.scene import Finding, Point, nmse, scene

_EXACT = 1e-6


def aligned(streams: Dice) -> Finding:
    """W1: inversion on each sub-carrier, ideal synchronisation, no noise."""
    rng = streams.rng("waveform", 1)
    s = scene(Ofdm(), 5, rng=rng)
    found = nmse(s.waveform(rng=rng), s.total()) ** 0.5
    return Finding(
        "W1",
        "The waveform's sum is the symbols' sum",
        f"‖waveform − Σx‖/‖Σx‖ ≤ {_EXACT:g}",
        f"{found:.1e}",
        found <= _EXACT,
    )


def noisy(streams: Dice, symbols: int = 420) -> Finding:
    """W2: noise alone, on real values and on I and Q."""
    ofdm, noise, points = Ofdm(), 1e-6, []
    for i, (label, power, share) in enumerate((("real", 2.0, 1.0), ("iq", 1.0, 0.5))):
        parts = streams.rng("waveform", 20 + i).standard_normal((2, symbols * ofdm.length))
        samples = (parts[0] + 1j * parts[1]) * np.sqrt(power * noise / 2.0)
        z = ofdm.demodulate(samples).real
        points.append(Point(float(i), float(np.mean(z**2)), share * noise, label))
    error = np.sqrt(2.0 / (symbols * ofdm.bins.size))
    off = [abs(p.measured / p.expected - 1.0) for p in points]
    return Finding(
        "W2",
        "Noise on a value",
        "σ0² on a real value, σ0²/2 on I, within 3 standard errors",
        ", ".join(f"{p.label} {p.measured:.3e} for {p.expected:.1e}" for p in points)
        + f" (± {error:.1%})",
        bool(max(off) <= 3.0 * error),
        tuple(points),
    )


def timing(streams: Dice, draws: int = 25, spans: tuple[int, ...] = (1, 2, 4, 8, 14)) -> Finding:
    """W3: timing errors that the prefix bears."""
    ofdm, points, exact = Ofdm(), [], 0.0
    for span in spans:
        rng, found = streams.rng("waveform", 300 + span), []
        for _ in range(draws):
            s = scene(ofdm, 2, rng=rng)
            s = s.late(np.rint(rng.uniform(-span, span, 20)).astype(np.int64))
            heard, total = s.waveform(rng=rng), s.total()
            exact = max(exact, nmse(heard, s.total(s.arriving()), total) ** 0.5)
            found.append(nmse(heard, total))
        points.append(Point(span / ofdm.rate, float(np.mean(found)), timing_law(ofdm, span)))
    off = max(abs(p.measured / p.expected - 1.0) for p in points)
    return Finding(
        "W3",
        "Timing within the prefix turns the sub-carriers, nothing else",
        f"distance to the symbol level ≤ {_EXACT:g}; mean NMSE of {draws} draws within 10 %",
        f"distance {exact:.1e}; NMSE off by {off:.1%} at most",
        exact <= _EXACT and off <= 0.1,
        tuple(points),
        "timing error ±T [µs]",
        1e6,
    )


def timing_law(ofdm: Ofdm, span: int) -> float:
    """E|e^{−2πjfτ} − 1|² over sub-carriers, τ uniform in ± so many samples and rounded."""
    late = np.arange(-span, span + 1)
    chance = np.full(len(late), 0.5 / span)
    chance[[0, -1]] /= 2.0
    turned = np.exp(-2j * np.pi * ofdm.frequency[..., None] * late / ofdm.rate)
    return float((np.abs(turned - 1.0) ** 2 @ chance).mean())


def beyond(streams: Dice, draws: int = 10) -> Finding:
    """W4: timing errors that the prefix does not bear."""
    ofdm, points = Ofdm(), []
    for i, span in enumerate((1.8e-6, 2.4e-6, 3e-6, 4e-6, 6e-6)):
        rng, found = streams.rng("waveform", 400 + i), []
        for _ in range(draws):
            s = scene(ofdm, 4, rng=rng)
            late = rng.uniform(-span, span, 20) * ofdm.rate
            s = s.late(np.rint(late).astype(np.int64))
            found.append(nmse(s.waveform(rng=rng), s.total(s.arriving()), s.total()))
        points.append(Point(span, float(np.mean(found)), float("nan")))
    guard, *outside = points
    rising = all(a.measured < b.measured for a, b in pairwise(points))
    return Finding(
        "W4",
        "Beyond the prefix symbols run into each other",
        "distance to the symbol level 0 at the guard's end, then rising",
        ", ".join(f"{p.measured:.1e} at {1e6 * p.x:.1f} µs" for p in points),
        rising and guard.measured <= _EXACT**2 and bool(outside),
        tuple(outside),
        "timing error ±T [µs]",
        1e6,
        model="",
    )


def drifting(streams: Dice, draws: int = 10) -> Finding:
    """W5: carrier offsets; what the symbol level leaves out is interference of sub-carriers."""
    ofdm, points = Ofdm(), []
    for i, share in enumerate((1e-3, 3e-3, 1e-2, 3e-2)):
        rng, found = streams.rng("waveform", 500 + i), []
        for _ in range(draws):
            s = scene(ofdm, 20, rng=rng)
            s = s.offset(rng.uniform(-share, share, 20) * ofdm.spacing)
            found.append(nmse(s.waveform(rng=rng), s.total(s.arriving()), s.total()))
        points.append(Point(share, float(np.mean(found)), np.pi**2 * share**2 / 9.0))
    worst = max(p.measured / p.expected for p in points)
    return Finding(
        "W5",
        "Carrier offsets: what sub-carriers leak into each other",
        f"NMSE to the symbol level, mean of {draws} draws, ≤ 1.5·π²ε²/9",
        ", ".join(f"{p.measured:.1e} at ε = {p.x:g}" for p in points)
        + f"; {worst:.2f}·π²ε²/9 at most",
        bool(worst <= 1.5),
        tuple(points),
        "carrier offset ±ε of the spacing",
        model="π²ε²/9",
        wide=True,
    )

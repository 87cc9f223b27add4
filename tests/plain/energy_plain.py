"""Non-coherent aggregation in plain loops: energies, random phases, and measured power."""

import cmath
import math


def measure(symbols, loud, gain, phase, z, place):
    """|sum_n b h e^(2 pi j phase) s + z|^2 of each element; place: its sub-channel."""
    found = []
    for i, m in enumerate(place):
        y = z[0][i] + 1j * z[1][i]
        for n in symbols:
            y += loud[n] * gain[n][m] * symbols[n][i] * cmath.exp(2j * math.pi * phase[n][i])
        found.append(y.real**2 + y.imag**2)
    return found


def loudness(symbols, mean2, budget):
    """The largest rho that all can afford, and sqrt(rho/mean) of each."""
    rho = min(budget[n] * mean2[n] / sum(s * s for s in symbols[n]) for n in symbols)
    return rho, {n: math.sqrt(rho / mean2[n]) for n in symbols}


def ncairfl(x, sign):
    """What is said, and its root on the air."""
    a = [max(v * p, 0.0) for v, p in zip(x, sign, strict=True)]
    return [v * p for v, p in zip(a, sign, strict=True)], [math.sqrt(v) for v in a]


def reed(x):
    """Positive parts, then negative ones, as roots."""
    return [math.sqrt(max(v, 0.0)) for v in x] + [math.sqrt(max(-v, 0.0)) for v in x]

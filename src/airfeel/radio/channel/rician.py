"""Means over Rician fading, by quadrature."""

from functools import lru_cache

import numpy as np
from scipy.integrate import quad
from scipy.special import ive

_WIDTH = 12.0  # standard deviations around the line of sight; beyond is less than e^−72 of it all


@lru_cache(maxsize=256)
def rician_moment(power: float, factor: float, least: float = 0.0) -> float:
    """E[γ^p; γ ≥ least], γ = |ν + w|², ν² = K/(1 + K), w ~ CN(0, 1/(1 + K)): its mean is 1.

    √γ has the density 2(1 + K)·r·exp(−(1 + K)(r − ν)²)·I₀(2(1 + K)·r·ν)·exp(−2(1 + K)·r·ν).

    Args:
        power: p; where it is −1 or less, `least` must be above 0 for the mean to be finite.
        factor: K, line of sight over scattered power.
        least: smallest γ that counts.

    >>> round(rician_moment(1.0, 3.0), 9), round(rician_moment(-1.0, 0.0, 0.1), 6)
    (1.0, 1.822924)
    """
    if power <= -1.0 and least <= 0.0:
        return float("inf")
    sight, width = np.sqrt(factor / (1.0 + factor)), 1.0 / np.sqrt(2.0 * (1.0 + factor))

    def weighed(r: float) -> float:
        scaled = ive(0, 2.0 * (1.0 + factor) * r * sight)
        density = 2.0 * (1.0 + factor) * r * np.exp(-(1.0 + factor) * (r - sight) ** 2) * scaled
        return float(density * r ** (2.0 * power))

    first = max(np.sqrt(least), sight - _WIDTH * width, 1e-300)
    last = sight + _WIDTH * width
    if first >= last:
        return 0.0
    found, _ = quad(weighed, first, last, epsabs=0.0, epsrel=1e-10, limit=200)
    return float(found)

"""Motion: how fast a channel changes, and waves that change so."""

import numpy as np
from jaxtyping import Complex128, Float64
from scipy.constants import speed_of_light
from scipy.special import j0

SINUSOIDS = 20  # P, waves of a sum


def doppler_shift(speed: float, carrier: float) -> float:
    """f_D = v·f_c/c [Hz], the largest Doppler shift.

    Args:
        speed: v, of the devices [m/s].
        carrier: f_c [Hz].

    >>> round(doppler_shift(1.0, 3.5e9), 1)
    11.7
    """
    return speed * carrier / speed_of_light


def jakes(doppler: float, seconds: float) -> float:
    """J0(2π·f_D·τ), the autocorrelation of waves from all around (Clarke, Jakes).

    Args:
        doppler: f_D, the largest Doppler shift [Hz].
        seconds: τ, the time between two looks [s].

    >>> round(jakes(11.7, 2072e-6), 3)
    0.994
    """
    return float(j0(2.0 * np.pi * doppler * seconds))


def sinusoids(
    angle: Float64[np.ndarray, "*n P"],
    phase: Float64[np.ndarray, "*n P"],
    doppler: float,
    seconds: float,
) -> Complex128[np.ndarray, "*n"]:
    """Σ_p exp j(2πf_D·t·cos α_p + φ_p)/√P with α_p = 2π(p + u_p)/P: E|a|² = 1, correlation J0.

    Any time directly, without those before it. E|a|⁴ = 2 − 1/P, where a Gaussian one has 2. As in
    TR 38.901's reference models (Xiao, Zheng, Beaulieu 2006, doi:10.1109/TWC.2006.1687757).

    Args:
        angle: u, where within its sector each wave comes from, in ±1/2.
        phase: φ of each wave at time 0 [rad], in ±π.
        doppler: f_D [Hz].
        seconds: t [s].

    >>> zero = np.zeros((1, 4))
    >>> sinusoids(zero, zero, 1.0, 0.0).real
    array([2.])
    """
    waves = angle.shape[-1]
    alpha = 2.0 * np.pi / waves * (np.arange(1, waves + 1) + angle)
    turned = 2.0 * np.pi * doppler * seconds * np.cos(alpha) + phase
    return np.asarray(np.exp(1j * turned).sum(axis=-1) / np.sqrt(waves))

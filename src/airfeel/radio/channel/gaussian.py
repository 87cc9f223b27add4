"""Gaussian numbers from uniforms, so that a row of them belongs to its device."""

import numpy as np
from jaxtyping import Complex128, Float64
from scipy.special import ndtri

_LEAST = 2.0**-54  # 0 is the one uniform without a quantile


def normal(uniform: Float64[np.ndarray, "*n"]) -> Float64[np.ndarray, "*n"]:
    """Φ⁻¹(u): a standard Gaussian number for each uniform.

    Args:
        uniform: dice in [0, 1).

    >>> normal(np.array([0.5, 0.975])).round(3)
    array([0.  , 1.96])
    """
    return np.asarray(ndtri(np.maximum(uniform, _LEAST)))


def phasor(uniform: Float64[np.ndarray, "*n"]) -> Complex128[np.ndarray, "*n"]:
    """e^{2πju}: a phase for each uniform.

    Args:
        uniform: dice in [0, 1).

    >>> phasor(np.array([0.0, 0.5])).real
    array([ 1., -1.])
    """
    return np.asarray(np.exp(2j * np.pi * uniform))


def complex_normal(uniform: Float64[np.ndarray, "*n 2"]) -> Complex128[np.ndarray, "*n"]:
    """CN(0, 1) = √(−ln(1 − u₁))·e^{2πju₂}: circular Gaussian numbers of mean power 1.

    Args:
        uniform: dice in [0, 1), two for each number.

    >>> complex_normal(np.array([[0.5, 0.0], [0.5, 0.5]])).real.round(3)
    array([ 0.833, -0.833])
    """
    return np.asarray(np.sqrt(-np.log1p(-uniform[..., 0])) * phasor(uniform[..., 1]))

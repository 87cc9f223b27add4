"""Tapped delay lines TDL-A to TDL-E of 3GPP TR 38.901 (tables 7.7.2-1 to 7.7.2-5)."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from jaxtyping import Complex128, Float64

from airfeel.errors import BadInput, quote

Profile = Literal["A", "B", "C", "D", "E"]

# Normalised delays, then powers in dB; of D and E the first is the line of sight.
_TABLES: dict[str, tuple[str, str]] = {
    "A": (
        "0 .3819 .4025 .5868 .4610 .5375 .6708 .5750 .7618 1.5375 1.8978 2.2242 2.1718 2.4942 "
        "2.5119 3.0582 4.0810 4.4579 4.5695 4.7966 5.0066 5.3043 9.6586",
        "-13.4 0 -2.2 -4 -6 -8.2 -9.9 -10.5 -7.5 -15.9 -6.6 -16.7 -12.4 -15.2 -10.8 -11.3 -12.7 "
        "-16.2 -18.3 -18.9 -16.6 -19.9 -29.7",
    ),
    "B": (
        "0 .1072 .2155 .2095 .2870 .2986 .3752 .5055 .3681 .3697 .5700 .5283 1.1021 1.2756 1.5474 "
        "1.7842 2.0169 2.8294 3.0219 3.6187 4.1067 4.2790 4.7834",
        "0 -2.2 -4 -3.2 -9.8 -1.2 -3.4 -5.2 -7.6 -3 -8.9 -9 -4.8 -5.7 -7.5 -1.9 -7.6 -12.2 -9.8 "
        "-11.4 -14.9 -9.2 -11.3",
    ),
    "C": (
        "0 .2099 .2219 .2329 .2176 .6366 .6448 .6560 .6584 .7935 .8213 .9336 1.2285 1.3083 2.1704 "
        "2.7105 4.2589 4.6003 5.4902 5.6077 6.3065 6.6374 7.0427 8.6523",
        "-4.4 -1.2 -3.5 -5.2 -2.5 0 -2.2 -3.9 -7.4 -7.1 -10.7 -11.1 -5.1 -6.8 -8.7 -13.2 -13.9 "
        "-13.9 -15.8 -17.1 -16 -15.7 -21.6 -22.8",
    ),
    "D": (
        "0 0 .035 .612 1.363 1.405 1.804 2.596 1.775 4.042 7.937 9.424 9.708 12.525",
        "-.2 -13.5 -18.8 -21 -22.8 -17.9 -20.1 -21.9 -22.9 -27.8 -23.6 -24.8 -30 -27.7",
    ),
    "E": (
        "0 0 .5133 .5440 .5630 .5440 .7112 1.9092 1.9293 1.9589 2.6426 3.7136 5.4524 12.0034 "
        "20.6519",
        "-.03 -22.03 -15.8 -18.1 -19.8 -22.9 -22.4 -18.6 -20.8 -22.6 -22.3 -25.6 -20.2 -29.8 -29.2",
    ),
}


@dataclass(frozen=True)
class Taps:
    """A tapped delay line: mean powers that add up to 1, the line of sight's apart."""

    delay: Float64[np.ndarray, "L"]  # over the delay spread
    power: Float64[np.ndarray, "L"]  # of each scattered tap
    sight: float  # power of the line of sight, at delay 0; 0 without one


@cache
def taps(profile: Profile) -> Taps:
    """The tapped delay line of that letter.

    Args:
        profile: A, B, C without, D, E with a line of sight.

    >>> len(taps("A").delay), round(taps("E").sight, 3)
    (23, 0.894)
    """
    if profile not in _TABLES:
        legal = ", ".join(_TABLES)
        raise BadInput(f"radio.profile = {quote(profile)}: must be one of {legal}")
    delay, decibel = (np.array(each.split(), float) for each in _TABLES[profile])
    power = 10.0 ** (decibel / 10.0)
    power /= power.sum()
    if profile in "ABC":
        return Taps(delay, power, 0.0)
    return Taps(delay[1:], power[1:], float(power[0]))


def frequencies(subchannels: int, spacing: float) -> Float64[np.ndarray, "{subchannels}"]:
    """f_m = (m − ⌊M/2⌋)·spacing [Hz], the middle of each sub-channel, about the carrier.

    Args:
        subchannels: M.
        spacing: from one to the next [Hz].

    >>> frequencies(4, 1e6)
    array([-2000000., -1000000.,        0.,  1000000.])
    """
    return (np.arange(subchannels) - subchannels // 2) * spacing


def response(
    amplitude: Complex128[np.ndarray, "*n L"],
    delay: Float64[np.ndarray, "*#n L"],
    frequency: Float64[np.ndarray, "M"],
) -> Complex128[np.ndarray, "*n M"]:
    """h_m = Σ_l a_l·e^{−2πj·f_m·τ_l}, paths as a channel over frequencies.

    Args:
        amplitude: a, of each path.
        delay: τ, of each path [s], the same for all rows or for each.
        frequency: f, about the carrier [Hz].

    >>> response(np.array([[1.0 + 0j, 1.0]]), np.array([0.0, 0.5]), np.array([0.0, 1.0])).real
    array([[2., 0.]])
    """
    turns = np.exp(-2j * np.pi * delay[..., None] * frequency)
    return np.asarray((amplitude[..., None] * turns).sum(axis=-2))  # row by row, as no product is

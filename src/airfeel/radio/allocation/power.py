"""Rates and slots of given powers, and water-filling row by row.

r_{n,m}, R_n and U_n of Sun et al. 2022, section III, and the arithmetic of eq. (5).
"""

import numpy as np
from jaxtyping import Float

from airfeel.types import BadInput

Array = np.ndarray


def single_rates(
    power: Float[Array, "n"], gain2: Float[Array, "n m"], noise: float
) -> Float[Array, "n m"]:
    """The rate of each device on each sub-channel, had it only that one and all its power on it.

    r_{n,m} = log2(1 + P̄_n|h_{n,m}|²/σ0²) [bits/slot] (Sun et al. 2022, section III).

    Args:
        power: power P̄_n of each device [W].
        gain2: |h|² of each device on each sub-channel.
        noise: noise variance σ0² [W].

    >>> single_rates(np.array([1.0, 3.0]), np.ones((2, 1)), 1.0)
    array([[1.],
           [2.]])
    """
    with np.errstate(over="ignore"):  # `check_radio` refuses what is not finite
        return np.asarray(np.log1p(power[:, None] * gain2 / noise) / np.log(2.0))


def rates(
    power: Float[Array, "n m"], gain2: Float[Array, "n m"], noise: float
) -> Float[Array, "n"]:
    """Bits that each device sends per slot: R_n = Σ_m log2(1 + P_{n,m}|h_{n,m}|²/σ0²), eq. (3).

    Args:
        power: power of each device on each sub-channel [W], 0 where it does not send.
        gain2: |h|² of each device on each sub-channel.
        noise: noise variance σ0² [W].

    >>> rates(np.array([[1.0, 3.0]]), np.ones((1, 2)), 1.0)
    array([3.])
    """
    snr: Array = power * gain2 / noise
    return np.asarray(np.log1p(snr).sum(axis=1) / np.log(2.0))


def needed_slots(rate: Float[Array, "n"], bits: Float[Array, "n"]) -> Float[Array, "n"]:
    """Slots of each device, ⌈bits/rate⌉; 0 without bits, ∞ where bits are due at no rate.

    U[l]_{t,n} of Sun et al. 2022, section III; U[l]_t is the largest of them.

    Args:
        rate: R_n of each device [bits/slot].
        bits: Q, what each device has to send [bits].

    >>> needed_slots(np.array([2.0, 2.0, 0.0, 0.0]), np.array([6.0, 7.0, 0.0, 1.0]))
    array([ 3.,  4.,  0., inf])
    """
    with np.errstate(divide="ignore", over="ignore"):
        slots = np.ceil(bits / np.where(bits > 0.0, rate, 1.0))
    return np.asarray(slots)


def best_rates(
    power: Float[Array, "r"], gain2: Float[Array, "r k"], noise: float
) -> Float[Array, "r"]:
    """The water-filled rate [bits/slot] of each row: one device's power and the gains it holds.

    R_n of eq. (3) with the powers of eq. (5).

    Args:
        power: power of each row's device [W].
        gain2: |h|² of the sub-channels that it holds, in any order.
        noise: noise variance σ0² [W].

    >>> best_rates(np.array([3.0]), np.array([[0.1, 1.0, 0.5]]), 1.0).round(2)
    array([2.17])
    """
    gain2 = -np.sort(-gain2, axis=1)
    return rates(fill_sorted(power, gain2, noise), gain2, noise)


def fill_sorted(
    power: Float[Array, "n"], gain2: Float[Array, "n k"], noise: float
) -> Float[Array, "n k"]:
    """Water-filling of each row, whose gains are sorted from the best to the worst.

    Heights are measured from the lowest floor and in units of the row's power:
    d_i = (noise/gain2_i − noise/gain2_1)/power. Every flooded floor then has d_i < 1, so the depths
    1/k·(1 + Σ d) − d_i lose nothing to cancellation however far the gains lie apart.

    Args:
        power: power of each row's device [W].
        gain2: |h|² of the sub-channels that it holds, in falling order.
        noise: noise variance σ0² [W].

    >>> fill_sorted(np.array([3.0]), np.array([[1.0, 0.5, 0.1]]), 1.0)
    array([[2., 1., 0.]])
    """
    if gain2.shape[1] == 0:
        return np.zeros(gain2.shape)
    best = gain2[:, :1]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        height = (best - gain2) / gain2 * (noise / (power[:, None] * best))
    height = np.where(gain2 == best, 0.0, height)
    count = np.arange(1, gain2.shape[1] + 1)
    # In a dry row (no power or no gain) nothing is flooded; NaN cannot pass the comparison.
    dry = (power[:, None] <= 0.0) | (best <= 0.0)
    total = np.cumsum(height, axis=1)
    wet = (1.0 + total > count * height) & (gain2 > 0.0) & ~dry
    last = np.maximum(wet.sum(axis=1, keepdims=True), 1)
    level = (1.0 + np.take_along_axis(total, last - 1, axis=1)) / last
    return np.where(wet, power[:, None] * np.maximum(level - np.where(wet, height, 0.0), 0.0), 0.0)


def check_radio(power: Float[Array, "n"], gain2: Float[Array, "n m"], noise: float) -> None:
    """Refuse powers, gains or noise that no radio has, by name."""
    check_amounts("power", power)
    check_amounts("gain2", gain2)
    if not 0.0 < noise < np.inf:
        raise BadInput(f"noise = {noise}: must be finite and above 0")
    if gain2.size:
        top = float(power.max()) * float(gain2.max()) / float(noise)
        if not top < np.inf:
            raise BadInput(f"power * gain2 / noise = {top}: must be finite")


def check_amounts(name: str, array: Float[Array, "..."]) -> None:
    """Refuse numbers that are negative or not finite."""
    if array.size and not (array.min() >= 0.0 and array.max() < np.inf):
        bad = array[~((array >= 0.0) & (array < np.inf))][0]
        raise BadInput(f"{name} holds {bad}: must be finite and at least 0")

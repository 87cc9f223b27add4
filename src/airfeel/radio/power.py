"""Power of each device over its sub-channels: water-filling in closed form, and the rates."""

import numpy as np
from jaxtyping import Float, Int

from airfeel.radio import native
from airfeel.types import BadInput

Array = np.ndarray


def water_filling(power: float, gain2: Float[Array, "k"], noise: float) -> Float[Array, "k"]:
    """The split of one device's power over its sub-channels that maximises its rate.

    Maximises Σ log2(1 + p_m·gain2_m/noise) subject to Σ p_m = power, p ≥ 0; the answer is
    p_m = max(level − noise/gain2_m, 0) (Sun et al. 2022, Algorithm 2). A zero gain gets nothing,
    and if every gain is zero nothing is spent.

    Args:
        power: total power of the device [W].
        gain2: |h|² of its sub-channels.
        noise: noise variance σ0² [W].

    >>> water_filling(3.0, np.array([1.0, 0.5, 0.1]), 1.0)
    array([2., 1., 0.])
    """
    check_radio(np.array([power], dtype=float), gain2[None], noise)
    order = np.argsort(-gain2, kind="stable")
    filled = np.empty(gain2.size)
    filled[order] = _fill_sorted(np.array([power], dtype=float), gain2[None, order], noise)[0]
    return filled


def water_fill_all(
    power: Float[Array, "n"], gain2: Float[Array, "n m"], noise: float, owner: Int[Array, "m"]
) -> Float[Array, "n m"]:
    """Water-filling of every device over the sub-channels it owns; all other entries are 0.

    Args:
        power: total power of each device [W].
        gain2: |h|² of each device on each sub-channel.
        noise: noise variance σ0² [W].
        owner: device that owns each sub-channel, −1 for none.
    """
    check_radio(power, gain2, noise)
    check_owner(owner, *gain2.shape)
    return fill_legal(power, gain2, noise, owner)


def fill_legal(
    power: Float[Array, "n"], gain2: Float[Array, "n m"], noise: float, owner: Int[Array, "m"]
) -> Float[Array, "n m"]:
    """`water_fill_all` of what has been checked."""
    if kernel := native.kernel():
        return native.fill(kernel, power, gain2, noise, owner)
    power, gain2 = np.asarray(power, dtype=np.float64), np.asarray(gain2, dtype=np.float64)
    column = np.flatnonzero(owner >= 0)
    who = owner[column]
    order = np.lexsort((-gain2[who, column], who))
    column, who = column[order], who[order]
    held = np.bincount(who, minlength=power.size)
    place = np.arange(who.size) - (np.cumsum(held) - held)[who]
    # One row for each device, best gain first; the padding has zero gain and so gets no power.
    rows = np.zeros((power.size, int(held.max(initial=0))))
    rows[who, place] = gain2[who, column]
    filled = np.zeros(gain2.shape)
    filled[who, column] = _fill_sorted(power, rows, noise)[who, place]
    return filled


def equal_power_all(power: Float[Array, "n"], owner: Int[Array, "m"]) -> Float[Array, "n m"]:
    """Every device's power in equal shares over the sub-channels it owns; all else is 0."""
    check_owner(owner, power.size, owner.size)
    column = np.flatnonzero(owner >= 0)
    who = owner[column]
    share = np.zeros((power.size, owner.size))
    share[who, column] = power[who] / np.bincount(who, minlength=power.size)[who]
    return share


def rates(
    power: Float[Array, "n m"], gain2: Float[Array, "n m"], noise: float
) -> Float[Array, "n"]:
    """Bits that each device sends in a slot: R_n = Σ_m log2(1 + P_{n,m}|h_{n,m}|²/σ0²)."""
    snr: Array = power * gain2 / noise
    return np.asarray(np.log1p(snr).sum(axis=1) / np.log(2.0))


def needed_slots(rate: Float[Array, "n"], bits: Float[Array, "n"]) -> Float[Array, "n"]:
    """Slots of each device, ⌈bits/rate⌉; 0 without bits, ∞ where bits are due at no rate."""
    with np.errstate(divide="ignore", over="ignore"):
        slots = np.ceil(bits / np.where(bits > 0.0, rate, 1.0))
    return np.asarray(slots)


def best_rates(
    power: Float[Array, "r"], gain2: Float[Array, "r k"], noise: float
) -> Float[Array, "r"]:
    """The water-filled rate [bits/slot] of each row: one device's power and the gains it holds."""
    gain2 = -np.sort(-gain2, axis=1)
    return rates(_fill_sorted(power, gain2, noise), gain2, noise)


def _fill_sorted(
    power: Float[Array, "n"], gain2: Float[Array, "n k"], noise: float
) -> Float[Array, "n k"]:
    """Water-filling of each row, whose gains are sorted from the best to the worst.

    Heights are measured from the lowest floor and in units of the row's power:
    d_i = (noise/gain2_i − noise/gain2_1)/power. Every flooded floor then has d_i < 1, so the depths
    1/k·(1 + Σ d) − d_i lose nothing to cancellation however far the gains lie apart.
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
    check_shapes(power, gain2)
    for name, array in (("power", power), ("gain2", gain2)):
        if array.size and not (array.min() >= 0.0 and array.max() < np.inf):
            bad = array[~((array >= 0.0) & (array < np.inf))][0]
            raise BadInput(f"{name} holds {bad}: must be finite and at least 0")
    if not 0.0 < noise < np.inf:
        raise BadInput(f"noise = {noise}: must be finite and above 0")
    if gain2.size:
        top = float(power.max()) * float(gain2.max()) / float(noise)
        if not top < np.inf:
            raise BadInput(f"power * gain2 / noise = {top}: must be finite")


def check_shapes(power: Float[Array, "n"], gain2: Float[Array, "n m"]) -> None:
    """Refuse powers and gains that are not of the same devices."""
    if gain2.ndim != 2 or power.shape != gain2.shape[:1]:
        shapes = f"power has shape {power.shape} and gain2 {gain2.shape}"
        raise BadInput(f"{shapes}: must be (n,) and (n, m)")


def check_owner(owner: Int[Array, "m"], devices: int, channels: int) -> None:
    """Refuse an owner that is neither a device nor −1 (nobody)."""
    if owner.shape != (channels,):
        raise BadInput(f"owner has shape {owner.shape}: must be ({channels},)")
    if owner.size and not (owner.min() >= -1 and owner.max() < devices):
        bad = owner[(owner < -1) | (owner >= devices)][0]
        raise BadInput(f"owner holds {bad}: must be -1 or a device below {devices}")

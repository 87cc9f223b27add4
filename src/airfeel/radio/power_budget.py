"""The power that devices have left, and the energy that they may spend in the air."""

import numpy as np
from jaxtyping import Float64

from airfeel.radio.allocation.rounding import SPENT
from airfeel.types import BadInput, Turn


def remaining_power(
    limit: Float64[np.ndarray, "N"], spent: Float64[np.ndarray, "N"], slots: float, used: int
) -> Float64[np.ndarray, "N"]:
    """P̄_{t,n} = (C·P̄_n − spent_n)/(C − slots used) [W] (section III); P̄_n where C is unlimited.

    What is left but for rounding is not left: a device that has spent everything stays silent.

    Args:
        limit: P̄_n, average power limit of each device [W].
        spent: energy that each has spent so far [W·slots].
        slots: C, of the whole training; may be infinite.
        used: slots used so far.

    >>> remaining_power(np.array([2.0]), np.array([60.0]), slots=100, used=50)
    array([2.8])
    """
    if np.isinf(slots):
        return limit
    if used >= slots:
        return np.zeros_like(limit)
    whole = slots * limit
    return np.where(spent < whole * SPENT, whole - spent, 0.0) / (slots - used)


def power_left(turn: Turn) -> Float64[np.ndarray, "N"]:
    """P̄_{t,n}, each device's remaining average power in this round [W]: see `remaining_power`."""
    world, state = turn.world, turn.state
    return remaining_power(world.power, state.spent, world.slots, state.slots)


def allowed_energy(
    alpha: float | tuple[float, ...] | Float64[np.ndarray, "N"],
    power: Float64[np.ndarray, "N"],
    slots_air: int,
) -> Float64[np.ndarray, "N"]:
    """α_n·P̄_{t,n}·U[g] in W·slots: a device transmits iff it needs no more (section III).

    Args:
        alpha: α, aggressiveness, one number or one for each device; 1 is the paper's.
        power: P̄_{t,n}, remaining average power of each device [W], see `power_left`.
        slots_air: U[g], slots of the analog part.

    >>> allowed_energy(2.0, np.array([0.5, 1.0]), 10)
    array([10., 20.])
    """
    factor = np.asarray(alpha)
    if factor.ndim and factor.shape != power.shape:
        raise BadInput(f"alpha has {len(factor)} values: must be one, or one for each device")
    return np.asarray(factor * power * slots_air)

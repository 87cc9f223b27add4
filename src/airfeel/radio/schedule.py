"""Who may speak: power left over, who is invited to train, and the paper's power rule."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from airfeel.types import Fading, State, World


def remaining_power(
    limit: Float64[np.ndarray, "N"], spent: Float64[np.ndarray, "N"], slots: float, used: int
) -> Float64[np.ndarray, "N"]:
    """P̄_{t,n} = (C·P̄_n − spent_n)/(C − slots used) [W]; P̄_n itself where C is unlimited.

    >>> remaining_power(np.array([2.0]), np.array([60.0]), slots=100, used=50)
    array([2.8])
    """
    if np.isinf(slots):
        return limit
    if used >= slots:
        return np.zeros_like(limit)
    return np.maximum(slots * limit - spent, 0.0) / (slots - used)


def power_left(world: World, state: State) -> Float64[np.ndarray, "N"]:
    """Each device's remaining average power in this round [W]."""
    return remaining_power(world.power, state.spent, world.slots, state.slots)


@dataclass(frozen=True)
class Everyone:
    """Invites every device that has power left."""

    def __call__(
        self, world: World, state: State, fading: Fading, *, rng: np.random.Generator
    ) -> Bool[np.ndarray, "N"]:
        return power_left(world, state) > 0.0


@dataclass(frozen=True)
class RandomDevices:
    """Invites `count` devices, uniformly at random among those with power left."""

    count: int

    def __call__(
        self, world: World, state: State, fading: Fading, *, rng: np.random.Generator
    ) -> Bool[np.ndarray, "N"]:
        key = rng.random(world.devices)
        able = power_left(world, state) > 0.0
        invited = np.zeros(world.devices, dtype=bool)
        invited[np.argsort(np.where(able, key, np.inf), kind="stable")[: self.count]] = True
        return invited & able

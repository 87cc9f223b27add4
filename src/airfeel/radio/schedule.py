"""Who is invited to train: the power that is left over, and one small part for each policy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from airfeel.types import Fading, Invite, Plan, State, World


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
        return lowest(rng.random(world.devices), self.count, power_left(world, state))


@dataclass(frozen=True)
class RoundRobin:
    """Invites `count` devices, who take turns in the order of their ids."""

    count: int

    def __call__(
        self, world: World, state: State, fading: Fading, *, rng: np.random.Generator
    ) -> Bool[np.ndarray, "N"]:
        first = state.round * self.count
        wait = (np.arange(world.devices) - first) % world.devices
        return lowest(wait, self.count, power_left(world, state))


@dataclass(frozen=True)
class BestChannel:
    """Invites the `count` devices that could send most over all sub-channels."""

    count: int

    def __call__(
        self, world: World, state: State, fading: Fading, *, rng: np.random.Generator
    ) -> Bool[np.ndarray, "N"]:
        power = power_left(world, state)
        return lowest(-capacity(power, fading), self.count, power)


@dataclass(frozen=True)
class ProportionalFair:
    """Invites the `count` devices of largest rate over the share of late rounds they were heard in.

    All devices send the same number of bits when they are heard, so that the share stands for the
    mean throughput of the usual rule. It is kept in the state, see `remember`.
    """

    count: int

    def __call__(
        self, world: World, state: State, fading: Fading, *, rng: np.random.Generator
    ) -> Bool[np.ndarray, "N"]:
        power = power_left(world, state)
        share = state.policy["heard"] + 1e-3
        return lowest(-capacity(power, fading) / share, self.count, power)


def fresh_policy(devices: int) -> dict[str, np.ndarray]:
    """What schedulers remember before the first round."""
    return {"heard": np.zeros(devices), "gap": np.array(np.nan)}


def remember(policy: Mapping[str, np.ndarray], plan: Plan) -> dict[str, np.ndarray]:
    """The share of late rounds in which each device was heard, forgetting a tenth every round, and
    the largest gap to a proven bound that the allocator ever left."""
    return {
        "heard": 0.9 * policy["heard"] + 0.1 * plan.active,
        "gap": np.asarray(np.fmax(policy["gap"], plan.gap)),
    }


def capacity(power: Float64[np.ndarray, "N"], fading: Fading) -> Float64[np.ndarray, "N"]:
    """Bits a slot that each device could send with all sub-channels, its power in equal shares."""
    snr = power[:, None] * fading.gain2 / (fading.noise * fading.gain.shape[1])
    return np.asarray(np.log1p(snr).sum(axis=1) / np.log(2.0))


def lowest(
    key: Float64[np.ndarray, "N"] | Int64[np.ndarray, "N"],
    count: int,
    power: Float64[np.ndarray, "N"],
) -> Bool[np.ndarray, "N"]:
    """The `count` devices of smallest key among those with power; ties to the lower index."""
    able = power > 0.0
    invited = np.zeros(len(power), dtype=bool)
    invited[np.argsort(np.where(able, key, np.inf), kind="stable")[:count]] = True
    return invited & able


# Who is invited to train, given how many. `power` and `all` differ in the plan that follows.
SCHEDULERS: dict[str, Callable[[int], Invite]] = {
    "power": lambda count: Everyone(),
    "all": lambda count: Everyone(),
    "random": RandomDevices,
    "round-robin": RoundRobin,
    "best-channel": BestChannel,
    "proportional-fair": ProportionalFair,
}

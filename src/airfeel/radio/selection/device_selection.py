"""Who trains in a round: one small part for each policy."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from jaxtyping import Bool, Float64, Int64

from airfeel.radio.power_budget import power_left
from airfeel.ranges import Count, Positive, Share, about
from airfeel.types import BadInput, Fading, Happened, Invited, Turn

_Scheduled = Annotated[Count, about("devices that are invited per round")]


@dataclass(frozen=True)
class Everyone:
    """Invites every device that has power left."""

    blind: ClassVar[bool] = True  # does not read the sky

    def __call__(self, turn: Turn, fading: Fading) -> Invited:
        return Invited(power_left(turn) > 0.0)


@dataclass(frozen=True)
class Anyone:
    """Invites every device, with or without power: for schemes that cost nothing."""

    blind: ClassVar[bool] = True  # does not read the sky

    def __call__(self, turn: Turn, fading: Fading) -> Invited:
        return Invited(np.ones(turn.world.devices, dtype=bool))


@dataclass(frozen=True)
class RandomDevices:
    """Invites `scheduled` devices, uniformly at random among those with power left."""

    scheduled: _Scheduled
    blind: ClassVar[bool] = True  # does not read the sky

    def __call__(self, turn: Turn, fading: Fading) -> Invited:
        key = turn.rng("invite").random(turn.world.devices)
        return Invited(lowest(key, self.scheduled, power_left(turn)))


@dataclass(frozen=True)
class RoundRobin:
    """Invites `scheduled` devices, who take turns in the order of their ids."""

    scheduled: _Scheduled
    blind: ClassVar[bool] = True  # does not read the sky

    def __call__(self, turn: Turn, fading: Fading) -> Invited:
        first = turn.state.round * self.scheduled
        wait = (np.arange(turn.world.devices) - first) % turn.world.devices
        return Invited(lowest(wait, self.scheduled, power_left(turn)))


@dataclass(frozen=True)
class BestChannel:
    """Invites the `scheduled` devices that could send most over all sub-channels."""

    scheduled: _Scheduled

    def __call__(self, turn: Turn, fading: Fading) -> Invited:
        power = power_left(turn)
        return Invited(lowest(-capacity(power, fading), self.scheduled, power))


@dataclass(frozen=True)
class PfSnr:
    """Invites the `scheduled` devices of largest mean_m γ: of best channels for their own mean.

    Proportional fairness by the ratio of present to mean signal-to-noise (Yang et al. 2019,
    arXiv:1908.06287); `proportional-fair` here divides by the share of rounds heard instead.
    """

    scheduled: _Scheduled

    def __call__(self, turn: Turn, fading: Fading) -> Invited:
        return Invited(lowest(-fading.relative.mean(axis=1), self.scheduled, power_left(turn)))


@dataclass(frozen=True)
class Interior:
    """Invites the share of devices of largest mean gain: those near the base station.

    Zhu, Wang, Huang 2020 (arXiv:1812.11494): fewer devices, and a louder weakest one among them.
    """

    share: Annotated[Share, about("share of devices that are invited, strongest first")] = 0.5
    alternating: Annotated[bool, about("invite all devices in every other round")] = False
    blind: ClassVar[bool] = True  # reads means, not the sky of a round

    def __call__(self, turn: Turn, fading: Fading) -> Invited:
        power = power_left(turn)
        if fading.mean2 is None:
            raise BadInput("scheme.invite = 'interior': the sky tells no mean gains")
        if self.alternating and turn.round % 2 == 0:
            return Invited(power > 0.0)
        count = max(1, round(self.share * len(power)))
        return Invited(lowest(-fading.mean2, count, power))


@dataclass(frozen=True)
class ProportionalFair:
    """Invites the `scheduled` devices of largest rate over the share of rounds they were heard in.

    All devices send the same number of bits when they are heard, so that the share stands for the
    mean throughput of the usual rule. Carried as `heard` [N], an exponential mean over rounds.
    """

    scheduled: _Scheduled
    forget: Annotated[Share, about("weight of the last round in the share")] = 0.1
    floor: Annotated[Positive, about("added to the share, so that newcomers can be compared")] = (
        1e-3
    )

    def __call__(self, turn: Turn, fading: Fading) -> Invited:
        power = power_left(turn)
        share = np.asarray(turn.state_of(self)["heard"]) + self.floor
        return Invited(lowest(-capacity(power, fading) / share, self.scheduled, power))

    def begin(self, turn: Turn) -> Mapping[str, np.ndarray]:
        """Nobody was heard yet."""
        return {"heard": np.zeros(turn.world.devices)}

    def advance(self, turn: Turn, happened: Happened) -> Mapping[str, np.ndarray]:
        """The share with this round in it."""
        before = np.asarray(turn.state_of(self)["heard"])
        return {"heard": (1.0 - self.forget) * before + self.forget * happened.plan.active}


def capacity(power: Float64[np.ndarray, "N"], fading: Fading) -> Float64[np.ndarray, "N"]:
    """Σ_m log2(1 + P̄|h|²/(M·σ0²)) [bits/slot]: all sub-channels, the power in equal shares.

    Args:
        power: P̄ of each device [W].
        fading: gains |h| [N M] as they are believed, and noise σ0² [W].

    >>> capacity(np.array([2.0]), Fading(np.array([[1.0, 1.0]]), 1.0))
    array([2.])
    """
    snr = power[:, None] * fading.gain2 / (fading.floor * fading.gain.shape[1])
    return np.asarray(np.log1p(snr).sum(axis=1) / np.log(2.0))


def lowest(
    key: Float64[np.ndarray, "N"] | Int64[np.ndarray, "N"],
    count: int,
    power: Float64[np.ndarray, "N"],
) -> Bool[np.ndarray, "N"]:
    """The `count` devices of smallest key among those with power; ties to the lower index.

    Args:
        key: what devices are ranked by, in any unit.
        count: how many are invited, at most.
        power: remaining average power of each device [W]; who has none is not invited.

    >>> lowest(np.array([3.0, 1.0, 2.0]), 2, np.array([1.0, 0.0, 1.0]))
    array([ True, False,  True])
    """
    able = power > 0.0
    invited = np.zeros(len(power), dtype=bool)
    invited[np.argsort(np.where(able, key, np.inf), kind="stable")[:count]] = True
    return invited & able

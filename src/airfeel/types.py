"""The nouns that pass between rooms, and the Protocols of parts and engines.

Arrays of the learning side (model vectors, payloads) are torch tensors in the run's dtype; arrays
of the radio side (gains, powers, rates) are NumPy float64. Shapes: N devices, n of them invited,
D model dimension, K global mask, L local mask, M sub-channels, G digital batches.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Float64, Int, Int64
from torch import Tensor


class BadInput(ValueError):
    """Input that cannot be used: one line naming the field, its value and what is legal."""


Schedule = float | tuple[float, ...]  # one number, or one for each round from 1 on


def at_round(value: Schedule, round: int) -> float:
    """A setting's value in a round; the starting round 0 uses the first, the last one stays.

    >>> at_round((0.3, 0.1), 2), at_round((0.3, 0.1), 9), at_round(0.5, 9)
    (0.1, 0.1, 0.5)
    """
    if isinstance(value, tuple):
        return value[min(max(round - 1, 0), len(value) - 1)]
    return value


class Reason(StrEnum):
    """Why a device spoke, or why it did not."""

    SCHEDULED = "scheduled"
    NOT_INVITED = "not-invited"
    NO_POWER = "no-power-left"
    TOO_LOUD = "needs-too-much-power"
    NO_ENERGY = "energy-does-not-fit"
    NO_CHANNEL = "no-usable-channel"
    NOT_FINITE = "update-not-finite"
    DROPPED = "dropped-by-scheduler"


@dataclass(frozen=True)
class Dataset:
    """Samples as they are stored; a model sees (x - shift) * scale by channel."""

    name: str
    train_x: Tensor  # [S C H W], uint8 for images, float for synthetic data
    train_y: Tensor  # [S] int64 class, or float where classes == 0 (regression)
    test_x: Tensor  # [E C H W]
    test_y: Tensor  # [E]
    classes: int
    shift: Tensor  # [C] float64
    scale: Tensor  # [C] float64

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of one sample."""
        channels, height, width = self.train_x.shape[1:]
        return channels, height, width

    def inputs(self, x: Tensor, dtype: Any) -> Tensor:
        """What a model sees of stored samples `x`."""
        shift, scale = (v.to(dtype).view(1, -1, 1, 1) for v in (self.shift, self.scale))
        return (x.to(dtype) - shift) * scale


@dataclass(frozen=True)
class World:
    """What never changes in a run."""

    model: Any  # learn.flat.FlatModel; this file imports no room
    data: Dataset
    shards: tuple[Int64[np.ndarray, "_"], ...]  # sample indices of each device
    subchannels: int
    power: Float64[np.ndarray, "N"]  # average power limit of each device [W]
    slots: float = float("inf")  # uplink slots for the whole training

    @property
    def devices(self) -> int:
        return len(self.shards)

    @property
    def dim(self) -> int:
        return int(self.model.dim)


@dataclass(frozen=True)
class State:
    """All that survives a round, but for the error memory, which the engine holds."""

    round: int
    theta: Float[Tensor, "D"]
    update: Float[Tensor, "D"]  # the last non-idle global update
    support: Int64[Tensor, "K"]  # the last global mask; empty before the first round
    spent: Float64[np.ndarray, "N"]  # energy spent by each device [W·slots]
    slots: int = 0
    idle: int = 0  # idle rounds in a row
    policy: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Payload:
    """What each invited device would say."""

    devices: Int64[np.ndarray, "n"]  # ids, increasing
    finite: Bool[np.ndarray, "n"]
    support: Int64[Tensor, "K"]  # the global mask
    common: Float[Tensor, "n K"]  # the global part
    index: Int64[Tensor, "n L"]  # the local masks
    value: Float[Tensor, "n L"]  # the quantised local parts
    energy: Float64[np.ndarray, "n M"]  # squared norm of each segment of the global part
    bits: float  # digital bits of one device
    loss: Float64[np.ndarray, "n"]  # mean mini-batch loss


@dataclass(frozen=True)
class Fading:
    """One draw of the sky."""

    gain: Float64[np.ndarray, "N M"]  # |h|, constant during the round
    noise: float  # variance for one received element

    @property
    def gain2(self) -> Float64[np.ndarray, "N M"]:
        return np.square(self.gain)


@dataclass(frozen=True)
class Plan:
    """Who speaks, where, how loud, and why not. Holds no dice."""

    active: Bool[np.ndarray, "N"]
    reason: tuple[Reason, ...]
    batch: Int[np.ndarray, "N"]  # digital batch of each device, -1 for none
    owner: Int[np.ndarray, "G M"]  # device that owns each sub-channel in each batch, -1 for none
    power: Float64[np.ndarray, "N M"]  # digital transmit power [W]
    rate: Float64[np.ndarray, "N"]  # digital rate [bits/slot]
    slots_air: int
    slots_digital: int
    scalar: float  # analog power scalar; 0 where nothing is analog
    needed: Float64[np.ndarray, "N"]  # analog energy asked for [W·slots]; NaN where unknown
    budget: Float64[np.ndarray, "N"]  # analog energy allowed [W·slots]; NaN where unknown
    gap: float = float("nan")  # digital slots over a proven bound, less 1; NaN where none is known

    @property
    def slots(self) -> int:
        return self.slots_air + self.slots_digital


@dataclass(frozen=True)
class Received:
    """All that the base station holds after the uplink."""

    support: Int64[Tensor, "K"]
    common: Float[Tensor, "K"]  # sum of the global parts, with noise where it came by air
    index: Int64[Tensor, "n L"]
    value: Float[Tensor, "n L"]
    count: int


@dataclass(frozen=True)
class Costs:
    """What a round's uplink cost."""

    slots_air: int
    slots_digital: int
    bits: float  # of all scheduled devices
    energy: Float64[np.ndarray, "N"]  # [W·slots]

    @property
    def slots(self) -> int:
        return self.slots_air + self.slots_digital


@dataclass(frozen=True)
class Report:
    """One round, as the books see it."""

    round: int
    fading: Fading
    plan: Plan
    costs: Costs
    update_norm: float
    distortion: float  # NaN unless asked for
    mask_overlap: float  # NaN without a mask before
    train_loss: float


@runtime_checkable
class Fade(Protocol):
    def __call__(self, world: World, round: int, *, rng: np.random.Generator) -> Fading: ...


@runtime_checkable
class Invite(Protocol):
    def __call__(
        self, world: World, state: State, fading: Fading, *, rng: np.random.Generator
    ) -> Bool[np.ndarray, "N"]: ...


@runtime_checkable
class Learn(Protocol):
    @property
    def dice(self) -> int: ...
    @property
    def block(self) -> int: ...
    def __call__(
        self,
        world: World,
        theta: Float[Tensor, "D"],
        devices: Int64[np.ndarray, "n"],
        round: int,
        dice: Float64[np.ndarray, "n W"],
    ) -> tuple[Float[Tensor, "n D"], Float64[np.ndarray, "n"]]: ...


@runtime_checkable
class Compress(Protocol):
    @property
    def dice(self) -> int: ...
    @property
    def bits(self) -> float: ...
    def support(self, update: Float[Tensor, "D"]) -> Int64[Tensor, "K"]: ...
    def __call__(
        self,
        x: Float[Tensor, "*n D"],
        support: Int64[Tensor, "K"],
        dice: Float64[np.ndarray, "*n W"],
    ) -> tuple[Float[Tensor, "*n K"], Int64[Tensor, "*n L"], Float[Tensor, "*n L"]]: ...


@runtime_checkable
class MakePlan(Protocol):
    def __call__(self, world: World, state: State, payload: Payload, fading: Fading) -> Plan: ...


@runtime_checkable
class Transmit(Protocol):
    def __call__(
        self, payload: Payload, fading: Fading, plan: Plan, *, rng: np.random.Generator
    ) -> Received: ...


@runtime_checkable
class Aggregate(Protocol):
    def __call__(self, received: Received, dim: int) -> Float[Tensor, "D"]: ...


@dataclass(frozen=True)
class Scheme:
    """An algorithm: seven parts."""

    name: str
    fade: Fade
    invite: Invite
    learn: Learn
    compress: Compress
    plan: MakePlan
    transmit: Transmit
    aggregate: Aggregate


@runtime_checkable
class Dice(Protocol):
    """Named streams of random numbers: see airfeel.streams."""

    def rng(self, room: str, round: int = 0) -> np.random.Generator: ...
    def uniform(
        self, room: str, round: int, devices: Int64[np.ndarray, "n"], width: int
    ) -> Float64[np.ndarray, "n {width}"]: ...


@runtime_checkable
class Engine(Protocol):
    """Where devices are trained. It owns their error memory, and never changes a result."""

    def prepare(
        self,
        learn: Learn,
        compress: Compress,
        state: State,
        invited: Bool[np.ndarray, "N"],
        streams: Dice,
    ) -> Payload: ...
    def ideal(self, active: Bool[np.ndarray, "N"]) -> Float[Tensor, "D"]: ...
    def commit(self, active: Bool[np.ndarray, "N"]) -> None: ...
    def evaluate(self, theta: Float[Tensor, "D"]) -> tuple[float, float]: ...
    def close(self) -> None: ...

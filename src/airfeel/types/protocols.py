"""The Protocols of parts and engines, the context that they share, and a scheme made of parts."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from airfeel.types.fading import Fading
from airfeel.types.nouns import (
    Agreed,
    Decoded,
    Delivery,
    Happened,
    Invited,
    Plan,
    Reading,
    Received,
    Said,
    State,
    Words,
)
from airfeel.types.states import Arrays, ComponentStates
from airfeel.types.world import World


@runtime_checkable
class Dice(Protocol):
    """Named streams of random numbers: see airfeel.streams."""

    def rng(self, room: str, round: int = 0) -> np.random.Generator: ...
    def uniform(
        self, room: str, round: int, devices: Int64[np.ndarray, "n"], width: int
    ) -> Float64[np.ndarray, "n {width}"]: ...


@dataclass(frozen=True)
class Turn:
    """The context of one round: the world, the state before it, and the dice.

    Where devices are trained elsewhere, `state` there holds the model and the round, no carry.
    """

    world: World  # what never changes
    state: State  # after the last round
    streams: Dice  # random numbers by room, round and device

    @property
    def round(self) -> int:
        """t, the number of the round that is played."""
        return self.state.round + 1

    def rng(self, room: str) -> np.random.Generator:
        """The generator of a room in this round: whoever names the room gets the same numbers."""
        return self.streams.rng(room, self.round)

    def state_of(self, component: object) -> Arrays:
        """Return what a component keeps from round to round, by its own names.

        A component reads its own state by `turn.state_of(self)`, whatever others keep.
        """
        carry = self.state.carry
        return carry.of(component) if isinstance(carry, ComponentStates) else carry

    def published(self, name: str) -> np.ndarray | Tensor | None:
        """Return an array that another component `publishes`; None where none does."""
        carry = self.state.carry
        return carry.published(name) if isinstance(carry, ComponentStates) else carry.get(name)

    def within(self, path: str) -> "Turn":
        """Return the round as the component at a path sees it: its own states come first."""
        carry = self.state.carry
        if not isinstance(carry, ComponentStates):
            return self
        return replace(self, state=replace(self.state, carry=carry.within(path)))


@runtime_checkable
class Fade(Protocol):
    """The sky of a round."""

    def __call__(self, turn: Turn) -> Fading: ...


@runtime_checkable
class Invite(Protocol):
    """Who trains in a round, and what each may send where that is granted beforehand."""

    def __call__(self, turn: Turn, fading: Fading) -> Invited: ...


@runtime_checkable
class Learn(Protocol):
    """Local training: updates Δ [n D] and the mean mini-batch loss [n] of some devices.

    dice: uniforms that one device needs. block: how many devices one call should have, at most.
    """

    @property
    def dice(self) -> int: ...
    @property
    def block(self) -> int: ...
    def __call__(
        self, turn: Turn, devices: Int64[np.ndarray, "n"], dice: Float64[np.ndarray, "n W"]
    ) -> tuple[Float[Tensor, "n D"], Float64[np.ndarray, "n"]]: ...


@runtime_checkable
class Mask(Protocol):
    """The entries of the model that all devices send in a round: sorted indices."""

    def __call__(self, turn: Turn, k: int) -> Int64[Tensor, "{k}"]: ...


@runtime_checkable
class Memory(Protocol):
    """What devices keep of what they could not say, in [N D] buffers that the engine holds.

    buffers: their names. in_place: whether the first of them may be x itself in `remember`.
    `compensate` writes x and tells which rows are finite; others are left well-formed, and are
    never sent. `remember` is called at commit only, for the rows that `changes` names; `places` are
    their rows in the buffers.
    """

    @property
    def buffers(self) -> tuple[str, ...]: ...
    @property
    def in_place(self) -> bool: ...
    def compensate(
        self,
        delta: Float[Tensor, "n D"],
        held: Mapping[str, Float[Tensor, "_ D"]],
        places: Int64[np.ndarray, "n"],
        x: Float[Tensor, "n D"],
    ) -> Bool[np.ndarray, "n"]: ...
    def changes(self, said: Said, delivery: Delivery) -> Int64[np.ndarray, "_"]: ...
    def remember(
        self,
        x: Float[Tensor, "n D"],
        said: Said,
        delivery: Delivery,
        rows: Int64[np.ndarray, "r"],
        held: Mapping[str, Float[Tensor, "_ D"]],
        places: Int64[np.ndarray, "r"],
    ) -> None: ...


@runtime_checkable
class Codec(Protocol):
    """How updates become words and words become an update: one part with two faces.

    `agree` is called once per round, `encode` for some devices at a time, wherever these are
    trained, `decode` at the base station. `encode` is handed the grants of all N devices, so that
    rows are equally wide wherever they are made.

    dice: uniforms that one device needs. columns: names of the notes of `decode` that rows of the
    run are to show.
    """

    @property
    def memory(self) -> Memory: ...
    @property
    def dice(self) -> int: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    def agree(self, turn: Turn) -> Agreed: ...
    def encode(
        self,
        x: Float[Tensor, "n D"],
        agreed: Agreed,
        devices: Int64[np.ndarray, "n"],
        dice: Float64[np.ndarray, "n W"],
        grant: Float64[np.ndarray, "N *g"] | None = None,
    ) -> Words: ...
    def decode(self, turn: Turn, agreed: Agreed, received: Received) -> Decoded: ...


@runtime_checkable
class MakePlan(Protocol):
    """Who speaks, where, how loud on which sub-channel, and why not."""

    def __call__(self, turn: Turn, said: Said, fading: Fading) -> Plan: ...


@runtime_checkable
class Screen(Protocol):
    """Whom a plan keeps of those who may speak, before anything else is looked at."""

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, able: Bool[np.ndarray, "N"]
    ) -> Bool[np.ndarray, "N"]: ...


@runtime_checkable
class Transmit(Protocol):
    """The channel: what the base station holds, and what of it devices know to have arrived."""

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, plan: Plan
    ) -> tuple[Received, Delivery]: ...


@runtime_checkable
class Step(Protocol):
    """The server's optimiser: how the model moves, given ĝ. Not called in an idle round."""

    def __call__(self, turn: Turn, decoded: Decoded) -> Float[Tensor, "D"]: ...


@runtime_checkable
class Meter(Protocol):
    """A cost beside the uplink's: columns that it always fills, and slots or energy that count.

    Slots that do not fit into the budget discard the round. Energy is charged after the plan was
    made: it lowers what is left for later rounds, and no plan foresees it.
    """

    @property
    def columns(self) -> tuple[str, ...]: ...
    def __call__(
        self, turn: Turn, said: Said, fading: Fading, plan: Plan, delivery: Delivery
    ) -> Reading: ...


@runtime_checkable
class Carries(Protocol):
    """A part that remembers: its arrays lie in `state.carry`, under its path in the scheme.

    `begin` gives them before the first round, whose `turn.state.update` is ĝ_0 (and again, for
    their kinds alone, where a run is resumed); `advance` after each round, idle ones too. Both
    return all of them; the old ones are `turn.state_of(self)`. Names are the component's own.
    Arrays that other components may read, by `turn.published(name)`, are listed in `publishes`.
    """

    def begin(self, turn: Turn) -> Mapping[str, np.ndarray | Tensor]: ...
    def advance(self, turn: Turn, happened: Happened) -> Mapping[str, np.ndarray | Tensor]: ...


@dataclass(frozen=True)
class Scheme:
    """An algorithm: seven parts, and meters of what else it costs."""

    name: str  # in messages and reports
    fade: Fade  # draws the sky
    invite: Invite  # says who trains
    learn: Learn  # trains locally
    codec: Codec  # turns updates into words, and words into ĝ
    plan: MakePlan  # says who speaks, where and how loud
    transmit: Transmit  # carries words over the channel
    step: Step  # moves the model by ĝ
    meters: tuple[Meter, ...] = ()  # read further costs

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that its rows have beside the usual ones."""
        return (*(name for meter in self.meters for name in meter.columns), *self.codec.columns)

    @cached_property
    def remembering(self) -> dict[str, Carries]:
        """Return all components that keep a state by their path, each once: `plan.screen`."""
        found: dict[int, tuple[str, Carries]] = {}
        for path, part in _within(self):
            if isinstance(part, Carries):
                found.setdefault(id(part), (path, part))
        return dict(found.values())


def _within(part: object, path: str = "") -> Iterator[tuple[str, object]]:
    """A part and all that is within it, each with its path."""
    yield path, part
    inner: Iterable[tuple[object, object]] = ()
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        inner = ((field.name, getattr(part, field.name)) for field in dataclasses.fields(part))
    elif isinstance(part, tuple):
        inner = enumerate(part)
    for name, each in inner:
        yield from _within(each, f"{path}.{name}" if path else str(name))


@runtime_checkable
class Engine(Protocol):
    """Where devices are trained. It owns their buffers, and never changes a result."""

    def prepare(
        self, turn: Turn, learn: Learn, codec: Codec, agreed: Agreed, invited: Invited
    ) -> Said: ...
    def ideal(self, active: Bool[np.ndarray, "N"]) -> Float[Tensor, "D"]: ...
    def commit(self, delivery: Delivery) -> None: ...
    def evaluate(self, theta: Float[Tensor, "D"]) -> tuple[float, float]: ...
    def close(self) -> None: ...

"""Parts of a user's own: what a federation can play, and what it refuses."""

import dataclasses
from dataclasses import dataclass

import numpy as np
import torch

from airfeel.compression.codecs import TimeCorrelated
from airfeel.compression.masks import top_k
from airfeel.types import Agreed, Delivery, Fading, Invited, Reading


def with_parts(setup, **parts):
    return dataclasses.replace(setup, scheme=dataclasses.replace(setup.scheme, **parts))


@dataclass(frozen=True)
class Oldest:
    """A mask of the entries that were longest without a turn; `age` is carried."""

    def __call__(self, turn, k):
        return top_k(torch.as_tensor(turn.state.carry["age"]), k)

    def begin(self, turn):
        return {"age": np.zeros(turn.world.dim)}

    def advance(self, turn, happened):
        age = np.array(turn.state.carry["age"]) + 1.0
        age[happened.said.agreed.support.numpy()] = 0.0
        return {"age": age}


@dataclass(frozen=True)
class Halves(TimeCorrelated):
    """A codec of its own that says half of each common value."""

    def encode(self, x, agreed, devices, dice, grant=None):
        words = super().encode(x, agreed, devices, dice, grant)
        return dataclasses.replace(words, common=words.common / 2)


@dataclass(frozen=True)
class Turned(TimeCorrelated):
    """A codec whose signal is not its common values, though it has a spelling."""

    def encode(self, x, agreed, devices, dice, grant=None):
        words = super().encode(x, agreed, devices, dice, grant)
        return dataclasses.replace(words, signal=words.common.flip(-1))


class Unspelled:
    """A codec that does not say how its words are spelled."""

    def __init__(self, codec):
        self.memory, self.dice, self.columns = codec.memory, codec.dice, codec.columns
        self.agree, self.encode, self.decode = codec.agree, codec.encode, codec.decode


@dataclass(frozen=True)
class Rolled(Halves):
    """A codec that agrees on something that only the server can know."""

    def agree(self, turn):
        agreed = super().agree(turn)
        return Known(agreed.support, slots=turn.state.slots)


@dataclass(frozen=True)
class Known(Agreed):
    """The mask, and slots that were used so far."""

    slots: int


@dataclass(frozen=True)
class Momentum:
    """A server step that remembers."""

    def __call__(self, turn, decoded):
        return 0.5 * turn.state.carry["velocity"] + decoded.update

    def begin(self, turn):
        return {"velocity": torch.zeros_like(turn.state.update)}

    def advance(self, turn, happened):
        return {"velocity": turn.state.carry["velocity"] if happened.idle else happened.moved}


@dataclass(frozen=True)
class Downlink:
    """A meter: slots of a downlink count against the budget."""

    columns: tuple[str, ...] = ("slots_down",)

    def __call__(self, turn, said, fading, plan, delivery):
        return Reading({"slots_down": 3.0}, slots=3)


@dataclass(frozen=True)
class Mistaken:
    """A sky that is not as it is believed."""

    fade: object

    def __call__(self, turn):
        fading = self.fade(turn)
        return Fading(fading.gain, fading.noise, truth=0.9 * fading.gain)


@dataclass(frozen=True)
class Granting:
    """An invitation that says how much each may send."""

    invite: object

    def __call__(self, turn, fading):
        who = self.invite(turn, fading).who
        return Invited(who, np.full(len(who), 8.0))


@dataclass(frozen=True)
class Quiet:
    """A plan that is silent on one sub-channel."""

    plan: object

    def __call__(self, turn, said, fading):
        plan = self.plan(turn, said, fading)
        amplitude = plan.loudness(fading.gain)
        amplitude[:, 0] = 0.0
        return dataclasses.replace(plan, amplitude=amplitude)


@dataclass(frozen=True)
class Lossy:
    """A channel that loses packets."""

    transmit: object

    def __call__(self, turn, said, fading, plan):
        received, delivery = self.transmit(turn, said, fading, plan)
        return received, Delivery(delivery.spoke, None, np.zeros(len(said.devices), dtype=bool))

"""What server and nodes agree on in a round, and the mask where nodes cannot derive it."""

import dataclasses

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from airfeel.build.setup import no_data
from airfeel.flower.parts import Vector
from airfeel.streams import Streams
from airfeel.types import Agreed, BadInput, Codec, State, Turn, World
from airfeel.wire import decode_mask, encode_mask


def node_turn(
    theta: Float[Tensor, "D"],
    update: Float[Tensor, "D"],
    round: int,
    seed: int,
    device: int = 0,
    subchannels: int = 1,
) -> Turn:
    """The context of a round as a node knows it: the model, the last update, and the dice."""
    shards = (np.zeros(0, np.int64),) * (device + 1)
    world = World(Vector(theta), no_data(), shards, subchannels, np.zeros(device + 1))
    state = dataclasses.replace(State.bare(theta, device + 1, round - 1), update=update)
    return Turn(world, state, Streams(seed))


def agree(codec: Codec, twin: Codec, turn: Turn, seed: int) -> tuple[Agreed, bytes]:
    """What is agreed, and its mask for the wire where nodes would derive another.

    codec: with the rule of its mask. twin: the same as nodes have it.
    """
    agreed, state = codec.agree(turn), turn.state
    theirs = twin.agree(node_turn(state.theta, state.update, turn.round, seed))
    differing = [f.name for f in dataclasses.fields(agreed) if not _same(agreed, theirs, f.name)]
    for name in differing:
        if name != "support":
            raise BadInput(
                f"scheme.codec = {type(codec).__name__}: agrees on {name!r}, which does not follow "
                "from the model, the last update and the dice that a node has"
            )
    mask = encode_mask(agreed.support.numpy(), turn.world.dim) if differing else b""
    return agreed, mask


def derive(codec: Codec, turn: Turn, mask: bytes) -> Agreed:
    """The same at a node, with the mask that it was sent, if it was sent one."""
    agreed = codec.agree(turn)
    if not mask:
        return agreed
    support = torch.from_numpy(decode_mask(mask, dim=turn.world.dim))
    return dataclasses.replace(agreed, support=support)


def _same(one: Agreed, other: Agreed, name: str) -> bool:
    return np.array_equal(np.asarray(getattr(one, name)), np.asarray(getattr(other, name, None)))

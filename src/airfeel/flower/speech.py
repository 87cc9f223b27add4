"""What a device says of its update, as octets of `airfeel.wire`, and what the server hears."""

import contextlib
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.compression.quantize import UNQUANTISED, norm
from airfeel.compression.spelling import Spelled, Spelling
from airfeel.engines.threads import Threads
from airfeel.types import Agreed, BadInput, Delivery, Invited, Said, Turn, Words
from airfeel.wire import Message, Values, decode, encode, from_quantised, from_raw


@dataclass(frozen=True)
class Trained:
    """Local training that is done already."""

    delta: Float[Tensor, "D"]
    dice: int = 0
    block: int = 1

    def __call__(
        self, turn: Turn, devices: Int64[np.ndarray, "n"], dice: Float64[np.ndarray, "n W"]
    ) -> tuple[Float[Tensor, "n D"], Float64[np.ndarray, "n"]]:
        return self.delta[None], np.full(1, np.nan)


@dataclass(frozen=True)
class Speech:
    """One device's words, and the memory that it is left with if they count."""

    said: Said  # of this device alone
    payload: bytes
    memory: Float[Tensor, "D"]


def speak(
    codec: Spelled,
    turn: Turn,
    agreed: Agreed,
    delta: Float[Tensor, "D"],
    memory: Float[Tensor, "D"],
) -> Speech | None:
    """The library's round on one device, the last of the turn's world; None if Δ is not finite.

    Values that are summed in the air travel as raw floats: they stand for the analog signal.
    """
    me = np.arange(turn.world.devices) == turn.world.devices - 1
    buffers = codec.memory.buffers
    last = range(turn.world.devices - 1, turn.world.devices)
    with contextlib.closing(Threads(turn.world, 1, devices=last, buffers=buffers)) as engine:
        engine.restore(dict.fromkeys(buffers, memory[None]))
        said = engine.prepare(turn, Trained(delta), codec, agreed, Invited(me))
        if not said.finite.all():
            return None
        payload = _spell(codec, engine.ideal(me), said)
        engine.commit(Delivery(me))
        return Speech(said, payload, engine.buffers().get("memory", memory[None])[0])


def hear(
    payload: bytes, like: Float[Tensor, "D"], k_common: int, spelling: Spelling
) -> tuple[Message, Words]:
    """The message, and the words in it, or a WireError."""
    message = decode(payload, dim=len(like), k_common=k_common, k_local=spelling.own)
    kind = like.numpy().dtype
    parts = (message.common.floats(kind), message.index, message.local.floats(kind))
    common, index, value = (torch.from_numpy(part) for part in parts)
    return message, Words(common, index, value, spelling.cost)


def _spell(codec: Spelled, x: Float[Tensor, "D"], said: Said) -> bytes:
    """Levels where the quantiser was at work, floats where the values are as they were."""
    if said.signal is not None:
        raise BadInput(f"codec = {type(codec).__name__}: has a signal, which no wire carries")
    form, index = codec.spelling, said.index[0]
    local = _values(x[index], said.value[0], form.own_bits)
    common = _values(x[said.agreed.support], said.common[0], form.common_bits)
    return encode(Message(len(x), index.numpy(), local, common))


def _values(exact: Float[Tensor, "n"], said: Float[Tensor, "n"], bits: int) -> Values:
    if bits == UNQUANTISED:
        return from_raw(said.numpy())
    return from_quantised(said.numpy(), norm(exact), bits)

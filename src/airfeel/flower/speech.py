"""What a device says of its update, as octets of `airfeel.wire`, and what the server hears."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.compress.memory import residual
from airfeel.compress.quantize import norm
from airfeel.types import Compress
from airfeel.wire import Message, Values, WireError, decode, encode, from_quantised, from_raw


@dataclass(frozen=True)
class Speech:
    """One device's words, and the memory that it is left with if they count."""

    common: Float[Tensor, "K"]
    payload: bytes
    memory: Float[Tensor, "D"]


def speak(
    compress: Compress,
    x: Float[Tensor, "D"],
    support: Int64[Tensor, "K"],
    dice: Float64[np.ndarray, "W"],
) -> Speech:
    """Both masks and the quantiser on x = Δ + e, then the wire.

    Values that are summed in the air travel as raw floats: they stand for the analog signal.
    """
    common, index, value = compress(x, support, dice)
    bits = getattr(compress, "bits_per_value", 32)
    message = Message(
        len(x), index.numpy(), _values(x[index], value, bits), _values(x[support], common, bits)
    )
    return Speech(common, encode(message), residual(x, support, common, index, value))


def hear(
    payload: bytes, like: Float[Tensor, "D"], k_common: int, k_local: int
) -> tuple[Message, Float[Tensor, "K"], Int64[Tensor, "L"], Float[Tensor, "L"]]:
    """The message, and from it the global part and the local part with its mask, or a WireError."""
    message = decode(payload, dim=len(like), k_common=k_common, k_local=k_local)
    kind = like.numpy().dtype
    parts = (message.common.floats(kind), message.index, message.local.floats(kind))
    common, index, value = (torch.from_numpy(part) for part in parts)
    return message, common, index, value


def _values(exact: Float[Tensor, "n"], said: Float[Tensor, "n"], bits: int) -> Values:
    """Levels where the quantiser was at work, floats where the values are as they were."""
    if not torch.equal(exact, said):
        try:
            return from_quantised(said.numpy(), norm(exact), bits)
        except WireError:  # not of this quantiser: then as they are
            pass
    return from_raw(said.numpy())

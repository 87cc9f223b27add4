"""Models as one vector, as Flower's arrays, and as few octets as an update takes."""

import math
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, RecordDict
from jaxtyping import Float

from airfeel.flower.protocol import RECORD
from airfeel.types import BadInput
from airfeel.wire import Message, decode, encode, from_raw


@dataclass(frozen=True)
class Layout:
    """Names and shapes of a model's arrays, in order."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        """D, the length of the vector."""
        return sum(math.prod(shape) for shape in self.shapes)

    def record(self, theta: Float[np.ndarray, "D"]) -> ArrayRecord:
        """The vector as Flower's arrays."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        parts = np.split(theta, ends[:-1])
        return ArrayRecord(
            {
                name: Array(np.ascontiguousarray(part.reshape(shape)))
                for name, shape, part in zip(self.names, self.shapes, parts, strict=True)
            }
        )

    def vector(self, record: ArrayRecord) -> Float[np.ndarray, "D"]:
        """Flower's arrays as one vector; they must be those of this layout."""
        found, theta = flatten(record)
        if found != self:
            raise BadInput(f"arrays: {_told(found)}; must be those of the model: {_told(self)}")
        return theta


def flatten(record: ArrayRecord) -> tuple[Layout, Float[np.ndarray, "D"]]:
    """All arrays one after the other, all in float32 or all in float64."""
    arrays = {name: array.numpy() for name, array in record.items()}
    kinds = {str(array.dtype) for array in arrays.values()}
    if kinds not in ({"float32"}, {"float64"}):
        told = ", ".join(f"{name} {array.dtype}" for name, array in list(arrays.items())[:4])
        raise BadInput(f"arrays: {told or 'none'}; all must be float32, or all float64")
    layout = Layout(tuple(arrays), tuple(array.shape for array in arrays.values()))
    return layout, np.concatenate([array.ravel() for array in arrays.values()])


def checksum(theta: Float[np.ndarray, "D"]) -> int:
    """CRC-32 of the values, by which a node knows that it holds the server's model.

    Adding 0 makes one zero of the two: an update that is 0 somewhere does not travel there.
    """
    return zlib.crc32(np.ascontiguousarray(theta + 0.0).tobytes())


def write_update(update: Float[np.ndarray, "D"]) -> bytes:
    """A global update by its support: where it is not zero, and the values there."""
    index = np.flatnonzero(update)
    nothing = from_raw(update[:0])
    return encode(Message(len(update), index, from_raw(update[index]), nothing))


def read_update(data: bytes, like: Float[np.ndarray, "D"]) -> Float[np.ndarray, "D"]:
    """The update that was written, in the model's precision."""
    message = decode(data, dim=len(like), k_common=0)
    update = np.zeros_like(like)
    update[message.index] = message.local.floats(like.dtype)
    return update


def octets(thing: Any) -> int:
    """Octets of a message's content as Flower sends it: every record and array, serialised."""
    children = getattr(thing, "children", None) or {}
    return len(thing.deflate()) + sum(octets(child) for child in children.values())


def dense_octets(content: RecordDict, name: str, arrays: ArrayRecord) -> int:
    """The same for the message that FedAvg would send: the whole model in place of our record."""
    ours = (name, RECORD)
    return octets(RecordDict({**{k: v for k, v in content.items() if k not in ours}, name: arrays}))


def _told(layout: Layout) -> str:
    pairs = list(zip(layout.names, layout.shapes, strict=True))
    return ", ".join(f"{n} {s}" for n, s in pairs[:3]) + (", …" if len(pairs) > 3 else "")

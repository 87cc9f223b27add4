"""How a codec's words can be written down: what a wire must know beside the mask."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from airfeel.compression.quantize import UNQUANTISED
from airfeel.types import Codec


@dataclass(frozen=True)
class Spelling:
    """The form of one device's words, the same for every device.

    own: L, entries that a device names itself. own_bits, common_bits: q of the values there and on
    the shared mask, each part with one norm; 32 where they go as they are. cost: Q, the bits that
    the radio is charged for.
    """

    own: int
    own_bits: int = UNQUANTISED
    common_bits: int = UNQUANTISED
    cost: float = 0.0


@runtime_checkable
class Spelled(Codec, Protocol):
    """A codec whose words are values on the mask and own entries alone: no signal, no grant."""

    @property
    def spelling(self) -> Spelling: ...

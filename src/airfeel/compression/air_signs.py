"""Signs on the air whose sizes devices remember."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.compression.codecs import Dim, all_entries
from airfeel.compression.memory import ErrorMemory
from airfeel.compression.signs import Stride, mean_size, signs, voted
from airfeel.types import Agreed, Decoded, Memory, Received, Turn, Words


@dataclass(frozen=True)
class AirSigns:
    """sgn x on the air, (‖x‖₁/D)·sgn x taken off the memory, and the majority of all signs.

    One-bit over-the-air aggregation with error feedback (arXiv:2303.11319). Which scale the paper's
    memory has was not to be had: the mean size of x is this project's choice.

    dim: d. memory: what devices keep.
    """

    dim: Dim
    stride: Stride = 1e-3
    memory: Memory = field(default_factory=lambda: ErrorMemory(silent="add"))
    dice: ClassVar[int] = 0
    columns: ClassVar[tuple[str, ...]] = ()

    def agree(self, turn: Turn) -> Agreed:
        """All entries."""
        return all_entries(turn)

    def encode(
        self,
        x: Float[Tensor, "n D"],
        agreed: Agreed,
        devices: Int64[np.ndarray, "n"],
        dice: Float64[np.ndarray, "n W"],
        grant: Float64[np.ndarray, "N"] | None = None,
    ) -> Words:
        """The sign for the air, and what it stands for."""
        bits, nothing = signs(x), x[..., :0]
        return Words(mean_size(x) * bits, nothing.long(), nothing, signal=bits)

    def decode(self, turn: Turn, agreed: Agreed, received: Received) -> Decoded:
        """The majority."""
        return voted(turn, agreed, received, self.stride)

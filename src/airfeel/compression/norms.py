"""Codecs that also tell how large an update is, for parts that rank devices by it."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.compression.recovery import energy
from airfeel.types import Agreed, Codec, Decoded, Memory, Received, Said, Turn, Words


@dataclass(frozen=True)
class Normed:
    """Says what another codec says, and tells ‖x‖₂; with `reach` the norm of the largest entries.

    With `reach` the last column of the grants is how many entries of each device these are, see
    `Reach`; the others are the codec's own. The norm is side information: free, as a quantiser's,
    unless bits are counted strictly. Then it is the plan that charges it, of all who tell it.

    codec: what is said.
    """

    codec: Codec
    reach: bool = False  # of the largest entries alone, as many as the grant says
    tells: ClassVar[bool] = True  # how large updates are

    @property
    def memory(self) -> Memory:
        """The codec's."""
        return self.codec.memory

    @property
    def dice(self) -> int:
        """The codec's."""
        return self.codec.dice

    @property
    def columns(self) -> tuple[str, ...]:
        """The codec's."""
        return self.codec.columns

    def agree(self, turn: Turn) -> Agreed:
        """What the codec agrees on."""
        return self.codec.agree(turn)

    def encode(
        self,
        x: Float[Tensor, "n D"],
        agreed: Agreed,
        devices: Int64[np.ndarray, "n"],
        dice: Float64[np.ndarray, "n W"],
        grant: Float64[np.ndarray, "N *g"] | None = None,
    ) -> Words:
        """What the codec says, and each row's norm, alone: it does not depend on other rows."""
        most: list[int | None] = [None] * len(devices)
        if self.reach and grant is not None:
            most = grant[devices, -1].astype(np.int64).tolist()
            grant = {1: None, 2: grant[:, 0]}.get(grant.shape[1], grant[:, :-1])
        rows = x.detach().cpu().double().numpy()
        norm = np.array([largest_norm(row, q) for row, q in zip(rows, most, strict=True)])
        return replace(self.codec.encode(x, agreed, devices, dice, grant), norm=norm)

    def gather(self, said: Said) -> Said:
        """As the codec has it, if it looks at what all would say."""
        together = getattr(self.codec, "gather", None)
        return said if together is None else together(said)

    def decode(self, turn: Turn, agreed: Agreed, received: Received) -> Decoded:
        """What the codec makes of it."""
        return self.codec.decode(turn, agreed, received)


def largest_norm(x: Float64[np.ndarray, "D"], entries: int | None = None) -> float:
    """‖Top_q x‖₂; ‖x‖₂ where q is None.

    Args:
        x: an update.
        entries: q.

    >>> largest_norm(np.array([3.0, -4.0, 12.0])), largest_norm(np.array([3.0, -4.0, 12.0]), 1)
    (13.0, 12.0)
    """
    if entries is not None and entries < len(x):
        x = np.partition(np.abs(x), len(x) - entries)[len(x) - entries :] if entries else x[:0]
    return float(energy(x) ** 0.5)

"""The largest or the smallest entries, all at their mean: as many as a grant has room for."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.bits import place_bits
from airfeel.compression.codecs import Dim, mean_of, no_mask
from airfeel.compression.memory import ErrorMemory
from airfeel.types import Agreed, BadInput, Decoded, Memory, Received, Turn, Words

_MEAN_BITS = 33  # a mean and its sign


def one_sided(x: Float64[np.ndarray, "D"], entries: int) -> tuple[np.ndarray, float]:
    """Places and common value of a device's word (Amiri, Gündüz 2020, arXiv:1901.00844).

    Of the q largest entries the positive ones have mean μ⁺, of the q smallest the negative ones
    −μ⁻. Where μ⁺ > μ⁻ the positive ones are sent as μ⁺, else the negative ones as −μ⁻.

    Args:
        x: an error-compensated update.
        entries: q.

    >>> one_sided(np.array([3.0, -1.0, 0.5, -1.5]), 2)
    (array([0, 2]), 1.75)
    """
    high, low = _smallest(-x, entries), _smallest(x, entries)
    high, low = high[x[high] > 0], low[x[low] < 0]
    up = float(x[high].mean()) if len(high) else 0.0
    down = float(-x[low].mean()) if len(low) else 0.0
    return (np.sort(high), up) if up > down else (np.sort(low), -down)


def _smallest(x: Float64[np.ndarray, "D"], count: int) -> Int64[np.ndarray, "_"]:
    """Places of the smallest entries, smallest first, ties to the lower; only they are sorted."""
    if not 0 < count < len(x):
        return np.argsort(x, kind="stable")[:count]
    among = np.flatnonzero(~(x > np.partition(x, count - 1)[count - 1]))
    return among[np.argsort(x[among], kind="stable")[:count]]


@dataclass(frozen=True)
class Extremes:
    """D-DSGD: q_n entries of one sign at their mean, q_n granted by the capacity of the round.

    log2 C(D, q) + 33 bits: which entries, their mean and its sign. Rows are as wide as the largest
    grant; places that are not used hold 0.

    dim: d. memory: what devices keep.
    """

    dim: Dim
    memory: Memory = field(default_factory=ErrorMemory)
    dice: ClassVar[int] = 0
    columns: ClassVar[tuple[str, ...]] = ()

    def agree(self, turn: Turn) -> Agreed:
        """Nothing."""
        return no_mask(turn)

    def encode(
        self,
        x: Float[Tensor, "n D"],
        agreed: Agreed,
        devices: Int64[np.ndarray, "n"],
        dice: Float64[np.ndarray, "n W"],
        grant: Float64[np.ndarray, "N"] | None = None,
    ) -> Words:
        """The entries that a device may send, each at their mean."""
        if grant is None:
            raise BadInput("scheme.codec = 'extremes': nobody grants entries; use scheme d-dsgd")
        width, granted = int(grant.max(initial=0.0)), grant[devices].astype(np.int64)
        index = np.zeros((len(x), width), dtype=np.int64)
        value = np.zeros((len(x), width))
        for row, full in enumerate(x.cpu().to(torch.float64).numpy()):
            places, mean = one_sided(full, int(granted[row]))
            value[row, : len(places)] = mean
            unused = np.setdiff1d(np.arange(min(self.dim, len(places) + width)), places)
            index[row] = np.concatenate([places, unused])[:width]
        bits = np.array([place_bits(self.dim, int(q)) + _MEAN_BITS if q else 0.0 for q in granted])
        return Words(
            x[..., :0], torch.from_numpy(index).to(x.device), torch.from_numpy(value).to(x), bits
        )

    def decode(self, turn: Turn, agreed: Agreed, received: Received) -> Decoded:
        """The mean over all speakers; places that hold 0 were not sent."""
        sent = (agreed.support, received.index[received.value != 0.0])
        return replace(mean_of(turn, agreed, received), touched=sent)

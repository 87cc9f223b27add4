"""Dropout whose masks follow the seed of the device being trained, the same in all backends."""

import math
from contextvars import ContextVar
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor, nn

from airfeel.errors import BadInput

_STEPS = 2**16  # values of the coarse random numbers


class MaskNumbers:
    """The random numbers of one device's dropout masks in one round.

    Args:
        seed: of the device in this round.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    @cached_property
    def fine(self) -> torch.Generator:
        """PyTorch's generator, for numbers of 53 bits."""
        return torch.Generator().manual_seed(self._seed)

    @cached_property
    def _coarse(self) -> np.random.PCG64DXSM:
        return np.random.PCG64DXSM(self._seed)

    def coarse(self, count: int) -> np.ndarray:
        """Return that many numbers of 16 bits, which take an eighth of the time."""
        raw = self._coarse.random_raw(-(-count // 4))
        return raw.astype("<u8", copy=False).view("<u2")[:count]


mask_numbers: ContextVar[MaskNumbers | None] = ContextVar("mask_numbers", default=None)


class Dropout(nn.Module):
    """Dropout by the random numbers of the device being trained; off without them.

    Args:
        p: share of units dropped.
        coarse: draw 16 bits for each unit, channels of a pixel one after the other. p is then
            rounded to a multiple of 2^-16.
    """

    def __init__(self, p: float, *, coarse: bool = False) -> None:
        super().__init__()
        if not 0.0 <= p < 1.0:
            raise BadInput(f"dropout = {p}: must be at least 0 and below 1")
        self.coarse = coarse
        self.p = min(round(p * _STEPS), _STEPS - 1) / _STEPS if coarse else p

    def forward(self, x: Tensor) -> Tensor:
        numbers = mask_numbers.get()
        if numbers is None or self.p == 0.0:
            return x
        keep = kept(tuple(x.shape), self.p, self.coarse, numbers)
        return x * keep.to(x.device, x.dtype) / (1.0 - self.p)


def kept(
    shape: tuple[int, ...], p: float, coarse: bool, numbers: MaskNumbers
) -> Bool[Tensor, "..."]:
    """Draw which units are kept, each with probability 1 − p.

    Args:
        shape: of the units: samples, channels, and perhaps rows and columns.
        p: share of units dropped.
        coarse: as for `Dropout`.
        numbers: of the device.

    >>> kept((2, 3), 0.5, True, MaskNumbers(1)).tolist()
    [[False, True, True], [False, False, True]]
    """
    if not coarse:
        return torch.rand(shape, generator=numbers.fine, dtype=torch.float64) >= p
    keep = torch.from_numpy(numbers.coarse(math.prod(shape)) >= round(p * _STEPS))
    return keep.view(shape[0], *shape[2:], shape[1]).movedim(-1, 1)

"""A look at the test set by the C++ kernel."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from airfeel.training import native
from airfeel.types import Dataset, Scores, Spread

_PART = 250  # samples that a thread takes at a time


def serves(x: Tensor) -> bool:
    """Whether the kernel reads samples that are stored like these."""
    return x.dtype in (torch.uint8, torch.float32) and x.is_contiguous()


@dataclass(frozen=True)
class NativeLook:
    """Accuracy and mean cross-entropy on the test set, as `FlatModel.evaluate` has them.

    The parts that threads share do not depend on how many there are, and sums are made in the
    order of the parts: so the result is the same for any number of threads.

    network: the layers as the kernel reads them.
    """

    network: native.Network

    def __call__(
        self, data: Dataset, theta: Float[Tensor, "D"], spread: Spread = map
    ) -> tuple[float, float]:
        shift, scale = data.shift.float(), data.scale.float()

        def part(start: int) -> Scores:
            x, y = (each[start : start + _PART] for each in (data.test_x, data.test_y))
            return native.evaluate(self.network, theta, x, y, shift, scale)

        total = len(data.test_y)
        rows = list(spread(part, range(0, total, _PART)))
        return sum(hits for hits, _ in rows) / total, sum(loss for _, loss in rows) / total

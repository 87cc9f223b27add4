"""The global update from what the base station received."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from airfeel.types import Received


@dataclass(frozen=True)
class Average:
    """ĝ = (1/N_t) (Σ global parts + noise) + (1/N_t) Σ local parts, eq. (2).

    Both means are over all N_t speakers, also at coordinates which only some of them sent. Sums are
    made in device order, so that they do not depend on where the devices were trained.
    """

    def __call__(self, received: Received, dim: int) -> Float[Tensor, "D"]:
        total = received.common.new_zeros(dim)
        total[received.support] = received.common
        for index, value in zip(received.index, received.value, strict=True):
            total.index_add_(0, index, value)  # a device's own indices are distinct
        return total.div_(received.count)

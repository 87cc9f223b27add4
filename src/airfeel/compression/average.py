"""The global update as a mean of what the base station received."""

from typing import Annotated, Literal

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from airfeel.compression import native
from airfeel.ranges import about
from airfeel.segments import by_value
from airfeel.types import Received

Divide = Annotated[
    Literal["active", "heard", "all"],
    about("whom the mean is over: all speakers, those heard on a sub-channel, or all devices"),
]


def average(
    received: Received,
    support: Int64[Tensor, "K"],
    dim: int,
    devices: int,
    divide: Divide = "active",
) -> Float[Tensor, "{dim}"]:
    """ĝ = (1/N_t) (Σ global parts + noise) + (1/N_t) Σ local parts, eq. (2).

    Both means are over all N_t speakers, also at coordinates which only some of them sent. Sums are
    made in device order, so that they do not depend on where the devices were trained.

    Args:
        received: the signal on the mask [K], and each device's own entries [n L].
        support: the global mask m[g], K sorted indices.
        dim: D, length of the model vector.
        devices: N, all devices of the run.
        divide: by N_t ("active"), by N ("all"), or on the mask by the speakers of an entry's
            sub-channel ("heard"; nothing where there are none).

    >>> received = Received(
    ...     speakers=np.array([0, 1]),
    ...     devices=np.array([0, 1]),
    ...     signal=torch.tensor([4.0]),
    ...     index=torch.tensor([[0], [2]]),
    ...     value=torch.tensor([[1.0], [6.0]]),
    ...     count=2,
    ...     heard=np.array([2]),
    ... )
    >>> average(received, torch.tensor([1]), dim=3, devices=5)
    tensor([0.5000, 2.0000, 3.0000])
    """
    total = received.signal.new_zeros(dim)
    uneven = divide == "heard" and bool((received.heard != received.count).any())
    if not uneven:
        total[support] = received.signal
    if native.serves(total, received.value):
        native.scatter(received.value, received.index, total)
    else:
        for index, value in zip(received.index, received.value, strict=True):
            total.index_add_(0, index, value)  # a device's own indices are distinct
    total.div_(devices if divide == "all" else received.count or 1)
    if uneven:
        speakers = by_value(received.heard.astype(np.float64), len(support), received.lanes)
        share = np.divide(1.0, speakers, out=np.zeros_like(speakers), where=speakers > 0)
        total[support] += received.signal * torch.from_numpy(share).to(total)
    return total


def noise_of(
    received: Received, entries: int, devices: int, divide: Divide = "active"
) -> float | Float[Tensor, "_"]:
    """Variance of entries of that mean which came by air: one number, or that of each one heard.

    Args:
        received: the variance of one entry of the signal, and who was heard where.
        entries: K, of the mask.
        devices: N, all devices of the run.
        divide: as above.

    >>> who, none = np.array([0, 1]), torch.zeros((2, 0))
    >>> signal, heard = torch.zeros(2, dtype=torch.float64), np.array([2, 1])
    >>> received = Received(who, who, signal, none.long(), none, 2, heard, noise=4.0)
    >>> noise_of(received, 2, 5), noise_of(received, 2, 5, "heard")
    (1.0, tensor([1., 4.], dtype=torch.float64))
    """
    if divide == "heard" and (received.heard != received.count).any():
        speakers = by_value(received.heard.astype(np.float64), entries, received.lanes)
        return torch.from_numpy(received.noise / speakers[speakers > 0] ** 2).to(received.signal)
    count = devices if divide == "all" else received.count or 1
    return float(received.noise / count**2)

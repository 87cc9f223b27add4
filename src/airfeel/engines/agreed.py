"""What was agreed for a round, on its way to other processes: a mask takes one bit per entry."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from airfeel.types import Agreed


@dataclass(frozen=True)
class Parcel:
    """An Agreed whose tensors lie on the CPU and whose support is a packed mask."""

    rest: Agreed
    mask: UInt8[np.ndarray, "_"]
    dim: int


def packed(agreed: Agreed, dim: int) -> Parcel:
    """The parcel of what was agreed for a model of `dim` entries."""
    mask = np.zeros(dim, dtype=bool)
    mask[agreed.support.cpu().numpy()] = True
    moved = _on(agreed, torch.device("cpu"))
    # a slice would be pickled with all that it was cut from
    nothing = torch.zeros(0, dtype=torch.int64)
    return Parcel(replace(moved, support=nothing), np.packbits(mask), dim)


def unpacked(parcel: Parcel, device: torch.device) -> Agreed:
    """What was agreed, on a compute device."""
    support = np.flatnonzero(np.unpackbits(parcel.mask, count=parcel.dim))
    return replace(_on(parcel.rest, device), support=torch.from_numpy(support).to(device))


def _on(agreed: Agreed, device: torch.device) -> Agreed:
    """The same with all of its tensors there, also of what was agreed within it."""
    values = {field.name: getattr(agreed, field.name) for field in fields(agreed)}
    moved: dict[str, Any] = {k: v.to(device) for k, v in values.items() if isinstance(v, Tensor)}
    moved |= {k: _on(v, device) for k, v in values.items() if isinstance(v, Agreed)}
    return replace(agreed, **moved)

"""Error memory: what a device could not say this round it remembers for the next."""

import math

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from airfeel.compress import native


def compensate(
    delta: Float[Tensor, "D"], memory: Float[Tensor, "D"], x: Float[Tensor, "D"]
) -> bool:
    """x = Δ + e, Algorithm 1, written to `x`; whether all of it is finite."""
    if native.serves(x, delta, memory):
        return native.add(delta, memory, x)
    torch.add(delta, memory, out=x)
    return all(map(math.isfinite, torch.aminmax(x)))  # both are NaN where one entry is


def residual(
    x: Float[Tensor, "D"],
    support: Int64[Tensor, "K"],
    common: Float[Tensor, "K"],
    index: Int64[Tensor, "L"],
    value: Float[Tensor, "L"],
    out: Float[Tensor, "D"] | None = None,
) -> Float[Tensor, "D"]:
    """e = x − (sent global part) − (sent local part), Algorithm 1: feeds quantisation error back.

    Channel noise is not part of it: a device does not know what the base station heard.
    Written to `out` if that is given, which may be x itself.
    """
    out = torch.empty_like(x) if out is None else out
    if native.serves(x, common, value, out):
        native.keep(x, support.contiguous(), common, index.contiguous(), value, out)
        return out
    e = x.clone()
    e.index_add_(0, support, common, alpha=-1)  # each mask's indices are distinct
    e.index_add_(0, index, value, alpha=-1)
    return out.copy_(e)

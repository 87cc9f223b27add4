"""The stochastic quantiser of QSGD (Alistarh et al. 2017), with sign and level in q bits."""

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor

from airfeel.bits import UNQUANTISED, check_bits
from airfeel.compression import native

__all__ = ["UNQUANTISED", "check_bits", "norm", "quantize"]


def quantize(
    x: Float[Tensor, "*n L"], bits: int, uniform: Float64[np.ndarray, "*n L"]
) -> Float[Tensor, "*n L"]:
    """Q(x, q), unbiased: E[Q(x, q)] = x over uniform dice (Sun et al. 2022, section II).

    Q(x)_i = ‖x‖₂ · sign(x_i) · ξ_i with s = 2^(q−1) − 1 levels: ξ_i is ⌊s|x_i|/‖x‖₂⌋/s, or one
    level higher where `uniform` lies below the fractional part. Works in float64, since a level of
    24 bits has no fraction left in float32.

    Args:
        x: a vector of L entries, or a row for each device, each with a norm of its own.
        bits: q, from 2 to 24, or 32 for x as it is.
        uniform: dice in [0, 1), one for each entry.

    >>> quantize(torch.tensor([3.0, 0.0, -4.0]), 3, np.array([0.9, 0.5, 0.3]))  # ‖x‖/s = 5/3
    tensor([ 1.6667,  0.0000, -5.0000])
    """
    check_bits(bits)
    if bits == UNQUANTISED or x.numel() == 0:
        return x
    s = 2 ** (bits - 1) - 1
    if native.serves(x):
        rows = (-1, x.shape[-1])
        return native.quantize(x.view(rows), s, uniform.reshape(rows)).view(x.shape)
    peak, unit, length = _scale(x)
    level = unit.abs().mul_(s / torch.where(length > 0, length, 1.0))
    level.clamp_(max=s)  # rounding must not reach a level above the last
    low = level.floor()
    up = torch.from_numpy(uniform).to(x.device) < level.sub_(low)
    return unit.sign_().mul_(low.add_(up)).div_(s).mul_(peak * length).to(x.dtype)


def norm(x: Float[Tensor, "L"]) -> float:
    """‖x‖₂ exactly as `quantize` computes it, for the wire format.

    Args:
        x: a vector of L entries, float32 or float64.

    >>> norm(torch.tensor([3.0, 0.0, -4.0]))
    5.0
    """
    if native.serves(x):
        return native.norm(x)
    peak, _, length = _scale(x)
    return float(peak * length)


def _scale(x: Float[Tensor, "*n L"]) -> tuple[Tensor, Tensor, Tensor]:
    """The largest entry, x in units of it, and the norm of that: squares stay within range."""
    exact = x.to(torch.float64)
    largest = exact.abs().amax(dim=-1, keepdim=True)
    peak = torch.where(largest > 0, largest, 1.0)
    unit = exact / peak
    return peak, unit, torch.linalg.vector_norm(unit, dim=-1, keepdim=True)

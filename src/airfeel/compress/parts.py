"""What devices say of their error-compensated updates x: one part for each way of compressing.

x is one device's vector, or has a row for each of some devices.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.compress.masks import top_k, top_k_outside
from airfeel.compress.quantize import UNQUANTISED, check_bits, quantize

_NORM_BITS = 32  # a quantiser's norm, charged under strict accounting


def _norm_cost(bits: int, strict: bool, size: int) -> int:
    return _NORM_BITS if strict and size and bits != UNQUANTISED else 0


@dataclass(frozen=True)
class TimeCorrelated:
    """A global mask from the last global update, and each device's own largest rest (TCS).

    With `analog` the global part is left as it is, to be summed in the air (TCS-H); otherwise it is
    quantised with its own norm and costs q bits a value, without indices (TCS-D).
    """

    dim: int
    k_global: int
    k_local: int
    bits_per_value: int
    analog: bool = True
    strict: bool = False  # charge 32 bits for each norm

    def __post_init__(self) -> None:
        check_bits(self.bits_per_value)

    @property
    def dice(self) -> int:
        return self.k_local + (0 if self.analog else self.k_global)

    @property
    def bits(self) -> float:
        """Q = (log2 d + q)·K[l], and q·K[g] where the global part is digital too."""
        q, strict = self.bits_per_value, self.strict
        local = self.k_local * (math.log2(self.dim) + q) + _norm_cost(q, strict, self.k_local)
        if self.analog:
            return local
        return local + self.k_global * q + _norm_cost(q, strict, self.k_global)

    def support(self, update: Float[Tensor, "D"]) -> Int64[Tensor, "K"]:
        return top_k(update, self.k_global)

    def __call__(
        self,
        x: Float[Tensor, "*n D"],
        support: Int64[Tensor, "K"],
        dice: Float64[np.ndarray, "*n W"],
    ) -> tuple[Float[Tensor, "*n K"], Int64[Tensor, "*n L"], Float[Tensor, "*n L"]]:
        common = x.index_select(-1, support)
        if not self.analog:
            common = quantize(common, self.bits_per_value, dice[..., self.k_local :])
        index = top_k_outside(x, self.k_local, support)
        value = quantize(x.gather(-1, index), self.bits_per_value, dice[..., : self.k_local])
        return common, index, value


@dataclass(frozen=True)
class TopK:
    """Each device's own K largest entries, with their indices."""

    dim: int
    k: int
    bits_per_value: int
    strict: bool = False

    def __post_init__(self) -> None:
        check_bits(self.bits_per_value)

    @property
    def dice(self) -> int:
        return self.k

    @property
    def bits(self) -> float:
        """Q = (log2 d + q)·K."""
        q = self.bits_per_value
        return self.k * (math.log2(self.dim) + q) + _norm_cost(q, self.strict, self.k)

    def support(self, update: Float[Tensor, "D"]) -> Int64[Tensor, "K"]:
        return top_k(update, 0)

    def __call__(
        self,
        x: Float[Tensor, "*n D"],
        support: Int64[Tensor, "K"],
        dice: Float64[np.ndarray, "*n W"],
    ) -> tuple[Float[Tensor, "*n K"], Int64[Tensor, "*n L"], Float[Tensor, "*n L"]]:
        index = top_k(x, self.k)
        value = quantize(x.gather(-1, index), self.bits_per_value, dice)
        return x.index_select(-1, support), index, value


@dataclass(frozen=True)
class Whole:
    """Everything, as it is: no mask, no quantiser, no memory left."""

    dice: int = 0
    bits: float = 0.0

    def support(self, update: Float[Tensor, "D"]) -> Int64[Tensor, "K"]:
        return torch.arange(len(update), device=update.device)

    def __call__(
        self,
        x: Float[Tensor, "*n D"],
        support: Int64[Tensor, "K"],
        dice: Float64[np.ndarray, "*n W"],
    ) -> tuple[Float[Tensor, "*n K"], Int64[Tensor, "*n L"], Float[Tensor, "*n L"]]:
        return x, support.new_empty((*x.shape[:-1], 0)), x[..., :0]

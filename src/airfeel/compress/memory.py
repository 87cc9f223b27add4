"""Error memory: what a device could not say this round it remembers for the next."""

from jaxtyping import Float, Int64
from torch import Tensor


def residual(
    x: Float[Tensor, "D"],
    support: Int64[Tensor, "K"],
    common: Float[Tensor, "K"],
    index: Int64[Tensor, "L"],
    value: Float[Tensor, "L"],
) -> Float[Tensor, "D"]:
    """e = x − (sent global part) − (sent local part), Algorithm 1: feeds quantisation error back.

    Channel noise is not part of it: a device does not know what the base station heard.
    """
    e = x.clone()
    e.index_add_(0, support, common, alpha=-1)  # each mask's indices are distinct
    e.index_add_(0, index, value, alpha=-1)
    return e

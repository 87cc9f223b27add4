"""Error memory: what a device could not say this round it remembers for the next."""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from airfeel.compress import native


def compensate(
    delta: Float[Tensor, "n D"],
    memory: Float[Tensor, "N D"],
    places: Int64[np.ndarray, "n"],
    x: Float[Tensor, "n D"],
) -> Bool[np.ndarray, "n"]:
    """x = Δ + e, Algorithm 1, with e at some places of the memory; which rows of x are finite.

    A row that is not is left with the memory alone: what it says is never sent, it only has to be
    well-formed.
    """
    if native.serves(x, delta, memory):
        return native.add(delta, memory, places, x)
    known = memory[torch.from_numpy(places).to(memory.device)]
    torch.add(delta, known, out=x)
    finite = torch.isfinite(x).all(dim=1)
    x[~finite] = known[~finite].to(x.dtype)
    return finite.cpu().numpy()


def residual(
    x: Float[Tensor, "*n D"],
    support: Int64[Tensor, "K"],
    common: Float[Tensor, "*n K"],
    index: Int64[Tensor, "*n L"],
    value: Float[Tensor, "*n L"],
) -> Float[Tensor, "*n D"]:
    """e = x − (sent global part) − (sent local part), Algorithm 1: feeds quantisation error back.

    Channel noise is not part of it: a device does not know what the base station heard.
    """
    e = x.index_add(-1, support, common, alpha=-1)  # each mask's indices are distinct
    return e.scatter_add_(-1, index, -value)


def remember(
    x: Float[Tensor, "n D"],
    rows: Int64[np.ndarray, "r"],
    support: Int64[Tensor, "K"],
    common: Float[Tensor, "n K"],
    index: Int64[Tensor, "n L"],
    value: Float[Tensor, "n L"],
    memory: Float[Tensor, "N D"],
    places: Int64[np.ndarray, "r"],
) -> None:
    """Put the residuals of some rows at some places of the memory, which may be x itself."""
    if native.serves(x, common, value, memory):
        native.keep(x, rows, support, common, index, value, memory, places)
        return
    which, where = (torch.from_numpy(n).to(x.device) for n in (rows, places))
    e = residual(x[which], support, common[which], index[which], value[which])
    memory[where] = e.to(memory.dtype)

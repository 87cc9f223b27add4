"""Error memory: what a device could not say this round it remembers for the next."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from airfeel.compression import native
from airfeel.ranges import Share, about
from airfeel.segments import by_value
from airfeel.types import Delivery, Said

_Held = Mapping[str, Float[Tensor, "_ D"]]  # the engine's buffers by name


@dataclass(frozen=True)
class ErrorMemory:
    """x = Δ + strength·e, and e ← x − what was said and arrived (Algorithm 1 has strength 1).

    A device that did not speak keeps the e that it had, or with `silent = "add"` adds all of its
    update to it. A device that was not invited, or whose update is not finite, keeps e.
    """

    strength: Annotated[Share, about("factor on what is remembered")] = 1.0
    silent: Annotated[
        Literal["keep", "add"], about("what a device that did not speak does with its update")
    ] = "keep"

    @property
    def buffers(self) -> tuple[str, ...]:
        return ("memory",)

    @property
    def in_place(self) -> bool:
        return True

    def compensate(
        self,
        delta: Float[Tensor, "n D"],
        held: _Held,
        places: Int64[np.ndarray, "n"],
        x: Float[Tensor, "n D"],
    ) -> Bool[np.ndarray, "n"]:
        """x = Δ + strength·e, in place; returns which rows are finite."""
        return compensate(delta, held["memory"], places, x, self.strength)

    def changes(self, said: Said, delivery: Delivery) -> Int64[np.ndarray, "_"]:
        """Rows whose memory changes: of those who spoke, or of all whose update is finite."""
        spoke = delivery.spoke[said.devices]
        return np.flatnonzero(spoke if self.silent == "keep" else said.finite)

    def remember(
        self,
        x: Float[Tensor, "n D"],
        said: Said,
        delivery: Delivery,
        rows: Int64[np.ndarray, "r"],
        held: _Held,
        places: Int64[np.ndarray, "r"],
    ) -> None:
        """memory[places] = what is left of x[rows]; the memory may be x itself."""
        memory, support = held["memory"], said.agreed.support
        sent, words = (said.common, said.index, said.value), rows
        if not delivery.whole or self.silent == "add":  # some of it alone, row by row
            sent, words = _arrived(said, delivery, rows), np.arange(len(rows))
        if native.serves(x, sent[0], sent[2], memory):
            native.keep(x, rows, support, *sent, words, memory, places)
            return
        which, where, these = (torch.from_numpy(n).to(x.device) for n in (rows, places, words))
        left = residual(x[which], support, *(part[these] for part in sent))
        memory[where] = left.to(memory.dtype)


@dataclass(frozen=True)
class NoMemory:
    """x = Δ: nothing is kept."""

    @property
    def buffers(self) -> tuple[str, ...]:
        return ()

    @property
    def in_place(self) -> bool:
        return False

    def compensate(
        self,
        delta: Float[Tensor, "n D"],
        held: _Held,
        places: Int64[np.ndarray, "n"],
        x: Float[Tensor, "n D"],
    ) -> Bool[np.ndarray, "n"]:
        """x = Δ, in place, 0 where that is not finite; returns which rows are finite."""
        x.copy_(delta)
        finite = torch.isfinite(x).all(dim=1)
        x[~finite] = 0.0
        return finite.cpu().numpy()

    def changes(self, said: Said, delivery: Delivery) -> Int64[np.ndarray, "_"]:
        """None."""
        return np.zeros(0, dtype=np.int64)

    def remember(
        self,
        x: Float[Tensor, "n D"],
        said: Said,
        delivery: Delivery,
        rows: Int64[np.ndarray, "r"],
        held: _Held,
        places: Int64[np.ndarray, "r"],
    ) -> None:
        """Nothing."""


def compensate(
    delta: Float[Tensor, "n D"],
    memory: Float[Tensor, "N D"],
    places: Int64[np.ndarray, "n"],
    x: Float[Tensor, "n D"],
    strength: float = 1.0,
) -> Bool[np.ndarray, "n"]:
    """x = Δ + strength·e, in place, with e = memory[places]; returns which rows are finite.

    Algorithm 1 with strength 1. A row that is not is left with the memory alone: what it says is
    never sent, it only has to be well-formed.

    Args:
        delta: Δ, updates of n devices.
        memory: e of all devices.
        places: rows of the memory that belong to the n devices.
        x: receives the error-compensated updates.
        strength: factor on what is remembered.

    >>> x, memory = torch.empty(1, 2), torch.tensor([[9.0, 9.0], [0.5, 0.0]])
    >>> compensate(torch.tensor([[1.0, 2.0]]), memory, np.array([1]), x), x
    (array([ True]), tensor([[1.5000, 2.0000]]))
    """
    if strength == 1.0 and native.serves(x, delta, memory):
        return native.add(delta, memory, places, x)
    e = memory[torch.from_numpy(places).to(memory.device)]
    if strength != 1.0:
        e = e * strength
    torch.add(delta, e, out=x)
    finite = torch.isfinite(x).all(dim=1)
    x[~finite] = e[~finite].to(x.dtype)
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

    Args:
        x: error-compensated updates, a row for each device.
        support, common: the global mask and the values that were sent there.
        index, value: each device's own entries and the values that were sent there.

    >>> x, where, sent = torch.tensor([1.0, 2.0]), torch.tensor([1]), torch.tensor([1.5])
    >>> residual(x, where, sent, torch.zeros(0).long(), torch.zeros(0))
    tensor([1.0000, 0.5000])
    """
    e = x.index_add(-1, support, common, alpha=-1)  # each mask's indices are distinct
    return e.scatter_add_(-1, index, -value)


def _arrived(
    said: Said, delivery: Delivery, rows: Int64[np.ndarray, "r"]
) -> tuple[Float[Tensor, "r K"], Int64[Tensor, "r L"], Float[Tensor, "r L"]]:
    """What arrived of what some rows said: shares of the common part, packets or nothing."""
    which = torch.from_numpy(rows).to(said.common.device)
    common, index, value = said.common[which], said.index[which], said.value[which]
    spoke = delivery.spoke[said.devices[rows]].astype(np.float64)
    packet = spoke if delivery.arrived is None else spoke * delivery.arrived[rows]
    value = value * torch.from_numpy(packet).to(value)[:, None]
    share = delivery.share
    if share is None:
        return common * torch.from_numpy(spoke).to(common)[:, None], index, value
    if isinstance(share, np.ndarray):
        part = torch.from_numpy(share[rows] * spoke[:, None]).to(common.dtype).numpy()
        return common * torch.from_numpy(by_value(part, common.shape[1])).to(common), index, value
    share = share[torch.from_numpy(rows)] * torch.from_numpy(spoke).to(share)[:, None]
    return common * share.to(common), index, value

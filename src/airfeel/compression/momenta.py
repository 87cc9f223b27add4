"""Memories with momentum: devices gather velocity before they are heard."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from airfeel.compression.memory import ErrorMemory
from airfeel.compression.quantize import norm
from airfeel.ranges import Below1, Count, Positive, about
from airfeel.types import Delivery, Said

_Held = Mapping[str, Float[Tensor, "_ D"]]  # the engine's buffers by name


@dataclass(frozen=True)
class Signum:
    """x = m ← β·m + (1 − β)·Δ: the mean of late updates, in one buffer (Bernstein et al. 2018).

    arXiv:1802.04434, Algorithm 2. A device that did not speak keeps the m that it had. What was
    said is not subtracted. β = 0 is x = Δ.
    """

    beta: Annotated[Below1, about("β, share of the last mean that is kept")] = 0.9

    @property
    def buffers(self) -> tuple[str, ...]:
        return ("momentum",)

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
        """x = β·m + (1 − β)·Δ, in place; returns which rows are finite."""
        m = _rows(held["momentum"], places, x.dtype)
        torch.add(self.beta * m, delta, alpha=1.0 - self.beta, out=x)
        return _finite(x, m)

    def changes(self, said: Said, delivery: Delivery) -> Int64[np.ndarray, "_"]:
        """Rows of those who spoke."""
        return np.flatnonzero(delivery.spoke[said.devices])

    def remember(
        self,
        x: Float[Tensor, "n D"],
        said: Said,
        delivery: Delivery,
        rows: Int64[np.ndarray, "r"],
        held: _Held,
        places: Int64[np.ndarray, "r"],
    ) -> None:
        """m[places] = x[rows]."""
        _put(held["momentum"], places, x[torch.from_numpy(rows).to(x.device)])


@dataclass(frozen=True)
class Dgc:
    """Deep gradient compression: u ← m·u + Δ, v ← v + u, x = v (Lin et al. 2018).

    arXiv:1712.01887: momentum correction of what waits to be sent. Afterwards v is what is left of
    x, and with `masking` u is 0 wherever something was sent. A device that did not speak keeps u
    and v. m = 0 is error feedback. Two buffers: `memory` (v) and `momentum` (u). Meant for one
    local step per round (H = 1).
    """

    momentum: Annotated[Below1, about("m, share of the last velocity that is kept")] = 0.9
    masking: Annotated[bool, about("whether velocity stops where an entry was sent")] = True
    clip: Annotated[Positive | None, about("‖Δ‖ is at most this over √N; left out: any")] = None
    devices: Annotated[Count, about("N, for the clip")] = 1

    @property
    def buffers(self) -> tuple[str, ...]:
        return ("memory", "momentum")

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
        """x = v + (m·u + Δ), in place; returns which rows are finite."""
        v, u = (_rows(held[name], places, x.dtype) for name in self.buffers)
        torch.add(v, torch.add(self._clipped(delta), u, alpha=self.momentum), out=x)
        return _finite(x, v)

    def changes(self, said: Said, delivery: Delivery) -> Int64[np.ndarray, "_"]:
        """Rows of those who spoke."""
        return np.flatnonzero(delivery.spoke[said.devices])

    def remember(
        self,
        x: Float[Tensor, "n D"],
        said: Said,
        delivery: Delivery,
        rows: Int64[np.ndarray, "r"],
        held: _Held,
        places: Int64[np.ndarray, "r"],
    ) -> None:
        """u[places] = x[rows] − v, 0 where something was sent, and v[places] = what is left."""
        whole = x[torch.from_numpy(rows).to(x.device)]
        u, left = whole - _rows(held["memory"], places, x.dtype), torch.empty_like(whole)
        here = np.arange(len(rows))
        ErrorMemory().remember(x, said, delivery, rows, {"memory": left}, here)
        if self.masking:
            u[left != whole] = 0.0
        _put(held["memory"], places, left)
        _put(held["momentum"], places, u)

    def _clipped(self, delta: Float[Tensor, "n D"]) -> Float[Tensor, "n D"]:
        """Δ, its norm at most clip/√N; each row by itself."""
        if self.clip is None:
            return delta
        most = self.clip / self.devices**0.5
        length = torch.tensor([norm(row) if torch.isfinite(row).all() else 0.0 for row in delta])
        factor = torch.where(length > most, most / length.clamp(min=1e-300), 1.0)
        return delta * factor.to(delta)[:, None]


def _rows(
    buffer: Float[Tensor, "_ D"], places: Int64[np.ndarray, "n"], dtype: torch.dtype
) -> Float[Tensor, "n D"]:
    return buffer[torch.from_numpy(places).to(buffer.device)].to(dtype)


def _put(
    buffer: Float[Tensor, "_ D"], places: Int64[np.ndarray, "r"], values: Float[Tensor, "r D"]
) -> None:
    buffer[torch.from_numpy(places).to(buffer.device)] = values.to(buffer.dtype)


def _finite(x: Float[Tensor, "n D"], fallback: Float[Tensor, "n D"]) -> Bool[np.ndarray, "n"]:
    """Which rows are finite; others become what was remembered: they are never sent."""
    finite = torch.isfinite(x).all(dim=1)
    x[~finite] = fallback[~finite]
    return finite.cpu().numpy()

"""What the runner asks of an engine beside the rounds: to give and take back its buffers."""

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from airfeel.types import Engine


class Lost(ConnectionError):
    """A worker of the engine is gone, and what its devices remember with it."""


@runtime_checkable
class Keeper(Engine, Protocol):
    """An engine whose buffers can be saved and put back; it raises Lost where a part of it died."""

    def buffers(self) -> Mapping[str, Float[Tensor, "N D"]]: ...
    def restore(self, buffers: Mapping[str, Float[Tensor, "N D"]]) -> None: ...

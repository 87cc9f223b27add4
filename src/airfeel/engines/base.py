"""What the runner asks of an engine beside the rounds: to give and to take back the memory."""

from typing import Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from airfeel.types import Engine


class Lost(ConnectionError):
    """A worker of the engine is gone, and the memory of its devices with it."""


@runtime_checkable
class Keeper(Engine, Protocol):
    """An engine whose memory can be saved and put back; it raises Lost where a part of it died."""

    @property
    def memory(self) -> Float[Tensor, "N D"]: ...
    def restore(self, memory: Float[Tensor, "N D"]) -> None: ...

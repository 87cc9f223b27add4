"""A step that keeps the newest value of every entry."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from airfeel.ranges import about
from airfeel.types import Decoded, Happened, Turn


@dataclass(frozen=True)
class Hold:
    """last_i ← ĝ_i wherever an entry was received; masks by size and age look at these.

    With apply = "fresh" the model moves by what came in this round. With "all" it moves by all of
    last, old entries too, which is our reading of AgeTop-k (arXiv:2504.01357) and FAIR-k
    (arXiv:2512.19103); that is for devices without memory, which would send the same mass twice.

    Carried: `newest` [D], ĝ_0 at first.
    """

    apply: Annotated[
        Literal["fresh", "all"], about("what moves the model: what came now, or old entries too")
    ] = "fresh"

    publishes: ClassVar[tuple[str, ...]] = ("newest",)  # masks by size and age read it

    @property
    def forgetful(self) -> bool:
        """Whether devices must not remember."""
        return self.apply == "all"

    def __call__(self, turn: Turn, decoded: Decoded) -> Float[Tensor, "D"]:
        return self._kept(turn, decoded) if self.apply == "all" else decoded.update

    def begin(self, turn: Turn) -> Mapping[str, Tensor]:
        """ĝ_0, which sent everything."""
        return {"newest": turn.state.update}

    def advance(self, turn: Turn, happened: Happened) -> Mapping[str, Tensor]:
        """The newest values."""
        if happened.decoded is None:
            return {"newest": torch.as_tensor(turn.state_of(self)["newest"])}
        return {"newest": self._kept(turn, happened.decoded)}

    def _kept(self, turn: Turn, decoded: Decoded) -> Float[Tensor, "D"]:
        before = torch.as_tensor(turn.state_of(self)["newest"])
        return torch.where(decoded.fresh, decoded.update, before)

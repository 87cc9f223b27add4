"""Steps of the global model: the update itself, or one with momentum."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float
from torch import Tensor

from airfeel.ranges import Below1, Positive, about
from airfeel.types import Decoded, Happened, Turn


@dataclass(frozen=True)
class Add:
    """w ← w + ĝ, Algorithm 1: the model moves by the decoded update itself."""

    def __call__(self, turn: Turn, decoded: Decoded) -> Float[Tensor, "D"]:
        return decoded.update


@dataclass(frozen=True)
class FedAvgM:
    """v ← β·v + ĝ, w ← w + rate·v: server momentum (Hsu et al. 2019, arXiv:1909.06335).

    β = 0 and rate = 1 is `add`. Carried as `momentum` [D], 0 at first; an idle round leaves it.
    """

    beta: Annotated[Below1, about("β, share of the last velocity that is kept")] = 0.9
    rate: Annotated[Positive, about("factor on the velocity")] = 1.0

    def __call__(self, turn: Turn, decoded: Decoded) -> Float[Tensor, "D"]:
        return self.rate * self._velocity(turn, decoded)

    def begin(self, turn: Turn) -> Mapping[str, Tensor]:
        """At rest."""
        return {"momentum": torch.zeros_like(turn.state.update)}

    def advance(self, turn: Turn, happened: Happened) -> Mapping[str, Tensor]:
        """The velocity of this round."""
        if happened.decoded is None:
            return {"momentum": torch.as_tensor(turn.state_of(self)["momentum"])}
        return {"momentum": self._velocity(turn, happened.decoded)}

    def _velocity(self, turn: Turn, decoded: Decoded) -> Float[Tensor, "D"]:
        before = torch.as_tensor(turn.state_of(self)["momentum"])
        return torch.add(decoded.update, before, alpha=self.beta)

"""A server optimiser: momentum on the global update (FedAvgM, Hsu et al. 2019).

airfeel run digits-tcs-h --set scheme.step=server_momentum:Heavy --set scheme.step.beta=0.5
"""

from dataclasses import dataclass
from typing import Annotated

import torch

from airfeel.parts import Below1, Positive, about


@dataclass(frozen=True)
class Heavy:
    """v_t = β v_{t−1} + ĝ_t, and w moves by rate·v_t. Carried as `velocity` [D]."""

    beta: Annotated[Below1, about("share of the last velocity that is kept")] = 0.9
    rate: Annotated[Positive, about("factor on the velocity")] = 1.0

    def __call__(self, turn, decoded):
        return self.rate * self.velocity(turn, decoded)

    def velocity(self, turn, decoded):
        return self.beta * turn.state_of(self)["velocity"] + decoded.update

    def begin(self, turn):
        return {"velocity": torch.zeros_like(turn.state.update)}

    def advance(self, turn, happened):
        if happened.decoded is None:  # an idle round
            return {"velocity": turn.state_of(self)["velocity"]}
        return {"velocity": self.velocity(turn, happened.decoded)}

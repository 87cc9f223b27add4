"""The power rule as devices can apply it themselves."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float64

from airfeel.radio.energy import needed_energy
from airfeel.types import Turn


@dataclass(frozen=True)
class Limit:
    """Device n can speak iff P[g]_n ≤ α_n·P̄_{t,n}·U[g] (section III).

    scalar: σ_t. budget: the right side, of each device [W·slots].
    """

    scalar: float
    budget: Float64[np.ndarray, "N"]

    def needed(
        self, energy: Float64[np.ndarray, "n M"], gain2: Float64[np.ndarray, "n M"]
    ) -> Float64[np.ndarray, "n"]:
        """P[g]_n [W·slots]; energy: squared norm of each segment, gain2: |h|²."""
        return needed_energy(energy, gain2, self.scalar)

    def allows(self, needed: Float64[np.ndarray, "N"]) -> Bool[np.ndarray, "N"]:
        """Whose need is within the budget; one that is not known is not."""
        return np.asarray(needed <= self.budget)


@runtime_checkable
class Shares(Protocol):
    """A plan that may let devices send a share of what they say, `partial` wherever it does."""

    @property
    def partial(self) -> bool: ...


@runtime_checkable
class Limits(Protocol):
    """A plan with a rule that devices can apply before they speak."""

    def limit(self, turn: Turn, symbols: int) -> Limit: ...

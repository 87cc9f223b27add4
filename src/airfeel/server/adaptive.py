"""Adaptive server optimisers: each entry moves in units of its own late size."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from airfeel.ranges import Below1, Positive, about
from airfeel.types import Decoded, Happened, Turn

_Moments = tuple[Float[Tensor, "D"], Float[Tensor, "D"], float]  # m, v, steps so far


@dataclass(frozen=True)
class Adaptive:
    """m ← β1·m + (1 − β1)·ĝ, v ← β2·v + (1 − β2)·ĝ², w ← w + rate·m/(√v + τ).

    FedAdam of Reddi et al. 2021 (arXiv:2003.00295); FedYogi has v ← v − (1 − β2)·ĝ²·sign(v − ĝ²).
    m = 0 and v = τ² at first. With `bias_correction` v = 0 at first and both are divided by
    1 − β^t, t the steps so far: Adam (Kingma, Ba 2015), whose own rate is 0.001, β2 0.999, τ 1e-8.

    Entries outside of a mask have ĝ = 0, so that they decay and go on moving; `lazy` leaves m and v
    there and moves nothing. `denoise` takes the variance of the channel's noise off ĝ² where an
    entry came by air (not below 0). Carried as `momentum`, `second` [D] and `steps`; an idle round
    leaves them.
    """

    rate: Annotated[Positive, about("how far an entry moves, at most, in steady state")] = 0.01
    beta1: Annotated[Below1, about("β1, share of the last mean that is kept")] = 0.9
    beta2: Annotated[Below1, about("β2, share of the last mean square that is kept")] = 0.99
    tau: Annotated[Positive, about("τ, added to the root of the mean square")] = 1e-3
    bias_correction: Annotated[bool, about("divide both by 1 − β^t")] = False
    denoise: Annotated[bool, about("take the channel's noise off ĝ² on entries by air")] = False
    lazy: Annotated[bool, about("leave entries alone that were not received")] = False
    second: Annotated[Literal["adam", "yogi"], about("how the mean square is kept")] = "adam"

    def __call__(self, turn: Turn, decoded: Decoded) -> Float[Tensor, "D"]:
        m, v, steps = self._moments(turn, decoded)
        if self.bias_correction:
            m, v = m / (1.0 - self.beta1**steps), v / (1.0 - self.beta2**steps)
        moved = self.rate * m / (v.sqrt() + self.tau)
        return torch.where(decoded.fresh, moved, 0.0) if self.lazy else moved

    def begin(self, turn: Turn) -> Mapping[str, Tensor]:
        """m = 0, v = τ² (0 with bias correction)."""
        zero = torch.zeros_like(turn.state.update)
        first = 0.0 if self.bias_correction else self.tau**2
        return {"momentum": zero, "second": zero + first, "steps": torch.zeros(())}

    def advance(self, turn: Turn, happened: Happened) -> Mapping[str, Tensor]:
        """The moments of this round."""
        names = ("momentum", "second", "steps")
        if happened.decoded is None:
            return {name: torch.as_tensor(turn.state_of(self)[name]) for name in names}
        m, v, steps = self._moments(turn, happened.decoded)
        return dict(zip(names, (m, v, torch.tensor(steps)), strict=True))

    def _moments(self, turn: Turn, decoded: Decoded) -> _Moments:
        """m, v and the number of steps with this round in them."""
        carry, g = turn.state_of(self), decoded.update
        m, v = torch.as_tensor(carry["momentum"]), torch.as_tensor(carry["second"])
        square = self._square(decoded)
        new_m = self.beta1 * m + (1.0 - self.beta1) * g
        if self.second == "yogi":
            new_v = v - (1.0 - self.beta2) * square * torch.sign(v - square)
        else:
            new_v = self.beta2 * v + (1.0 - self.beta2) * square
        if self.lazy:
            fresh = decoded.fresh
            new_m, new_v = torch.where(fresh, new_m, m), torch.where(fresh, new_v, v)
        return new_m, new_v, float(carry["steps"]) + 1.0

    def _square(self, decoded: Decoded) -> Float[Tensor, "D"]:
        """ĝ², without the noise that is expected in it where that is asked for."""
        square = decoded.update.square()
        if self.denoise and decoded.touched:
            by_air = decoded.touched[0].flatten()
            square[by_air] = (square[by_air] - decoded.noise).clamp(min=0.0)
        return square

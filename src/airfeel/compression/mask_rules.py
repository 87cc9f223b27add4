"""Which entries all devices send: rules for the global mask."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.compression.masks import top_k
from airfeel.ranges import Share, about
from airfeel.types import Happened, Turn


@dataclass(frozen=True)
class Top:
    """m[g] = S_top(ĝ_{t−1}, K[g]): the largest entries of the last global update (Algorithm 1).

    Under the step `hold` it is the largest of the newest values of all entries.
    """

    def __call__(self, turn: Turn, k: int) -> Int64[Tensor, "{k}"]:
        return top_k(newest(turn), k)


def newest(turn: Turn) -> Float[Tensor, "D"]:
    """The newest value of every entry where the step keeps it (`hold`), else the last update.

    Args:
        turn: the round, with what parts remember.
    """
    held = turn.published("newest")
    return turn.state.update if held is None else torch.as_tensor(held)


@dataclass(frozen=True)
class ExpectedBacklog:
    """The K entries of largest max(ρ_i, f·mean ρ)·a_i: what has probably piled up since they went.

    ρ_i is the rate at which entry i grew when it was last sent, |ĝ_i| over the rounds that it had
    waited; a_i the rounds that it has waited since. The floor f lets entries of rate 0 come, too:
    `airfeel.theory.longest_wait` bounds how long an entry waits.

    Carried: `rate` and `wait` [D], which devices can follow from the downlink.
    """

    floor: Annotated[Share, about("f, smallest rate over the mean rate")] = 0.1

    def __call__(self, turn: Turn, k: int) -> Int64[Tensor, "{k}"]:
        return top_k(expected_backlog(*self._kept(turn), self.floor), k)

    def begin(self, turn: Turn) -> Mapping[str, Tensor]:
        """ρ = |ĝ_0|, of the round that sent everything."""
        rate = turn.state.update.abs().to(torch.float64)
        return {"rate": rate, "wait": torch.ones_like(rate)}

    def advance(self, turn: Turn, happened: Happened) -> Mapping[str, Tensor]:
        """On the mask ρ ← |ĝ|/a, a ← 1; elsewhere, and in an idle round, a ← a + 1."""
        rate, wait = self._kept(turn)
        if happened.decoded is None:
            return {"rate": rate, "wait": wait + 1.0}
        support = happened.said.agreed.support
        sent = happened.decoded.update[support].abs().to(torch.float64)
        rate = rate.index_copy(0, support, sent / wait[support])
        return {"rate": rate, "wait": (wait + 1.0).index_fill_(0, support, 1.0)}

    def _kept(self, turn: Turn) -> tuple[Float64[Tensor, "D"], Float64[Tensor, "D"]]:
        """ρ and a."""
        kept = turn.state_of(self)
        return torch.as_tensor(kept["rate"]), torch.as_tensor(kept["wait"])


def expected_backlog(
    rate: Float64[Tensor, "D"], wait: Float64[Tensor, "D"], floor: float
) -> Float64[Tensor, "D"]:
    """max(ρ_i, f·mean ρ)·a_i, what is expected to have piled up in each entry.

    Args:
        rate: ρ, growth of each entry per round.
        wait: a, rounds since each was sent.
        floor: f, smallest rate over the mean rate.

    >>> rate, wait = torch.tensor([4.0, 0.0]).double(), torch.tensor([1.0, 9.0]).double()
    >>> expected_backlog(rate, wait, 0.5)
    tensor([4., 9.], dtype=torch.float64)
    """
    return rate.clamp(min=floor * float(rate.mean())).mul_(wait)

"""Which entries all devices send: rules for the global mask."""

from dataclasses import dataclass

from jaxtyping import Int64
from torch import Tensor

from airfeel.compress.masks import top_k
from airfeel.types import Turn


@dataclass(frozen=True)
class Top:
    """m[g] = S_top(ĝ_{t−1}, K[g]): the largest entries of the last global update (Algorithm 1)."""

    def __call__(self, turn: Turn, k: int) -> Int64[Tensor, "{k}"]:
        return top_k(turn.state.update, k)

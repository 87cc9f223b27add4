"""Steps of the global model."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from airfeel.types import Decoded, Turn


@dataclass(frozen=True)
class Add:
    """w ← w + ĝ, Algorithm 1: the model moves by the decoded update itself."""

    def __call__(self, turn: Turn, decoded: Decoded) -> Float[Tensor, "D"]:
        return decoded.update

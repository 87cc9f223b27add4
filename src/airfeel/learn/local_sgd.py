"""Local training: H steps of plain SGD on each device, from the global model (Algorithm 1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.learn.backends import Backend
from airfeel.types import Schedule, World, at_round


def draw_batches(
    shards: Sequence[Int64[np.ndarray, "_"]], uniform: Float64[np.ndarray, "n H B"]
) -> Int64[np.ndarray, "n H B"]:
    """Sample indices, uniform with replacement from each device's own data, anew at every step."""
    sizes = np.array([len(s) for s in shards])
    first = np.cumsum(sizes) - sizes
    place = (uniform * sizes[:, None, None]).astype(np.int64)
    place += first[:, None, None]
    return np.concatenate(shards)[place]


@dataclass(frozen=True)
class LocalSGD:
    """H steps of SGD with batches of B samples: Δ_n = w_{n,H} − w, w_{n,i} = w_{n,i−1} − η ∇F_n.

    The learning rate is one number, or one a round. `backend` carries the steps out.
    """

    backend: Backend
    steps: int = 10
    batch_size: int = 64
    learning_rate: Schedule = 0.05

    @property
    def dice(self) -> int:
        """Uniforms for one device: its batches, and one that seeds its dropout masks."""
        return self.steps * self.batch_size + 1

    @property
    def block(self) -> int:
        """How many devices one call should have, at most."""
        return self.backend.block

    def __call__(
        self,
        world: World,
        theta: Float[Tensor, "D"],
        devices: Int64[np.ndarray, "n"],
        round: int,
        dice: Float64[np.ndarray, "n W"],
    ) -> tuple[Float[Tensor, "n D"], Float64[np.ndarray, "n"]]:
        uniform = dice[:, :-1].reshape(len(devices), self.steps, self.batch_size)
        batches = draw_batches([world.shards[n] for n in devices], uniform)
        seeds = (dice[:, -1] * 2**53).astype(np.int64).tolist()
        return self.backend(theta, batches, at_round(self.learning_rate, round), seeds)

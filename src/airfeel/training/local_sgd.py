"""Local training: H steps of plain SGD on each device, from the global model (Algorithm 1)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.training.augment import Augment
from airfeel.training.backends import Augmenting, Backend
from airfeel.training.recipe import Uniforms
from airfeel.types import Series, Turn, at_round


def draw_batches(
    shards: Sequence[Int64[np.ndarray, "_"]], uniform: Float64[np.ndarray, "n H B"]
) -> Int64[np.ndarray, "n H B"]:
    """Sample indices, uniform with replacement from each device's own data, anew at every step.

    B_{t,n,i} of Sun et al. 2022, section II.

    Args:
        shards: sample indices of each of n devices, at least one each.
        uniform: dice in [0, 1), one for each of B samples in each of H steps.

    >>> draw_batches([np.array([5, 6]), np.array([7])], np.array([[[0.1, 0.9]], [[0.2, 0.4]]]))
    array([[[5, 6]],
    <BLANKLINE>
           [[7, 7]]])
    """
    sizes = np.array([len(s) for s in shards])
    first = np.cumsum(sizes) - sizes
    place = (uniform * sizes[:, None, None]).astype(np.int64)
    place += first[:, None, None]
    return np.concatenate(shards)[place]


def clip_updates(delta: Float[Tensor, "n D"], most: float) -> None:
    """Scale each update down to a norm of at most `most`, in place.

    Args:
        delta: updates of n devices.
        most: the largest norm.

    >>> delta = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    >>> clip_updates(delta, 1.0)
    >>> delta.tolist()
    [[0.6000000238418579, 0.800000011920929], [0.30000001192092896, 0.4000000059604645]]
    """
    for row in delta:  # one by one: a sum over many rows may be made in another order
        norm = float(row.norm(dtype=torch.float64))
        if norm > most:
            row *= most / norm


@dataclass(frozen=True)
class LocalSGD:
    """H steps of SGD with batches of B samples: Δ_n = w_{n,H} − w, w_{n,i} = w_{n,i−1} − η ∇F_n.

    backend: carries the steps out. steps: H. batch_size: B, or None for all samples of a device in
    every step. learning_rate: η, one number, one for each round, or a function of the round.
    augment: that of the backend's recipe, whose random numbers are drawn here. update_clip: the
    largest norm of Δ_n, which is scaled down to it; None without.
    """

    backend: Backend
    steps: int = 10
    batch_size: int | None = 64
    learning_rate: Series = 0.05
    augment: Augment = field(default_factory=Augment)
    update_clip: float | None = None

    @property
    def dice(self) -> int:
        """Uniforms for one device: its batches, and one that seeds its dropout masks."""
        return self.steps * (self.batch_size or 0) + 1

    @property
    def block(self) -> int:
        """How many devices one call should have, at most."""
        return self.backend.block

    def __call__(
        self, turn: Turn, devices: Int64[np.ndarray, "n"], dice: Float64[np.ndarray, "n W"]
    ) -> tuple[Float[Tensor, "n D"], Float64[np.ndarray, "n"]]:
        shards = [turn.world.shards[n] for n in devices]
        seeds = (dice[:, -1] * 2**53).astype(np.int64).tolist()
        rate = at_round(self.learning_rate, turn.round)
        images = self._uniforms(turn, devices, max(map(len, shards), default=0))
        if self.batch_size is None:
            delta, loss = self._whole(turn.state.theta, shards, rate, seeds, images)
        else:
            uniform = dice[:, :-1].reshape(len(devices), self.steps, self.batch_size)
            batches = draw_batches(shards, uniform)
            delta, loss = self._train(turn.state.theta, batches, rate, seeds, images)
        if self.update_clip is not None:
            clip_updates(delta, self.update_clip)
        return delta, loss

    def _uniforms(self, turn: Turn, devices: Int64[np.ndarray, "n"], longest: int) -> Uniforms:
        """Uniforms for each sample of each step, by the device's id; None without augmentation.

        longest: samples of the largest of these shards, for steps on all samples. As many as there
        are in the data set are drawn then: a device's do not depend on what others hold.
        """
        width = self.augment.width
        if not width:
            return None
        size = self.batch_size or len(turn.world.data.train_y)
        used = self.batch_size or longest
        images = np.empty((len(devices), self.steps, used, width))
        for n in range(len(devices)):
            one = devices[n : n + 1]
            drawn = turn.streams.uniform("augment", turn.round, one, self.steps * size * width)
            images[n] = drawn.reshape(self.steps, size, width)[:, :used]
        return images

    def _train(
        self,
        theta: Float[Tensor, "D"],
        batches: Int64[np.ndarray, "n H B"],
        rate: float,
        seeds: Sequence[int],
        images: Uniforms,
    ) -> tuple[Float[Tensor, "n D"], Float64[np.ndarray, "n"]]:
        if images is None:
            return self.backend(theta, batches, rate, seeds)
        return cast(Augmenting, self.backend)(theta, batches, rate, seeds, uniforms=images)

    def _whole(
        self,
        theta: Float[Tensor, "D"],
        shards: Sequence[Int64[np.ndarray, "_"]],
        rate: float,
        seeds: Sequence[int],
        images: Uniforms,
    ) -> tuple[Float[Tensor, "n D"], Float64[np.ndarray, "n"]]:
        """Steps on all samples; devices whose shards differ in size one after the other."""
        if len({len(shard) for shard in shards}) == 1:
            batches = np.repeat(np.stack(shards)[:, None], self.steps, axis=1)
            images = None if images is None else images[:, :, : batches.shape[2]]
            return self._train(theta, batches, rate, seeds, images)
        alone = [
            self._whole(theta, [shard], rate, [seed], None if images is None else images[n : n + 1])
            for n, (shard, seed) in enumerate(zip(shards, seeds, strict=True))
        ]
        delta, loss = (list(each) for each in zip(*alone, strict=True))
        return torch.cat(delta), np.concatenate(loss)

"""Local training: H steps of plain SGD on each device, from the global model (Algorithm 1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.learn.flat import FlatModel
from airfeel.learn.models import dropout_dice
from airfeel.types import Dataset, Schedule, World, at_round


def draw_batches(
    shards: Sequence[Int64[np.ndarray, "_"]], uniform: Float64[np.ndarray, "n H B"]
) -> Int64[np.ndarray, "n H B"]:
    """Sample indices, uniform with replacement from each device's own data, anew at every step."""
    sizes = np.array([len(s) for s in shards])[:, None, None]
    place = (uniform * sizes).astype(np.int64)
    return np.stack([s[p] for s, p in zip(shards, place, strict=True)])


def local_sgd(
    model: FlatModel,
    data: Dataset,
    theta: Float[Tensor, "D"],
    batches: Int64[np.ndarray, "n H B"],
    learning_rate: float,
    seeds: Sequence[int] | None = None,
) -> tuple[Float[Tensor, "n D"], Float64[np.ndarray, "n"]]:
    """Δ_n = w_{n,H} − w with w_{n,i} = w_{n,i−1} − η ∇F_n(w_{n,i−1}; B_i); the mean batch loss."""
    delta = theta.new_empty((len(batches), len(theta)))
    loss = np.empty(len(batches))
    for n, steps in enumerate(torch.from_numpy(batches).to(theta.device)):
        dice = None if seeds is None else torch.Generator().manual_seed(seeds[n])
        token = dropout_dice.set(dice)
        try:
            loss[n] = _one_device(model, data, theta, steps, learning_rate, delta[n])
        finally:
            dropout_dice.reset(token)
    return delta, loss


def _one_device(
    model: FlatModel,
    data: Dataset,
    theta: Float[Tensor, "D"],
    steps: Int64[Tensor, "H B"],
    learning_rate: float,
    out: Float[Tensor, "D"],
) -> float:
    net = model.replica()
    net.flat.copy_(theta)
    losses = []
    for index in steps:
        x = data.inputs(data.train_x[index], model.dtype)
        loss = model.loss(net(x), data.train_y[index])
        gradient = torch.autograd.grad(loss, net.parameters)
        with torch.no_grad():
            torch._foreach_add_(net.parameters, gradient, alpha=-learning_rate)
        losses.append(loss.detach())
    torch.sub(net.flat, theta, out=out)
    return float(torch.stack(losses).to(torch.float64).mean())


@dataclass(frozen=True)
class LocalSGD:
    """H steps of SGD with batches of B samples. The learning rate is one number, or one a round."""

    steps: int = 10
    batch_size: int = 64
    learning_rate: Schedule = 0.05

    @property
    def dice(self) -> int:
        """Uniforms for one device: its batches, and one that seeds its dropout masks."""
        return self.steps * self.batch_size + 1

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
        seeds = [int(u * 2**53) for u in dice[:, -1]]
        return local_sgd(world.model, world.data, theta, batches, self.rate(round), seeds)

    def rate(self, round: int) -> float:
        """η_t; the uncounted starting round 0 uses the first."""
        return at_round(self.learning_rate, round)

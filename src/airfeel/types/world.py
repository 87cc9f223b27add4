"""What a run is about: samples, the network as a vector, devices and their limits."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

Scores = tuple[int, float]  # rightly classified, summed loss
Spread = Callable[[Callable[[int], Scores], Iterable[int]], Iterable[Scores]]  # a map, on threads


@dataclass(frozen=True)
class Dataset:
    """Samples as they are stored; a model sees (x - shift) * scale by channel."""

    name: str  # in messages and reports
    train_x: Tensor  # [S C H W], uint8 for images, float for synthetic data
    train_y: Tensor  # [S] int64 class, or float where classes == 0 (regression)
    test_x: Tensor  # [E C H W]
    test_y: Tensor  # [E]
    classes: int  # 0 where targets are numbers
    shift: Tensor  # [C] float64
    scale: Tensor  # [C] float64

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width of one sample."""
        channels, height, width = self.train_x.shape[1:]
        return channels, height, width

    def inputs(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """What a model sees of stored samples `x`."""
        shift, scale = (v.to(dtype).view(1, -1, 1, 1) for v in (self.shift, self.scale))
        return (x.to(dtype) - shift) * scale


@runtime_checkable
class Look(Protocol):
    """Accuracy (NaN for regression) and mean loss of a model on the test set.

    data: the samples. theta: the model as a vector. spread: maps a function over parts of the test
    set, perhaps on several threads; sums are made in the order of the parts.
    """

    def __call__(
        self, data: Dataset, theta: Float[Tensor, "D"], spread: Spread
    ) -> tuple[float, float]: ...


@runtime_checkable
class Network(Protocol):
    """A model as the round sees it: a vector of `dim` numbers, somewhere."""

    @property
    def dim(self) -> int: ...
    @property
    def device(self) -> torch.device: ...
    def initial(self) -> Float[Tensor, "D"]: ...
    def named(self, theta: Float[Tensor, "D"]) -> dict[str, Tensor]: ...
    def evaluate(
        self, data: Dataset, theta: Float[Tensor, "D"], spread: Spread
    ) -> tuple[float, float]: ...


@dataclass(frozen=True)
class World:
    """What never changes in a run."""

    model: Network  # the network as a vector
    data: Dataset  # all samples
    shards: tuple[Int64[np.ndarray, "_"], ...]  # sample indices of each device
    subchannels: int  # M
    power: Float64[np.ndarray, "N"]  # P̄_n, average power limit of each device [W]
    slots: float = float("inf")  # C, uplink slots for the whole training
    lanes: int = 1  # values that one element of the air carries: 1, or 2 in phase and quadrature
    weights: Float64[np.ndarray, "N"] | None = None  # how much each counts; None: all the same
    look: Look | None = None  # who evaluates; None: the model itself

    @property
    def devices(self) -> int:
        return len(self.shards)

    @property
    def dim(self) -> int:
        return self.model.dim

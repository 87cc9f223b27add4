"""Which device holds which samples: partitions as parts, and the check of what one dealt."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int64, Shaped

from airfeel.catalogue import Choice
from airfeel.catalogues import PARTITIONS
from airfeel.data.partition import Shards, by_classes, dirichlet, fixed_size, iid
from airfeel.errors import quote
from airfeel.ranges import Count, Positive, about
from airfeel.types import BadInput


@runtime_checkable
class Partition(Protocol):
    """Indices of each device's training samples: disjoint, at least one each, some may be unused.

    labels: the class of each sample, or the number to be predicted.
    """

    def __call__(
        self, labels: Shaped[np.ndarray, "S"], devices: int, *, rng: np.random.Generator
    ) -> Sequence[Int64[np.ndarray, "_"]]: ...


@dataclass(frozen=True)
class Iid:
    """Equal shards at random."""

    def __call__(
        self, labels: Shaped[np.ndarray, "S"], devices: int, *, rng: np.random.Generator
    ) -> Shards:
        return iid(labels, devices, rng=rng)


@dataclass(frozen=True)
class ByClasses:
    """Samples of exactly so many distinct classes on each device."""

    classes_per_device: Annotated[Count, about("classes on a device")] = 2
    size: Annotated[Count | None, about("samples of each class there; left out: all")] = None

    def __call__(
        self, labels: Shaped[np.ndarray, "S"], devices: int, *, rng: np.random.Generator
    ) -> Shards:
        return by_classes(labels, devices, self.classes_per_device, self.size, rng=rng)


@dataclass(frozen=True)
class Dirichlet:
    """Each class divided in proportions drawn from Dirichlet(alpha, …, alpha)."""

    alpha: Annotated[Positive, about("concentration; small: few devices hold a class")] = 0.5
    minimum: Annotated[Count, about("fewest samples on a device")] = 1

    def __call__(
        self, labels: Shaped[np.ndarray, "S"], devices: int, *, rng: np.random.Generator
    ) -> Shards:
        return dirichlet(labels, devices, self.alpha, minimum=self.minimum, rng=rng)


@dataclass(frozen=True)
class FixedSize:
    """The same number of random samples on every device; the rest is unused."""

    size: Annotated[Count, about("samples on a device")]

    def __call__(
        self, labels: Shaped[np.ndarray, "S"], devices: int, *, rng: np.random.Generator
    ) -> Shards:
        return fixed_size(labels, devices, self.size, rng=rng)


def deal(
    choice: Choice,
    labels: Shaped[np.ndarray, "S"],
    devices: int,
    *,
    rng: np.random.Generator,
    **facts: Any,
) -> tuple[Int64[np.ndarray, "_"], ...]:
    """The shards of the partition that a setting chose, checked and sorted.

    facts: settings that a partition may ask for by name.
    """
    partition = PARTITIONS.make(choice, **facts)
    blame = f"data.partition = {quote(choice)}"
    if not callable(partition):
        raise BadInput(f"{blame}: must make a partition, made {type(partition).__name__}")
    shards = [_indices(s, n, blame) for n, s in enumerate(partition(labels, devices, rng=rng))]
    if len(shards) != devices:
        raise BadInput(f"{blame}: made {len(shards)} shards; must be one for each of {devices}")
    taken = np.concatenate(shards)
    if taken.min() < 0 or taken.max() >= len(labels):
        raise BadInput(
            f"{blame}: deals samples {taken.min()}..{taken.max()}; must be 0..{len(labels) - 1}"
        )
    counts = np.bincount(taken)
    if (counts > 1).any():
        twice = int(counts.argmax())
        raise BadInput(f"{blame}: deals sample {twice} {counts[twice]} times; must be once")
    return tuple(np.sort(shard) for shard in shards)


def _indices(shard: object, device: int, blame: str) -> Int64[np.ndarray, "_"]:
    """One device's shard as int64."""
    array = np.asarray(shard)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        what = f"{array.dtype} of {array.shape}"
        raise BadInput(f"{blame}: shard {device} is {what}; must be one or more sample indices")
    return array.astype(np.int64)

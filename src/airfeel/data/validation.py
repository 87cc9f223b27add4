"""Hold training samples out, to evaluate a model on them in place of the test samples."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Int64, Shaped

from airfeel.types import BadInput, Dataset


def held_out(
    labels: Shaped[np.ndarray, "S"], share: float, *, rng: np.random.Generator
) -> Bool[np.ndarray, "S"]:
    """Draw round(share · S) samples; of each class so many, up to one.

    >>> held_out(np.arange(40) % 4, 0.2, rng=np.random.default_rng(0)).reshape(10, 4).sum(0)
    array([2, 2, 2, 2])
    """
    total, count = len(labels), round(share * len(labels))
    order = rng.permutation(total)
    if labels.dtype.kind in "iu":
        order = order[np.argsort(labels[order], kind="stable")]
    held = np.zeros(total, bool)
    if count:  # every (total / count)-th, beginning at a random place
        held[order[(np.arange(count) * total + rng.integers(total)) // count]] = True
    return held


def validated(
    data: Dataset,
    shards: Sequence[Int64[np.ndarray, "_"]],
    share: float,
    *,
    rng: np.random.Generator,
) -> tuple[Dataset, tuple[Int64[np.ndarray, "_"], ...]]:
    """Return data with held-out training samples for test samples, and shards without these.

    A device of which every sample was drawn keeps the first one. The test samples are not used.
    Inputs are standardised as without the split, so that a model has the same inputs in both.
    """
    held = held_out(data.train_y.cpu().numpy(), share, rng=rng)
    for shard in shards:
        if held[shard].all():
            held[shard[0]] = False
    index = np.flatnonzero(held)
    if not len(index):
        raise BadInput(
            f"data.validation = {share}: holds out none of {len(held)} training samples on "
            f"{len(shards)} devices; must hold out one or more and leave one for each device"
        )
    chosen = torch.from_numpy(index).to(data.train_x.device)
    split = replace(data, test_x=data.train_x[chosen], test_y=data.train_y[chosen])
    return split, tuple(shard[~held[shard]] for shard in shards)

"""Accuracy and loss on the test set."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from airfeel.learn.flat import FlatModel
from airfeel.types import Dataset

_BATCH = 500


def evaluate(
    model: FlatModel,
    data: Dataset,
    theta: Float[Tensor, "D"],
    spread: Callable[[Callable[[int], Any], Iterable[int]], Iterable[Any]] = map,
) -> tuple[float, float]:
    """Share of the test set that is classified rightly (NaN for regression), and its mean loss.

    `spread` maps a function over batches, perhaps on several threads; sums are made in batch order.
    """

    @torch.no_grad()
    def batch(start: int) -> tuple[int, float]:
        net = model.replica()
        net.flat.copy_(theta)
        part = slice(start, start + _BATCH)
        target = data.test_y[part]
        output = net(model.laid_out(data.inputs(data.test_x[part], model.dtype)))
        hits = int((output.argmax(dim=-1) == target).sum()) if model.classes else 0
        return hits, float(model.loss(output, target)) * len(target)

    rows = list(spread(batch, range(0, len(data.test_y), _BATCH)))
    total = len(data.test_y)
    accuracy = sum(hits for hits, _ in rows) / total if model.classes else float("nan")
    return accuracy, sum(loss for _, loss in rows) / total

"""Random networks with data for the tests of the native kernel."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from airfeel.training import native
from airfeel.training.dropout import Dropout

why_not = native.KERNEL.missing
needs_kernel = pytest.mark.skipif(why_not is not None, reason=f"no native kernel: {why_not}")


def random_network(seed: int, drop: float = 0.0) -> tuple[nn.Sequential, tuple[int, int, int], int]:
    """A network of the supported family with odd sizes, its input's shape and its classes.

    drop: share of units that are dropped behind each layer.
    """
    dice = np.random.default_rng(seed)
    shape = c, h, w = tuple(int(n) for n in (dice.choice([1, 2, 3, 16]), *dice.integers(9, 15, 2)))
    leaves: list[nn.Module] = []
    for _ in range(dice.integers(0, 4)):
        k = int(dice.choice([1, 2, 3, 3, 3, 5]))
        padding = int(dice.choice([0, (k - 1) // 2]))
        if min(h, w) + 2 * padding < k:
            break
        outputs = int(dice.choice([1, 5, 8, 16, 17, 32, 64]))
        leaves.append(nn.Conv2d(c, outputs, k, padding=padding, bias=bool(dice.random() < 0.8)))
        c, h, w = outputs, h + 2 * padding - k + 1, w + 2 * padding - k + 1
        tail = [nn.ReLU()] * bool(dice.random() < 0.8)
        if min(h, w) >= 2 and dice.random() < 0.5:
            tail.insert(int(dice.integers(0, 2)), nn.MaxPool2d(2))
            h, w = h // 2, w // 2
        leaves.append(nn.Sequential(*tail))
        if drop:
            leaves.append(Dropout(drop, coarse=bool(seed % 2)))
    leaves.append(nn.Flatten())
    features, classes = c * h * w, int(dice.integers(2, 23))
    if dice.random() < 0.6:
        hidden = int(dice.choice([3, 16, 31]))
        leaves += [nn.Linear(features, hidden, bias=bool(dice.random() < 0.8)), nn.ReLU()]
        leaves += [Dropout(drop)] if drop else []
        features = hidden
    return nn.Sequential(*leaves, nn.Linear(features, classes)), shape, classes


def flat(module: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten() for p in module.parameters()])


def problem(seed: int, n: int = 1, steps: int = 1, drop: float = 0.0) -> dict[str, Any]:
    """A random network with data: all that native.local_sgd takes, and the module."""
    torch.manual_seed(seed)
    return problem_of(*random_network(seed, drop), seed, n, steps)


def problem_of(
    module: nn.Module,
    shape: tuple[int, int, int],
    classes: int,
    seed: int,
    n: int = 1,
    steps: int = 1,
) -> dict[str, Any]:
    """Data for a network."""
    dice = np.random.default_rng(seed)
    x = dice.integers(0, 256, (40, *shape), dtype=np.uint8)
    return {
        "module": module,
        "network": native.describe(module, shape),
        "theta": flat(module),
        "x": x if seed % 2 else x.astype(np.float32),
        "y": dice.integers(0, classes, 40),
        "batches": dice.integers(0, 40, (n, steps, int(dice.choice([1, 7, 16, 33])))),
        "learning_rate": 0.1,
        "shift": dice.uniform(100, 150, shape[0]).astype(np.float32),
        "scale": dice.uniform(0.01, 0.02, shape[0]).astype(np.float32),
    }


def solve(problem: dict[str, Any], **changes: Any) -> tuple[Tensor, Tensor]:
    given = {**problem, **changes}
    given.pop("module")
    return native.local_sgd(**given)


def look(problem: dict[str, Any], **changes: Any) -> tuple[int, float]:
    """How many of its samples are hit, and their summed loss."""
    names = ("network", "theta", "x", "y", "shift", "scale")
    return native.evaluate(**{name: problem[name] for name in names} | changes)

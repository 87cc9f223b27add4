"""The work that contenders share: samples, the network and its first weights."""

import argparse
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass
class Work:
    """Samples as they are stored; a network sees (x − shift)·scale."""

    x: Tensor
    y: Tensor
    shift: Tensor
    scale: Tensor
    net: nn.Sequential

    def batch(self, size: int) -> tuple[Tensor, Tensor]:
        """Random samples, as a network sees them."""
        index = torch.randint(len(self.y), (size,))
        return self.seen(self.x[index]), self.y[index]

    def seen(self, x: Tensor) -> Tensor:
        return (x.float() - self.shift) * self.scale

    def train(self, net: nn.Module, steps: int, size: int, rate: float) -> None:
        """Local training as one writes it in PyTorch."""
        optimizer = torch.optim.SGD(net.parameters(), lr=rate)
        for _ in range(steps):
            x, y = self.batch(size)
            optimizer.zero_grad()
            F.cross_entropy(net(x), y).backward()
            optimizer.step()


def load(args: argparse.Namespace) -> Work:
    """The work in the file that the arguments name."""
    stored = np.load(args.work)
    x, y, shift, scale = (torch.from_numpy(stored[k]) for k in ("x", "y", "shift", "scale"))
    net = network(args.model, tuple(x.shape[1:]), args.hidden)
    if "theta" in stored:
        theta = torch.from_numpy(stored["theta"])
        nn.utils.vector_to_parameters(theta, net.parameters())
    return Work(x, y, shift.float().view(-1, 1, 1), scale.float().view(-1, 1, 1), net)


@cache
def load_once(**told: object) -> Work:
    """The same for an actor with one core, who does many devices' work."""
    torch.set_num_threads(1)
    return load(argparse.Namespace(**told))


def network(name: str, shape: tuple[int, ...], hidden: int) -> nn.Sequential:
    """The networks of the benchmark, for ten classes."""
    c, h, w = shape
    if name == "logistic":
        return nn.Sequential(nn.Flatten(), nn.Linear(c * h * w, 10))
    if name == "mlp":
        layers = (nn.Linear(c * h * w, hidden), nn.ReLU(), nn.Linear(hidden, 10))
        return nn.Sequential(nn.Flatten(), *layers)
    return nn.Sequential(
        *(nn.Conv2d(c, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(1600, 120), nn.ReLU(), nn.Linear(120, 10)),
    )

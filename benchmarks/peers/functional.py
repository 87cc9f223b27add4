"""The fastest PyTorch form of a bare FedAvg round found for the paper's CNN on a CPU.

Functional, weights and images channels_last, no optimizer object, subnormals flushed, and one
Python thread a core, each with one intra-op thread.
"""

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor
from torch.nn import functional as F
from turns import Turns, arguments
from work import Work, load


def forward(w: list[Tensor], a: Tensor) -> Tensor:
    for i in (0, 4):
        a = F.relu(F.conv2d(a, w[i], w[i + 1]), inplace=True)
        a = F.relu(F.conv2d(a, w[i + 2], w[i + 3]), inplace=True)
        a = F.max_pool2d(a, 2)
    a = F.relu(F.linear(a.flatten(1), w[8], w[9]), inplace=True)
    return F.linear(a, w[10], w[11])


def train(work: Work, start: list[Tensor], steps: int, size: int, rate: float) -> list[Tensor]:
    """One device's weights after its steps."""
    w = [p.clone().requires_grad_() for p in start]
    for _ in range(steps):
        x, y = work.batch(size)
        loss = F.cross_entropy(forward(w, x), y)
        with torch.no_grad():
            torch._foreach_add_(w, torch.autograd.grad(loss, w), alpha=-rate)
    return [p.detach() for p in w]


def mean(rows: tuple[Tensor, ...]) -> Tensor:
    """The devices' mean, in the memory order of the first."""
    total = rows[0].clone()
    for row in rows[1:]:
        total += row
    return total / len(rows)


def main() -> None:
    args = arguments()
    torch.set_num_threads(1)
    work = load(args)
    work.x = work.x.contiguous(memory_format=torch.channels_last)
    net = work.net.to(memory_format=torch.channels_last)
    weights = [p.detach() for p in net.parameters()]
    pool = ThreadPoolExecutor(args.threads, initializer=torch.set_flush_denormal, initargs=(True,))

    def round() -> None:
        nonlocal weights
        each = (work, weights, args.steps, args.batch, args.rate)
        trained = list(pool.map(lambda _: train(*each), range(args.devices)))
        weights = [mean(p) for p in zip(*trained, strict=True)]

    Turns().play(round)


if __name__ == "__main__":
    main()

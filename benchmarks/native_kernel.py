"""The native kernel against the best PyTorch form found, on the paper's CNN, batch 64.

    python benchmarks/native_kernel.py [--threads 2] [--warm 200]

Both do the same work: local SGD steps of one device a thread, from the same weights on the same
batches. PyTorch runs as it runs fastest on a CPU: functional, channels_last, one intra-op thread,
subnormals flushed, memory kept by malloc. Turns alternate, and what counts is the ratio of a turn.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from airfeel.learn import native
from airfeel.learn.models import paper_cnn

BATCH, RATE, SAMPLES, SHAPE = 64, 0.05, 2000, (3, 32, 32)
KEEP_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": "4000000000",
    "MALLOC_TRIM_THRESHOLD_": "4000000000",
    "MALLOC_TOP_PAD_": "268435456",
}


def samples(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Images that can be learned: a pattern for each of ten classes, under noise."""
    y = rng.integers(0, 10, SAMPLES)
    pattern = rng.normal(128, 30, (10, *SHAPE))
    x = pattern[y] + rng.normal(0, 60, (SAMPLES, *SHAPE))
    return x.clip(0, 255).astype(np.uint8), y


def torch_form(
    net: nn.Sequential, theta: Tensor, x: Tensor, y: Tensor, batches: Tensor
) -> Callable[[], Tensor]:
    """One device's steps in PyTorch; returns the weights."""
    shapes = [p.shape for p in net.parameters()]

    def run() -> Tensor:
        parts = theta.split([s.numel() for s in shapes])
        w = [p.view(s) for p, s in zip(parts, shapes, strict=True)]
        w = [p.clone(memory_format=torch.channels_last if p.dim() == 4 else torch.preserve_format)
             .requires_grad_() for p in w]  # fmt: skip
        for index in batches:
            a = (x[index].float() - 128).div_(64)
            for i in (0, 4):
                a = F.relu(F.conv2d(a, w[i], w[i + 1]), inplace=True)
                a = F.relu(F.conv2d(a, w[i + 2], w[i + 3]), inplace=True)
                a = F.max_pool2d(a, 2)
            a = F.relu(F.linear(a.flatten(1), w[8], w[9]), inplace=True)
            loss = F.cross_entropy(F.linear(a, w[10], w[11]), y[index])
            with torch.no_grad():
                torch._foreach_add_(w, torch.autograd.grad(loss, w), alpha=-RATE)
        return torch.cat([p.detach().reshape(-1) for p in w])

    return run


def milliseconds(
    pool: ThreadPoolExecutor, run: Callable[[], object], devices: int, steps: int
) -> float:
    """Time for one device-iteration of the whole machine."""
    start = time.perf_counter()
    list(pool.map(lambda _: run(), range(devices)))
    return (time.perf_counter() - start) / devices / steps * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--warm", type=int, default=0, help="SGD steps of training beforehand")
    args = parser.parse_args()
    reason = native.available()
    if reason:
        sys.exit(f"no native kernel: {reason}")
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    net = paper_cnn(SHAPE, 10)
    network = native.describe(net, SHAPE)
    theta = torch.cat([p.detach().flatten() for p in net.parameters()])
    x, y = samples(rng)
    shift, scale = np.full(3, 128, np.float32), np.full(3, 1 / 64, np.float32)
    if args.warm:
        warm = rng.integers(0, SAMPLES, (1, args.warm, BATCH))
        theta += native.local_sgd(network, theta, x, y, warm, RATE, shift, scale)[0][0]
    batches = rng.integers(0, SAMPLES, (1, args.steps, BATCH))
    images = torch.from_numpy(x).contiguous(memory_format=torch.channels_last)
    forms: dict[str, Callable[[], object]] = {
        "native": lambda: native.local_sgd(network, theta, x, y, batches, RATE, shift, scale),
        "torch": torch_form(net, theta, images, torch.from_numpy(y), torch.from_numpy(batches[0])),
    }
    report(forms, args.threads, args.steps, args.repeats)


def report(forms: dict[str, Callable[[], object]], threads: int, steps: int, repeats: int) -> None:
    times: dict[str, list[float]] = {name: [] for name in forms}
    with ThreadPoolExecutor(threads) as pool:
        for turn in range(repeats + 1):  # the first turn warms up
            for name, run in forms.items():
                spent = milliseconds(pool, run, 2 * threads, steps)
                if turn:
                    times[name].append(spent)
    ratios = [a / b for a, b in zip(times["native"], times["torch"], strict=True)]
    print(f"{threads} threads, {steps} steps, {repeats} turns; ms for one device-iteration")
    for name, values in {**times, "native / torch": ratios}.items():
        print(
            f"{name:16}{statistics.median(values):8.3f}  ({min(values):.3f} to {max(values):.3f})"
        )


if __name__ == "__main__":
    if not os.environ.keys() >= KEEP_MEMORY.keys():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEP_MEMORY})
    main()

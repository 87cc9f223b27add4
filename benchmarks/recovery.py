"""What recovering a measured update costs, against the local training that made it.

The paper's network (D = 258 898 numbers), s = D/2 measurements, 30 iterations of message passing
with a cosine transform of fast length (`airfeel.compression.recovery`), against 20 devices that
take H = 10 local steps of batch 64. Processor time of the whole process is counted, which other
processes hardly disturb; both take turns, and the median and the range of the ratio are given.

    python benchmarks/recovery.py [--turns 5] [--out FILE]
"""

import argparse
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from airfeel.build.setup import build
from airfeel.compression.projections import projection
from airfeel.compression.recovery import shrink
from airfeel.settings.load import experiment
from airfeel.types import State, Turn

TABLE = {
    "data": {"dataset": "synthetic", "shape": [3, 32, 32], "samples": 2000},
    "model": {"name": "paper-cnn"},
    "training": {"devices": 20, "local_steps": 10, "batch_size": 64},
    "run": {"threads": 1},
}


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--out", type=Path)
    told = parser.parse_args()
    setup = build(experiment(TABLE))
    world, learn = setup.world, setup.scheme.learn
    turn = Turn(world, State.bare(world.model.initial(), world.devices, 0), setup.streams)
    everyone = np.arange(world.devices)
    dice = setup.streams.uniform("batch", 1, everyone, learn.dice)
    rng = np.random.default_rng(0)
    x = np.zeros(world.dim)
    kept = rng.permutation(world.dim)[: world.dim // 8]
    x[kept] = np.exp(rng.standard_normal(len(kept))) * rng.choice([-1.0, 1.0], len(kept))
    measure = projection("dct", world.dim // 2, world.dim, seed=1)
    y = measure.apply(x)

    def train() -> None:
        for first in range(0, world.devices, learn.block):
            some = slice(first, first + learn.block)
            learn(turn, everyone[some], dice[some])

    def recover() -> None:
        shrink(measure, y, iterations=30, tolerance=0.0)

    train(), recover()  # kernels are compiled, tables are made
    times = [(seconds(train), seconds(recover)) for _ in range(told.turns)]
    ratios = [b / a for a, b in times]
    lines = [
        f"D = {world.dim}, s = {measure.rows}, transform of length {measure.length}; "
        f"backend {learn.backend.name}; {platform.processor() or platform.machine()}, "
        f"{told.turns} turns, processor seconds, median (range):",
        "",
        "| local training, 20 devices, H = 10 | 30 iterations | ratio |",
        "|---|---|---|",
        "| " + " | ".join(_spread(v) for v in (*zip(*times, strict=True), ratios)) + " |",
    ]
    print(*lines, sep="\n")
    if told.out:
        told.out.write_text("\n".join(lines) + "\n", "utf-8")


def _spread(values: tuple[float, ...] | list[float]) -> str:
    return f"{np.median(values):.3f} ({min(values):.3f}–{max(values):.3f})"


if __name__ == "__main__":
    main()

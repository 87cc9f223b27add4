"""What kernels that are compiled for this very CPU gain over those that a wheel brings along.

    python benchmarks/kernels.py [--turns 15]

Local SGD of the paper's CNN on one core: in every turn each build trains one device once, in an
order that turns around. The ratio within a turn counts; processor time is measured, which other
processes disturb less.
"""

import argparse
import os
import tempfile
from pathlib import Path
from time import process_time
from unittest import mock

import numpy as np
import torch

from airfeel import compiled, kernel_sources, prebuilt
from airfeel.training import models, native

SHAPE, CLASSES, SAMPLES, BATCH, STEPS = (3, 32, 32), 10, 512, 64, 4
NATIVE = "-march=native"


def builds(folder: Path) -> dict[str, compiled.Kernel]:
    """The kernel of local SGD for each level that this CPU has, and for this CPU alone."""
    source, known = native.KERNEL.folder, native.KERNEL
    compiler = compiled.find_compiler()
    for path in [*source.glob("*.hpp"), *source.glob("*.cpp")]:
        (folder / path.name).write_bytes(path.read_bytes())

    def compile(flags: list[str], to: Path) -> None:
        if to.stem in prebuilt.levels():
            compiled._ask([compiler, *flags, str(folder / "kernel.cpp"), "-o", str(to)], 300.0)
        else:
            to.touch()

    kernel_sources.make(folder, folder, (*kernel_sources.FLAGS, *known.flags), compile)
    made = {}
    for name in (*prebuilt.levels(), NATIVE):
        choice = prebuilt.COMPILED if name == NATIVE else name
        with mock.patch.dict(os.environ, {prebuilt.CHOICE: choice}):
            made[name] = compiled.Kernel(folder, known.flags, known.signatures)
            assert made[name].missing is None, made[name].missing
    return made


def problem() -> tuple:
    """What `local_sgd` takes."""
    torch.manual_seed(0)
    module = models.paper_cnn(SHAPE, CLASSES)
    network = native.describe(module, SHAPE)
    theta = torch.cat([p.detach().flatten() for p in module.parameters()])
    dice = np.random.default_rng(0)
    x = dice.integers(0, 256, (SAMPLES, *SHAPE), dtype=np.uint8)
    y = dice.integers(0, CLASSES, SAMPLES)
    batches = dice.integers(0, SAMPLES, (1, STEPS, BATCH))
    shift, scale = (np.full(SHAPE[0], value, np.float32) for value in (127.5, 1 / 64))
    return network, theta, x, y, batches, 0.05, shift, scale


def turns(kernels: dict[str, compiled.Kernel], count: int) -> dict[str, np.ndarray]:
    """Seconds of each build in each turn; a first turn warms up and is left out."""
    arguments, spent = problem(), {name: [] for name in kernels}
    for turn in range(count + 1):
        for name in sorted(kernels, reverse=bool(turn % 2)):
            with mock.patch.object(native, "KERNEL", kernels[name]):
                begin = process_time()
                native.local_sgd(*arguments)
                spent[name].append(process_time() - begin)
    return {name: np.array(values[1:]) for name, values in spent.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=15)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        spent = turns(builds(Path(folder)), args.turns)
    print("| build | time over that of -march=native, median | quarter to three quarters |")
    print("|---|---:|---:|")
    for name, seconds in spent.items():
        low, middle, high = np.quantile(seconds / spent[NATIVE], [0.25, 0.5, 0.75])
        print(f"| {name} | {middle:.2f} | {low:.2f}–{high:.2f} |")


if __name__ == "__main__":
    main()

"""How long a look at the test set takes: the kernel's and PyTorch's, on the same threads.

    python benchmarks/peers/looks.py [--turns 9] [--samples 2000]

Looks take turns (PyTorch, kernel, kernel, PyTorch), so that what else the machine does meets both.
"""

import argparse
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import torch

from airfeel.data.datasets import load
from airfeel.engines.threads import _settle_in
from airfeel.training import native
from airfeel.training.flat import FlatModel
from airfeel.training.look import NativeLook
from airfeel.training.models import make
from airfeel.types import BadInput, Dataset

WAYS = ("PyTorch", "kernel")
Times = dict[str, list[float]]  # seconds of each way in each turn


def look_times(data: Dataset, turns: int) -> tuple[Times, Times]:
    """Seconds of a look at all test samples, by the clock and of the processors."""
    model = FlatModel(make("paper-cnn", data.shape, 10, init="default", seed=0), classes=10)
    theta, ways = model.initial(), dict.fromkeys(WAYS, model.evaluate)
    ways["kernel"] = NativeLook(native.describe(model.module, data.shape))
    clock: Times = {name: [] for name in WAYS}
    processors: Times = {name: [] for name in WAYS}
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # as in a run: a thread for each part of the test set
    with ThreadPoolExecutor(os.cpu_count() or 1, initializer=_settle_in) as pool:
        for turn in range(turns + 1):
            spent = {name: [0.0, 0.0] for name in WAYS}
            for name in (*WAYS, *WAYS[::-1]):
                wall, cpu = time.perf_counter(), time.process_time()
                ways[name](data, theta, pool.map)
                spent[name][0] += (time.perf_counter() - wall) / 2
                spent[name][1] += (time.process_time() - cpu) / 2
            for name in WAYS if turn else ():  # the first turn warms up
                clock[name].append(spent[name][0])
                processors[name].append(spent[name][1])
    torch.set_num_threads(before)
    return clock, processors


def main() -> None:
    from contender import Spread, ratio

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--samples", type=int, help="of the test set; all if left out")
    args = parser.parse_args()
    try:
        data = load("cifar10")
    except BadInput as why:
        parser.error(str(why))
    data = replace(data, test_x=data.test_x[: args.samples], test_y=data.test_y[: args.samples])
    for name, times in zip(("clock", "processors"), look_times(data, args.turns), strict=True):
        each = ", ".join(f"{way} {Spread(times[way]).show(2)} s" for way in WAYS)
        print(f"{name}: {each}; PyTorch / kernel {ratio(times, *WAYS).show(2)}")


if __name__ == "__main__":
    main()

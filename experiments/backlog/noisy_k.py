"""Rules for K that see noise, judged by the grid of the studies: none of them is good enough.

    python experiments/backlog/noisy_k.py results/backlog/k-noise.csv

A rule takes the larger of what `thinnest_mask` says and of its own K, which grows with the noise of
a slot over power, q = σ0²·M/(P̄·N²); each has one constant, which is chosen to its best. Of the grid
the K that is nearest (by ratio) is taken. Told is how far, at worst, it is behind the grid's best.
"""

import collections
import csv
import json
import math
import statistics
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from airfeel.parts import thinnest_mask

Case = tuple[str, int, float]  # shards, slots, noise
Grid = Mapping[Case, Mapping[int, float]]  # mean accuracy [%] of each K
DIM, CHANNELS, DEVICES, POWER, ROUNDS = 4810, 25, 20, 5e-3, 500
ALONE = "thinnest mask alone"
RULES: dict[str, Callable[[float, float, float], float]] = {
    ALONE: lambda c, q, slots: 0.0,
    "K = c·q·D (noise over movement, per round)": lambda c, q, slots: c * q * DIM,
    "K = c·√q·D": lambda c, q, slots: c * math.sqrt(q) * DIM,
    "K = c·q·M·C (no more rounds than noise allows)": lambda c, q, slots: c * q * CHANNELS * slots,
}


def read(sweeps: list[Path]) -> Grid:
    """Mean accuracy over seeds of the last models."""
    found: dict[Case, dict[int, list[float]]] = collections.defaultdict(dict)
    for path in sorted(file for sweep in sweeps for file in sweep.glob("*/summary.json")):
        known = json.loads((path.parent / "facts.json").read_text("utf-8"))["settings"]
        case = known["data"]["partition"], known["budget"]["slots"], known["radio"]["noise"]
        reached = json.loads(path.read_text("utf-8"))["test_accuracy"] or 0.0
        found[case].setdefault(known["scheme"]["options"]["k"], []).append(100 * reached)
    return {
        case: {k: statistics.mean(some) for k, some in sorted(by_k.items())}
        for case, by_k in found.items()
    }


def write(grid: Grid, path: Path) -> None:
    """A row for each point of the grid."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("partition", "slots", "noise", "k", "accuracy"))
        for case in sorted(grid):
            writer.writerows((*case, k, f"{mean:.6g}") for k, mean in grid[case].items())


def load(path: Path) -> Grid:
    """What `write` has written."""
    grid: dict[Case, dict[int, float]] = collections.defaultdict(dict)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            case = row["partition"], int(row["slots"]), float(row["noise"])
            grid[case][int(row["k"])] = float(row["accuracy"])
    return grid


def behind(case: Case, accuracy: Mapping[int, float], own: float) -> float:
    """Points to the best K of the grid."""
    k = min(DIM, max(own, thinnest_mask(DIM, CHANNELS, case[1], ROUNDS)))
    nearest = min(accuracy, key=lambda tried: abs(math.log(tried / k)))
    return max(accuracy.values()) - accuracy[nearest]


def worst(grid: Grid, rule: Callable[[float, float, float], float]) -> tuple[float, float]:
    """The least worst distance over all constants, and the constant."""
    constants = [10.0 ** (i / 20) for i in range(-100, 21)]
    return min(
        (
            max(
                behind(case, some, rule(c, case[2] * CHANNELS / (POWER * DEVICES**2), case[1]))
                for case, some in grid.items()
            ),
            c,
        )
        for c in constants
    )


def told(grid: Grid) -> list[str]:
    """A row for each rule."""
    rows = ["| rule | points behind the best K, at worst | constant |", "|---|---|---|"]
    for name, rule in RULES.items():
        points, c = worst(grid, rule)
        constant = "–" if name == ALONE else f"{c:.2g}"  # it has none
        rows.append(f"| {name} | {points:.1f} | {constant} |")
    quiet = {case: some for case, some in grid.items() if case[2] <= 1e-2}
    points, _ = worst(quiet, RULES[ALONE])
    return [
        *rows,
        "",
        f"Up to σ0² = 0.01 the {ALONE} is {points:.1f} points behind, at worst.",
    ]


if __name__ == "__main__":
    print("\n".join(told(load(Path(sys.argv[1])))))

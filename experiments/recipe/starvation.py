"""Separate the causes of starvation of TCS-H, from the checkpoints of stopped runs.

    python experiments/recipe/starvation.py RUN… --rounds 200 --out starvation.md

Each run goes on twice for so many rounds under the same channels and mini-batches: with error
feedback as it is, and without (residuals are dropped, and nothing is kept). The second table splits
the devices of each run by how often they were scheduled in its last 200 rounds: half of them most
often, half least. Where the gap between their losses is a generalization gap, devices that are not
scheduled have the loss of the test set, the others that of training data.
"""

import argparse
import csv
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from airfeel import carry
from airfeel.build.setup import Setup, build
from airfeel.engines.threads import Threads
from airfeel.round import play_round
from airfeel.settings.config import Experiment
from airfeel.storage import checkpoint
from airfeel.storage.checkpoint import Checkpoint
from airfeel.storage.reader import settings
from airfeel.types import State, Turn

LATE = 200  # rounds before the checkpoint by which devices are split


@dataclass(frozen=True)
class Continued:
    """What the rounds after a checkpoint came to."""

    scheduled: float  # devices per round, mean
    least: int  # devices in the worst round
    needed: float  # energy of the median device [W·slots], median over the rounds
    budget: float  # that it may spend
    accuracy: float  # on the test set, at the end


def continued(e: Experiment, saved: Checkpoint, rounds: int, feedback: bool) -> Continued:
    """Play some rounds after a checkpoint, with or without error feedback.

    Args:
        e: settings of the run.
        saved: its checkpoint.
        rounds: how many.
        feedback: whether devices keep and add what they did not send.
    """
    if not feedback:
        e = e.model_copy(update={"scheme": e.scheme.model_copy(update={"memory": "none"})})
    setup = build(e)
    engine = Threads(setup.world, buffers=setup.scheme.codec.memory.buffers)
    counts, needed, budget = [], [], []
    try:
        if feedback:
            engine.restore(saved.buffers)
        bare: State = replace(saved.state, carry={})
        begun = carry.begin(setup.scheme, Turn(setup.world, bare, setup.streams))
        state = replace(bare, carry=begun)
        for _ in range(rounds):
            state, report = play_round(
                setup.scheme, Turn(setup.world, state, setup.streams), engine, measure=False
            )
            if report is None:
                break
            counts.append(int(report.plan.active.sum()))
            needed.append(float(np.nanmedian(report.plan.needed)))
            budget.append(float(np.nanmedian(report.plan.budget)))
        accuracy, _ = engine.evaluate(state.theta)
    finally:
        engine.close()
    middle = float(np.median(needed)), float(np.median(budget))
    return Continued(float(np.mean(counts)), min(counts), *middle, accuracy)


def losses(setup: Setup, theta: Tensor) -> tuple[np.ndarray, float]:
    """Return the mean loss of each device's own samples, not augmented, and of the test set."""
    engine, data = Threads(setup.world), setup.world.data
    look = setup.world.look or setup.world.model.evaluate
    try:
        own = []
        for indices in setup.world.shards:
            shard = torch.tensor(indices)
            x, y = data.train_x[shard].contiguous(), data.train_y[shard].contiguous()
            own.append(look(replace(data, test_x=x, test_y=y), theta, map)[1])
        return np.array(own), engine.evaluate(theta)[1]
    finally:
        engine.close()


def often(folder: Path, devices: int, round: int) -> np.ndarray:
    """Return the share of late rounds in which each device was scheduled."""
    counts = np.zeros(devices)
    with (folder / "devices.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if round - LATE < int(row["round"]) <= round and row["reason"] == "scheduled":
                counts[int(row["device"])] += 1
    return counts / LATE


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def main() -> None:
    """Print both tables, and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path, help="folders of stopped TCS-H runs")
    parser.add_argument("--rounds", type=int, default=200, help="after each checkpoint")
    parser.add_argument("--out", type=Path, help="file for the tables")
    asked = parser.parse_args()
    after, split = [], []
    for folder in asked.runs:
        e = settings(folder)
        saved, _ = checkpoint.newest(folder)
        if saved is None:
            parser.error(f"{folder}: holds no checkpoint")
        setup = build(e)
        for feedback in (True, False):
            c = continued(e, saved, asked.rounds, feedback)
            cells = f"{c.scheduled:.1f}", f"{c.least}", f"{c.needed:.1f} of {c.budget:.1f}"
            word = "with" if feedback else "without"
            start = f"{saved.state.round:,}"
            after.append((folder.name, start, word, *cells, f"{c.accuracy:.1%}"))
        own, test = losses(setup, saved.state.theta)
        part = often(folder, setup.world.devices, saved.state.round)
        order = np.argsort(-part, kind="stable")
        halves = np.array_split(order, 2)
        share = tuple(f"{part[half].mean():.0%}" for half in halves)
        mean = tuple(f"{own[half].mean():.2f}" for half in halves)
        split.append((folder.name, f"{saved.state.round:,}", *share, *mean, f"{test:.2f}"))
    text = table(
        (
            "run",
            "from round",
            "error feedback",
            "scheduled",
            "least",
            "needed [W·slots]",
            "accuracy",
        ),
        after,
    )
    text += "\n" + table(
        ("run", "round", "scheduled, most", "least", "own loss, most", "least", "test loss"), split
    )
    print(text)
    if asked.out:
        asked.out.write_text(text)


if __name__ == "__main__":
    main()

"""Probe training recipes without a federation: accuracy, and the energy that one update would need.

    python experiments/recipe/centralized.py --epochs 12 --out centralized.md
    python experiments/recipe/centralized.py --only "crop + flip" --epochs 6

The paper's CNN is trained by plain SGD on all of CIFAR-10 (batch 64, η = 0.05) with each recipe.
After each third of the epochs, weights averaged over half an epoch are evaluated on the test set.
From them each of 20 devices makes one local update (i.i.d.: H = 10; two classes per device: H = 1),
without error feedback. Its part on the global mask (the largest 20 % of the mean update of a round
before) is what TCS-H sends over the air; the table has the median energy over devices and channel
draws. A device may spend 10.36 W·slots in a round. One core; some minutes per recipe.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from airfeel.build.setup import Setup, build
from airfeel.compression.masks import top_k
from airfeel.engines.threads import Threads
from airfeel.radio.energy import needed_energy, segment_energy
from airfeel.settings.load import load
from airfeel.types import State, Turn

RECIPES: dict[str, list[str]] = {
    "none": ["data.augment=[]"],
    "crop + flip": [],
    "crop + flip, decay 1e-4": ["training.weight_decay=1e-4"],
    "crop + flip, decay 5e-4": ["training.weight_decay=5e-4"],
    "dropout 0.25/0.25/0.5": ["data.augment=[]", "model.dropout=[0.25,0.25,0.5]"],
    "dropout 0.1/0.1/0.2": ["data.augment=[]", "model.dropout=[0.1,0.1,0.2]"],
    "crop + flip, dropout 0.1": ["model.dropout=[0.1,0.1,0.1]"],
    "crop + flip, pixels in [0, 1]": ["data.standardise=false"],
    "crop + flip, Xavier": ["model.init=xavier"],
    "crop + flip, clip 10": ["training.clip_norm=10"],
}
STEPS = 390  # half an epoch of batches of 64
DRAWS = 20  # of the channel, for the energy of each update


@dataclass(frozen=True)
class Probe:
    """What weights of one recipe came to after some epochs."""

    epoch: float
    accuracy: float  # of averaged weights on the test set
    loss: float  # mean over the training batches, as they are augmented
    iid: float  # energy that a device needs, i.i.d. and H = 10 [W·slots]
    noniid: float  # two classes per device and H = 1


def averaged(setup: Setup, epochs: int) -> Iterator[tuple[float, Tensor, float]]:
    """Train on all samples; yield the epoch, weights averaged over half of it, and the loss.

    Args:
        setup: of one device that has all samples.
        epochs: to train for.
    """
    theta, pieces = setup.world.model.initial(), 13
    sums, losses = torch.zeros_like(theta), []
    for number in range(2 * epochs * pieces):
        turn = Turn(setup.world, State.bare(theta, 1, round=number), setup.streams)
        device = np.zeros(1, np.int64)
        uniform = setup.streams.uniform("batch", turn.round, device, setup.scheme.learn.dice)
        delta, loss = setup.scheme.learn(turn, device, uniform)
        theta = theta + delta[0]
        sums, losses = sums + theta, [*losses, float(loss[0])]
        if len(losses) == pieces:
            yield (number + 1) / (2 * pieces), sums / pieces, float(np.mean(losses))
            sums, losses = torch.zeros_like(theta), []


def needed(setup: Setup, theta: Tensor) -> float:
    """Return the median energy over devices and draws that the masked update needs [W·slots].

    Args:
        setup: of the devices.
        theta: weights from which each makes one local update.
    """
    devices = np.arange(setup.world.devices)
    updates = []
    for number in (0, 1):
        turn = Turn(setup.world, State.bare(theta, len(devices), round=number), setup.streams)
        uniform = setup.streams.uniform("batch", turn.round, devices, setup.scheme.learn.dice)
        blocks = [
            setup.scheme.learn(turn, devices[n : n + 1], uniform[n : n + 1])[0] for n in devices
        ]
        updates.append(torch.cat(blocks))
    mask = top_k(updates[0].mean(dim=0), round(0.2 * setup.world.dim))
    energy = segment_energy(updates[1][:, mask].contiguous(), setup.world.subchannels)
    draws = []
    for number in range(DRAWS):
        turn = Turn(setup.world, State.bare(theta, len(devices), round=number), setup.streams)
        draws.append(needed_energy(energy, setup.scheme.fade(turn).gain ** 2, 5.0))
    return float(np.median(draws))


def probes(recipe: list[str], epochs: int, data: list[str]) -> Iterator[Probe]:
    """Train with a recipe, and probe it after each third of the epochs."""
    alone = [
        "training.devices=1",
        "scheme.scheduled=1",
        f"training.local_steps={STEPS // 13}",
        "data.partition=iid",
    ]
    central = build(load("paper-iid-fedavg", [*alone, *recipe, *data]))
    splits = [build(load(f"paper-{name}-tcs-h", [*recipe, *data])) for name in ("iid", "noniid")]
    engine = Threads(central.world)
    try:
        for epoch, theta, loss in averaged(central, epochs):
            if epoch % max(1, epochs // 3) == 0:
                accuracy, _ = engine.evaluate(theta)
                yield Probe(epoch, accuracy, loss, *(needed(split, theta) for split in splits))
    finally:
        engine.close()


def main() -> None:
    """Print the table, row by row, and write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--only", help="one of the recipes, by its name")
    parser.add_argument("--data-dir", type=Path, help="folder of the data sets")
    parser.add_argument("--out", type=Path, help="file for the table")
    asked = parser.parse_args()
    if asked.only and asked.only not in RECIPES:
        parser.error(f"--only {asked.only!r}: must be one of {', '.join(map(repr, RECIPES))}")
    data = [f"data.dir={asked.data_dir}"] if asked.data_dir else []
    head = "recipe", "epoch", "test accuracy", "training loss", "needed, i.i.d.", "two classes"
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    print("\n".join(lines))
    for name, recipe in RECIPES.items():
        if asked.only in (None, name):
            for p in probes(recipe, asked.epochs, data):
                cells = f"{p.epoch:g}", f"{p.accuracy:.1%}", f"{p.loss:.2f}"
                energies = f"{p.iid:.1f}", f"{p.noniid:.1f}"
                lines.append(f"| {' | '.join([name, *cells, *energies])} |")
                print(lines[-1], flush=True)
    if asked.out:
        asked.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

"""What the settings of a training recipe cost in the native kernel.

    python benchmarks/recipes.py [--turns 15]

Local SGD of the paper's CNN on one core, batch 64: in every turn each recipe trains one device for
ten steps, in an order that turns around. The ratio to plain SGD within a turn counts; processor
time is measured, which other processes disturb less. The masks of dropout are drawn within it.
"""

import argparse
from time import process_time
from typing import Any

import numpy as np
import torch

from airfeel.training import models, native
from airfeel.training.augment import Augment, Crop, Flip
from airfeel.training.native_sgd import Native
from airfeel.training.recipe import Recipe
from airfeel.training.rules import Momentum, PlainSGD, Proximal
from airfeel.types import Dataset

SHAPE, CLASSES, SAMPLES, BATCH, STEPS = (3, 32, 32), 10, 512, 64, 10
THREE = (0.25, 0.25, 0.5)
BOTH = Augment((Crop(), Flip()))
RECIPES: dict[str, dict[str, Any]] = {
    "plain SGD": {},
    "weight decay": {"recipe": Recipe(weight_decay=5e-4)},
    "clip_norm": {"recipe": Recipe(clip_norm=1.0)},
    "momentum": {"rule": Momentum()},
    "proximal": {"rule": Proximal()},
    "label smoothing": {"recipe": Recipe(label_smoothing=0.1)},
    "crop and flip": {"recipe": Recipe(BOTH)},
    "dropout 0.5": {"dropout": 0.5},
    "dropout [0.25, 0.25, 0.5]": {"dropout": THREE},
    "all of them": {
        "dropout": THREE,
        "rule": Momentum(),
        "recipe": Recipe(BOTH, weight_decay=5e-4, clip_norm=1.0, label_smoothing=0.1),
    },
}


def data() -> Dataset:
    """Random images."""
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.integers(0, 256, (SAMPLES, *SHAPE), dtype=np.uint8))
    y = torch.from_numpy(rng.integers(0, CLASSES, SAMPLES))
    shift, scale = (torch.full((SHAPE[0],), v, dtype=torch.float64) for v in (127.5, 1 / 64))
    return Dataset("random", x, y, x, y, CLASSES, shift, scale)


def backend(
    samples: Dataset,
    dropout: float | tuple[float, ...] = 0.0,
    rule: Any = None,
    recipe: Recipe | None = None,
) -> tuple[Native, torch.Tensor]:
    """The kernel with that recipe, and the model that it starts from."""
    module = models.make("paper-cnn", SHAPE, CLASSES, init="default", seed=0, dropout=dropout)
    theta = torch.cat([p.detach().flatten() for p in module.parameters()])
    network = native.describe(module, SHAPE)
    return Native(network, samples, recipe or Recipe(), rule or PlainSGD()), theta


def turns(count: int) -> dict[str, np.ndarray]:
    """Seconds of each recipe in each turn; a first turn warms up and is left out."""
    samples, rng = data(), np.random.default_rng(1)
    batches = rng.integers(0, SAMPLES, (1, STEPS, BATCH))
    numbers = rng.random((1, STEPS, BATCH, BOTH.width))
    made = {name: backend(samples, **given) for name, given in RECIPES.items()}
    spent: dict[str, list[float]] = {name: [] for name in made}
    for turn in range(count + 1):
        for name in sorted(made, reverse=bool(turn % 2)):
            trainer, theta = made[name]
            uniforms = numbers if trainer.recipe.augment.parts else None
            begin = process_time()
            trainer(theta, batches, 0.05, [1], uniforms)
            spent[name].append(process_time() - begin)
    return {name: np.array(values[1:]) for name, values in spent.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=15)
    args = parser.parse_args()
    torch.set_num_threads(1)
    spent = turns(args.turns)
    plain = spent["plain SGD"]
    print("| recipe | ms for one step | time over plain SGD | quarter to three quarters |")
    print("|---|---:|---:|---:|")
    for name, seconds in spent.items():
        low, middle, high = np.quantile(seconds / plain, [0.25, 0.5, 0.75])
        step = 1e3 * np.median(seconds) / STEPS
        print(f"| {name} | {step:.1f} | {middle:.3f} | {low:.3f}–{high:.3f} |")


if __name__ == "__main__":
    main()

"""Which classes each device holds: counted from the settings of a run, and drawn."""

from pathlib import Path

import numpy as np
from jaxtyping import Int64

from airfeel.build.setup import build
from airfeel.errors import BadInput
from airfeel.plotting import PALETTE, blank, save
from airfeel.settings.config import Experiment


def class_counts(e: Experiment) -> Int64[np.ndarray, "N C"]:
    """Training samples of each device by class, as a run of these settings deals them."""
    world = build(e).world
    if not world.data.classes:
        raise BadInput(f"data.dataset = {e.data.dataset!r}: has no classes to be shown")
    labels = world.data.train_y.cpu().numpy()
    return np.stack([np.bincount(labels[s], minlength=world.data.classes) for s in world.shards])


def draw(counts: Int64[np.ndarray, "N C"], path: Path) -> None:
    """A bar for each device, its classes stacked from the left."""
    devices, classes = counts.shape
    figure = blank(7.0, 1.2 + 0.18 * devices)
    axes = figure.subplots()
    start = np.zeros(devices)
    for label in range(classes):
        shade = (1.0, 0.55, 0.3)[label // len(PALETTE) % 3]  # a palette, then paler
        colour = PALETTE[label % len(PALETTE)]
        axes.barh(range(devices), counts[:, label], left=start, color=colour, alpha=shade,
                  label=str(label), height=0.8)  # fmt: skip
        start = start + counts[:, label]
    axes.locator_params(axis="y", integer=True)
    axes.invert_yaxis()
    axes.set(xlabel="training samples", ylabel="device")
    axes.legend(title="class", loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    save(figure, path, 150)

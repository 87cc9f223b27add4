"""A run in a notebook: a small table, and its two curves."""

import html
from typing import Any

import numpy as np

from airfeel.types import BadInput

_SHOWN = ("reason", "rounds", "resource_blocks", "test_accuracy", "scheduled_mean", "energy_joules")


def as_html(summary: dict[str, Any]) -> str:
    """The summary's main numbers as an HTML table."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(key.replace('_', ' '))}</th>"
        f"<td>{html.escape(_short(summary[key]))}</td></tr>"
        for key in _SHOWN
    )
    return f"<table><caption>{html.escape(str(summary['scheme']))}</caption>{rows}</table>"


def plot(columns: dict[str, np.ndarray], label: str, axes: Any = None) -> Any:
    """Accuracy (loss where there is none) against rounds and against resource blocks.

    Returns the two axes; hand them in again to draw another run into the same picture.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise BadInput('plot needs matplotlib: pip install "airfeel[report]"') from error
    if axes is None:
        _, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
    what = "test_loss" if np.isnan(columns["test_accuracy"]).all() else "test_accuracy"
    known = ~np.isnan(columns[what])
    for axis, x in zip(axes, ("round", "resource_blocks"), strict=True):
        axis.plot(columns[x][known], columns[what][known], label=label)
        axis.set_xlabel(x.replace("_", " "))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(what.replace("_", " "))
    axes[1].legend(frameon=False)
    return axes


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)

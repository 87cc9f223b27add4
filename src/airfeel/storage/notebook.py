"""A run in a notebook: a small table, and its two curves."""

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from airfeel.catalogue import Value
from airfeel.errors import BadInput
from airfeel.optional import needed
from airfeel.plotting import live

if TYPE_CHECKING:
    from pandas import DataFrame

    from airfeel.plotting import Panels

_SHOWN = ("reason", "rounds", "resource_blocks", "test_accuracy", "scheduled_mean", "energy_total")


def as_html(summary: Mapping[str, Value]) -> str:
    """The summary's main numbers as an HTML table."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(key.replace('_', ' '))}</th>"
        f"<td>{html.escape(_short(summary[key]))}</td></tr>"
        for key in _SHOWN
    )
    return f"<table><caption>{html.escape(str(summary['scheme']))}</caption>{rows}</table>"


def table_html(head: Sequence[str], rows: Iterable[Sequence[str]], below: str = "") -> str:
    """A table of texts as HTML, with a sentence below."""
    lines = ((f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) for tag, row in
             (("th", head), *(("td", row) for row in rows)))  # fmt: skip
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in lines)
    return f"<table>{body}</table><p>{html.escape(below)}</p>"


def frame(columns: Mapping[str, np.ndarray]) -> "DataFrame":
    """The columns as a pandas DataFrame, one row per round."""
    needed("pandas", "pandas")
    from pandas import DataFrame

    return DataFrame(columns)


def plot(columns: Mapping[str, np.ndarray], label: str, axes: "Panels | None" = None) -> "Panels":
    """Accuracy (loss where there is none) against rounds and against resource blocks.

    Returns the two axes; hand them in again to draw another run into the same picture.
    """
    if isinstance(axes, str):
        raise BadInput(f"axes = {axes!r}: must be axes of another plot; a name goes as label=…")
    axes = live(9, 3.2, 2) if axes is None else axes
    what = "test_loss" if np.isnan(columns["test_accuracy"]).all() else "test_accuracy"
    measured = ~np.isnan(columns[what])
    for axis, x in zip(axes, ("round", "resource_blocks"), strict=True):
        axis.plot(columns[x][measured], columns[what][measured], label=label)
        axis.set_xlabel(x.replace("_", " "))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(what.replace("_", " "))
    axes[1].legend(frameon=False)
    return axes


def _short(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)

"""Devices scheduled, needed energy and accuracy of runs, in windows of rounds.

    python experiments/recipe/windows.py RUN… --window 500 --out windows.md

A run loses its devices where the fewest of a window, then the mean, fall to 0. Energy is that of
the median device [W·slots]; accuracy is the mean of the evaluations in a window.
"""

import argparse
from pathlib import Path

import numpy as np

from airfeel.storage.rows import read_columns

HEAD = ("run", "rounds", "scheduled", "fewest", "needed [W·slots]", "accuracy", "training loss")


def windows(folder: Path, length: int) -> list[tuple[str, ...]]:
    """Return a row of the table for each window of rounds of a run.

    Args:
        folder: of the run.
        length: rounds of a window.
    """
    columns = {name: values[1:] for name, values in read_columns(folder / "rounds.csv").items()}
    rows = []
    for start in range(0, len(columns["round"]), length):
        part = {name: values[start : start + length] for name, values in columns.items()}
        scheduled, accuracy = part["scheduled"], part["test_accuracy"]
        known = accuracy[~np.isnan(accuracy)]
        needed = part["needed_median"]
        energy = f"{np.nanmedian(needed):.1f}" if np.isfinite(needed).any() else "–"
        span = f"{start + 1:,} to {start + len(scheduled):,}"
        cells = f"{scheduled.mean():.1f}", f"{scheduled.min():.0f}", energy
        shown = f"{known.mean():.1%}" if len(known) else "–"
        rows.append((folder.name, span, *cells, shown, f"{np.nanmean(part['train_loss']):.2f}"))
    return rows


def main() -> None:
    """Print the table, and write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs")
    parser.add_argument("--window", type=int, default=500, help="rounds")
    parser.add_argument("--out", type=Path, help="file for the table")
    asked = parser.parse_args()
    rows = [row for folder in asked.runs for row in windows(folder, asked.window)]
    text = "".join(f"| {' | '.join(row)} |\n" for row in (HEAD, ("---",) * len(HEAD), *rows))
    print(text, end="")
    if asked.out:
        asked.out.write_text(text, "utf-8")


if __name__ == "__main__":
    main()

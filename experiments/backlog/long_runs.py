"""Long runs on CIFAR-10: what `backlog` takes to reach the best accuracy of TCS-H's kept curve.

    python experiments/backlog/long_runs.py results/backlog

Runs are kept by `airfeel reproduce export RUNS --others --to results/backlog/long`, the curves of
TCS-H at the paper's (0.2, 0.05) by `airfeel reproduce export RUNS --bare --to results/bare`.
"""

import sys
from pathlib import Path

import numpy as np

from airfeel.analysis import energy
from airfeel.storage.reader import open_run

SPLITS = {"noniid": "two classes per device, H = 1", "iid": "i.i.d. shards, H = 10"}
# Of two runs that are alike, the one that looks more often.
RIVALS = {"noniid": "bare/noniid-tcs-h", "iid": "bare/short/iid-tcs-h-looks"}
HEAD = ("run", "rounds", "resource blocks", "joules", "accuracy [%]", "heard")
Look = tuple[int, float, float, float, float]  # round, blocks, joules, accuracy, devices heard


def looks(folder: Path) -> list[Look]:
    """Each look at the test set, with what was spent until then."""
    run, found = open_run(folder), []
    joules, columns = energy.until_each_row(run), run.columns
    heard = np.cumsum(np.where(columns["round"] > 0, columns["scheduled"], 0))
    for i, played in enumerate(columns["round"].tolist()):
        if played and not np.isnan(columns["test_accuracy"][i]):
            accuracy, blocks = 100.0 * columns["test_accuracy"][i], columns["resource_blocks"][i]
            found.append((played, float(blocks), joules[i], accuracy, heard[i] / played))
    return found


def line(name: str, look: Look) -> str:
    """A row of the table."""
    played, blocks, joules, accuracy, heard = look
    cells = name, f"{played:,}", f"{blocks:.3g}", f"{joules:.2g}", f"{accuracy:.1f}", f"{heard:.1f}"
    return f"| {' | '.join(cells)} |"


def lines(out: Path) -> list[str]:
    """A table for each long run that is kept."""
    told = []
    for split, words in SPLITS.items():
        own = out / "long" / f"{split}-backlog"
        if not own.is_dir():
            continue
        rival = looks(out.parent / RIVALS[split])
        best = max(rival, key=lambda look: look[3])
        reached = next((look for look in looks(own) if look[3] >= best[3]), looks(own)[-1])
        told += [f"{words}:", "", f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
        told += [line("`backlog`", reached), line("TCS-H, its best look", best), ""]
        told += [f"Blocks of TCS-H over those of `backlog`: {best[1] / reached[1]:.1f}.", ""]
    return told


if __name__ == "__main__":
    print("\n".join(lines(Path(sys.argv[1]))))

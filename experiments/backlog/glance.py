"""Who is ahead, a line for each problem and budget: `backlog` beside the best other, and TCS-H.

python experiments/backlog/glance.py results/backlog digits-classes fashion-iid
"""

import csv
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from airfeel.analysis.paired import Difference, holm, paired

OWN, OPPONENT = "backlog", "TCS-H"
HEAD = ("problem", "slots", "`backlog` [%]", "best other", "ahead of it", f"ahead of {OPPONENT}")
Scores = dict[str, np.ndarray]  # accuracies [%] of each contender, in the order of the seeds


def scores_of(path: Path) -> dict[int, Scores]:
    """The accuracies of a league's runs at each of its budgets."""
    found: dict[int, dict[str, dict[int, float]]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            own = found.setdefault(int(row["slots"]), {}).setdefault(row["contender"], {})
            own[int(row["seed"])] = 100.0 * float(row["accuracy"])
    return {
        slots: {who: np.array([seeds[s] for s in sorted(seeds)]) for who, seeds in by.items()}
        for slots, by in found.items()
    }


def told(difference: Difference, p: float) -> str:
    """Points with their 95 % interval, bold where p < 0.05 after Holm's correction."""
    d = difference
    text = f"{d.mean:.1f} ({d.low:.1f} to {d.high:.1f})".replace("-", "−")
    return f"**{text}**" if p < 0.05 else text


def lines_of(name: str, path: Path) -> list[str]:
    """The lines of one league."""
    lines = []
    for slots, scores in scores_of(path).items():
        own = scores.pop(OWN)
        differences = {who: paired(own, others) for who, others in scores.items()}
        corrected = holm(np.array([d.p for d in differences.values()]))
        shown = {w: told(d, p) for (w, d), p in zip(differences.items(), corrected, strict=True)}
        best = max(scores, key=lambda who: float(scores[who].mean()))
        mean = f"{own.mean():.1f} ± {own.std(ddof=1):.1f}"
        cells = name, f"{slots:,}", mean, best, shown[best], shown[OPPONENT]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def table(
    folder: Path,
    names: list[str],
    head: tuple[str, ...] = HEAD,
    file: str = "runs.csv",
    lines: Callable[[str, Path], list[str]] = lines_of,
) -> list[str]:
    """The table of these leagues, of those that were played, by one of their files."""
    top = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    played = [(name, folder / name / file) for name in names]
    return top + [line for name, path in played if path.is_file() for line in lines(name, path)]


if __name__ == "__main__":
    print("\n".join(table(Path(sys.argv[1]), sys.argv[2:])))

"""How schemes bear a real radio: accuracy at equal resource blocks, one impairment at a time.

    python experiments/radio/robustness.py --seeds 5 --out results/radio

Runs what is not stored yet in --runs, then writes robustness.csv (a row for each run), and of it
robustness.md and robustness.png. Accuracies of one point are read at the most resource blocks that
every run of the point reached; ± is the standard deviation over seeds, Δ the mean difference to the
ideal radio, paired by seed, with its 95 % interval (Student t).
"""

import argparse
import csv
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import airfeel
from airfeel.experiment.paired import paired
from airfeel.experiment.readings import accuracy_at
from airfeel.experiment.stored import open_run

SCHEMES = ("tcs-h", "tcs-d", "top-k")
ERROR = "csi.error=0.01"
POINTS = {  # the question, its settings
    "ideal": [],
    "csi error 0.01": [ERROR],
    "csi error 0.1": ["csi.error=0.1"],
    "csi error 0.01, margin 2 dB": [ERROR, "link.margin_db=2"],
    "phase 1 rad": ["sync.phase=1.0"],
    "timing ±100 ns": ["sync.timing=1e-7"],
    "mcs for capacity": ["link.rates=mcs"],
    "path loss, UMi to 60 m": ["cell.model=umi", "cell.radius=60", "cell.los=always"],
    "all at once": [
        *("csi.pilots=1", "csi.phase_bits=6", "csi.magnitude_bits=6", "link.margin_db=2"),
        *("link.rates=mcs", "link.transmissions=2", "sync.phase=0.1", "sync.timing=1e-8"),
        *("hardware.truncation=0.01", "hardware.dac_bits=10", "hardware.adc_bits=12"),
    ],
}


def play(point, scheme, seed, folder):
    """One run, or the stored one."""
    where = folder / point.replace(" ", "_").replace(",", "") / f"{scheme}-{seed}"
    if (where / "summary.json").exists():
        return open_run(where)
    e = airfeel.load(f"digits-{scheme}", [*POINTS[point], f"run.seed={seed}", "run.threads=1"])
    return airfeel.run(e, where, fresh=True)


def row(point, scheme, seed, run, blocks):
    """What is told of a run."""
    played = run.rounds["round"] > 0
    heard = run.rounds["scheduled"][played]
    lost = run.rounds.get("lost", np.zeros(len(played)))[played]
    off = run.rounds.get("misalignment", np.full(len(played), np.nan))[played]
    return {
        "point": point,
        "scheme": scheme,
        "seed": seed,
        "blocks": int(blocks),
        "accuracy": accuracy_at(run.rounds, blocks),
        "final": accuracy_at(run.rounds),
        "rounds": int(played.sum()),
        "heard": float(heard.mean()) / run.experiment.training.devices,
        "lost": float(lost.sum() / max(heard.sum(), 1)),
        "misalignment": float(np.nanmean(off)) if np.isfinite(off).any() else float("nan"),
    }


def difference(rows, ideal):
    """Mean difference in points and half of its 95 % interval, paired by seed."""
    mine = np.array([100.0 * r["accuracy"] for r in rows])
    found = paired(mine, np.array([100.0 * ideal[r["seed"]]["accuracy"] for r in rows]))
    return found.mean, found.mean - found.low


def table(rows, seeds):
    """The rows as a table in Markdown: a line for each point and scheme."""
    lines = [
        f"Accuracy at equal resource blocks, {seeds} seeds, 8×8 digits.",
        "",
        "| radio | scheme | accuracy % | Δ to ideal [95 %] | rounds | heard | lost | r − 1 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for point in POINTS:
        for scheme in SCHEMES:
            some = [r for r in rows if r["point"] == point and r["scheme"] == scheme]
            ideal = {r["seed"]: r for r in rows if r["point"] == "ideal" and r["scheme"] == scheme}
            accuracy = 100.0 * np.array([r["accuracy"] for r in some])
            mean, half = difference(some, ideal)
            shown = (
                "" if point == "ideal" else f"{mean:+.1f} [{mean - half:+.1f}, {mean + half:+.1f}]"
            )
            numbers = [np.mean([r[k] for r in some]) for k in ("rounds", "heard", "lost")]
            off = np.mean([r["misalignment"] for r in some])
            lines.append(
                f"| {point} | {scheme} | {accuracy.mean():.1f} ± {accuracy.std(ddof=1):.1f} "
                f"| {shown} | {numbers[0]:.0f} | {numbers[1]:.0%} | {numbers[2]:.1%} "
                f"| {'' if np.isnan(off) else f'{off:.2g}'} |"
            )
    return "\n".join(lines) + "\n"


def draw(rows, path):
    """Differences to the ideal radio, a mark for each scheme."""
    figure, axes = plt.subplots(figsize=(8.0, 6.0), layout="constrained")
    points = [p for p in POINTS if p != "ideal"]
    for k, scheme in enumerate(SCHEMES):
        ideal = {r["seed"]: r for r in rows if r["point"] == "ideal" and r["scheme"] == scheme}
        some = [[r for r in rows if r["point"] == p and r["scheme"] == scheme] for p in points]
        means, halves = zip(*(difference(s, ideal) for s in some), strict=True)
        height = np.arange(len(points)) + 0.18 * (k - 1.5)
        axes.errorbar(means, height, xerr=halves, fmt="o", ms=4, lw=1, capsize=2, label=scheme)
    axes.axvline(0.0, color="grey", lw=0.8)
    axes.set_yticks(range(len(points)), points)
    axes.invert_yaxis()
    axes.set_xlabel("accuracy at equal blocks, points to the ideal radio (95 %)")
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=120)


def main():
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--seeds", type=int, default=5)
    given.add_argument("--runs", type=Path, default=Path("runs/robustness"))
    given.add_argument("--out", type=Path, default=Path("results/radio"))
    given = given.parse_args()
    runs = {
        (point, scheme, seed): play(point, scheme, seed, given.runs)
        for seed in range(given.seeds)
        for point in POINTS
        for scheme in SCHEMES
    }
    blocks = min(run.rounds["resource_blocks"][-1] for run in runs.values())
    rows = [row(*key, run, blocks) for key, run in runs.items()]
    given.out.mkdir(parents=True, exist_ok=True)
    with (given.out / "robustness.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (given.out / "robustness.md").write_text(table(rows, given.seeds), encoding="utf-8")
    draw(rows, given.out / "robustness.png")


if __name__ == "__main__":
    main()

"""How schemes bear a real radio: accuracy at equal resource blocks, one impairment at a time.

    python experiments/radio/robustness.py --seeds 5 --out results/radio
    python experiments/radio/robustness.py --study cifar --seeds 1 --rounds 100 --out results/radio
    python experiments/radio/robustness.py --study air --play --first 3 --seeds 5

Runs what is not stored yet in --runs, then writes for each study a .csv (a row for each run), and
of it a .md and a .png: `robustness` (the paper's schemes on digits), `air` (rivals that sum in the
air, on digits) and `cifar` (TCS-H on CIFAR-10, one local step per round). Accuracies of a study are
read at the most resource blocks that each of its runs reached; ± is the standard deviation over
seeds, Δ the mean difference to the ideal radio, paired by seed, with its 95 % interval (Student t).
With --play runs are played and nothing is written, so that several processes may share the seeds.
"""

import argparse
import csv
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import airfeel
from airfeel.analysis.paired import paired
from airfeel.analysis.series import evaluated, final_accuracy
from airfeel.storage.reader import open_run

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
    "4 antennas": ["radio.antennas=4"],
    "16 antennas, csi error 0.1": ["radio.antennas=16", "csi.error=0.1"],
    "all at once": [
        *("csi.pilots=1", "csi.phase_bits=6", "csi.magnitude_bits=6", "link.margin_db=2"),
        *("link.rates=mcs", "link.transmissions=2", "sync.phase=0.1", "sync.timing=1e-8"),
        *("hardware.truncation=0.01", "hardware.dac_bits=10", "hardware.adc_bits=12"),
    ],
}
AIR = ("analog", "airfl-mem", "obda", "backlog")
ON_AIR = ("ideal", "csi error 0.1", "phase 1 rad", "timing ±100 ns", "path loss, UMi to 60 m")
STUDIES = {  # its data, its schemes, its questions
    "robustness": ("digits", ("tcs-h", "tcs-d", "top-k"), tuple(POINTS)),
    "air": ("digits", AIR, ON_AIR),
    "cifar": ("paper-iid", ("tcs-h",), ("ideal", "csi error 0.1", "mcs for capacity")),
}
FEWER = ["training.rounds=300"]  # of backlog, whose preset has 3000 thinner ones
SHORT = ["training.local_steps=1", "run.eval_every=10", "data.augment=[]"]  # on CIFAR-10


def play(study, point, scheme, seed, given):
    """One run, or the stored one."""
    data = STUDIES[study][0]
    name = point.replace(" ", "_").replace(",", "")
    where = given.runs / data / name / f"{scheme}-{seed}"
    if (where / "summary.json").exists():
        return open_run(where)
    more = [*POINTS[point], f"run.seed={seed}", "run.threads=1"]
    if scheme == "backlog":
        more += FEWER
    if data != "digits":
        more += [*SHORT, f"training.rounds={given.rounds}"]
    return airfeel.run(airfeel.load(f"{data}-{scheme}", more), where, fresh=True)


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
        "accuracy": evaluated(run.rounds["resource_blocks"], run.accuracy, blocks).accuracy,
        "final": final_accuracy(run),
        "rounds": int(played.sum()),
        "heard": float(heard.mean()) / run.experiment.training.devices,
        "lost": float(lost.sum() / max(heard.sum(), 1)),
        "misalignment": float(np.nanmean(off)) if np.isfinite(off).any() else float("nan"),
    }


def difference(rows, ideal):
    """Mean difference in points and half of its 95 % interval, paired by seed; of one seed none."""
    mine = np.array([100.0 * r["accuracy"] for r in rows])
    other = np.array([100.0 * ideal[r["seed"]]["accuracy"] for r in rows])
    if len(rows) == 1:
        return float(mine[0] - other[0]), float("nan")
    found = paired(mine, other)
    return found.mean, found.mean - found.low


def shown(mean, half):
    """A difference with its interval, where there is one."""
    interval = "" if np.isnan(half) else f" [{mean - half:+.1f}, {mean + half:+.1f}]"
    return f"{mean:+.1f}{interval}"


def table(rows, study):
    """The rows as a table in Markdown: a line for each point and scheme."""
    data, schemes, points = STUDIES[study]
    seeds, blocks = len({r["seed"] for r in rows}), rows[0]["blocks"]
    what = "8×8 digits" if data == "digits" else "CIFAR-10, one local step per round"
    lines = [
        f"Accuracy at {blocks} resource blocks, {seeds} seed{'s' * (seeds > 1)}, {what}.",
        "",
        "| radio | scheme | accuracy % | Δ to ideal [95 %] | rounds | heard | lost | r − 1 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for point in points:
        for scheme in schemes:
            some = [r for r in rows if r["point"] == point and r["scheme"] == scheme]
            ideal = {r["seed"]: r for r in rows if r["point"] == "ideal" and r["scheme"] == scheme}
            accuracy = 100.0 * np.array([r["accuracy"] for r in some])
            change = "" if point == "ideal" else shown(*difference(some, ideal))
            spread = "" if seeds == 1 else f" ± {accuracy.std(ddof=1):.1f}"
            numbers = [np.mean([r[k] for r in some]) for k in ("rounds", "heard", "lost")]
            off = np.mean([r["misalignment"] for r in some])
            lines.append(
                f"| {point} | {scheme} | {accuracy.mean():.1f}{spread} "
                f"| {change} | {numbers[0]:.0f} | {numbers[1]:.0%} | {numbers[2]:.1%} "
                f"| {'' if np.isnan(off) else f'{off:.2g}'} |"
            )
    return "\n".join(lines) + "\n"


def words(rows, study):
    """What the rows say, in sentences: who is ahead of whom, and which differences are sure."""
    _, schemes, points = STUDIES[study]
    of = {(r["point"], r["scheme"]): [] for r in rows}
    for r in rows:
        of[r["point"], r["scheme"]].append(r)
    mean = {key: np.mean([r["accuracy"] for r in some]) for key, some in of.items()}
    order = {p: sorted(schemes, key=lambda s, p=p: -mean[p, s]) for p in points}
    said = []
    if len(schemes) > 1:
        kept = [p for p in points if order[p] == order["ideal"]]
        ahead = ", ".join(order["ideal"])
        said.append(f"- Means in the order {ahead}: in {len(kept)} of {len(points)} rows.")
        said += [
            f"- {p}: {', '.join(f'{s} {100.0 * mean[p, s]:.1f}' for s in order[p])}."
            for p in points
            if p not in kept
        ]
    for point in points[1:]:
        for scheme in schemes:
            ideal = {r["seed"]: r for r in of["ideal", scheme]}
            change, half = difference(of[point, scheme], ideal)
            if abs(change) > half:
                said.append(f"- {point}: {scheme} {shown(change, half)} points.")
    return "\n".join(
        ["", "In words; differences only where their interval is without 0:", "", *said, ""]
    )


def draw(rows, study, path):
    """Differences to the ideal radio, a mark for each scheme."""
    _, schemes, points = STUDIES[study]
    points = [p for p in points if p != "ideal"]
    figure, axes = plt.subplots(figsize=(8.0, 1.2 + 0.5 * len(points)), layout="constrained")
    for k, scheme in enumerate(schemes):
        ideal = {r["seed"]: r for r in rows if r["point"] == "ideal" and r["scheme"] == scheme}
        some = [[r for r in rows if r["point"] == p and r["scheme"] == scheme] for p in points]
        means, halves = zip(*(difference(s, ideal) for s in some), strict=True)
        height = np.arange(len(points)) + 0.6 * ((k + 0.5) / len(schemes) - 0.5)
        axes.errorbar(means, height, xerr=halves, fmt="o", ms=4, lw=1, capsize=2, label=scheme)
    axes.axvline(0.0, color="grey", lw=0.8)
    axes.set_yticks(range(len(points)), points)
    axes.invert_yaxis()
    axes.set_xlabel("accuracy at equal blocks, points to the ideal radio (95 %)")
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=120)


def main():
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--study", choices=STUDIES, action="append")
    given.add_argument("--seeds", type=int, default=5)
    given.add_argument("--first", type=int, default=0, help="the first seed")
    given.add_argument("--rounds", type=int, default=100, help="on CIFAR-10")
    given.add_argument("--runs", type=Path, default=Path("runs/robustness"))
    given.add_argument("--out", type=Path, default=Path("results/radio"))
    given.add_argument("--play", action="store_true", help="write nothing but runs")
    given = given.parse_args()
    for study in given.study or ("robustness", "air"):
        carry_out(study, given)


def carry_out(study, given):
    """All runs of a study, and what they tell."""
    _, schemes, points = STUDIES[study]
    runs = {
        (point, scheme, seed): play(study, point, scheme, seed, given)
        for seed in range(given.first, given.seeds)
        for scheme in schemes
        for point in points
    }
    if given.play:
        return
    blocks = min(run.rounds["resource_blocks"][-1] for run in runs.values())
    rows = [row(*key, run, blocks) for key, run in runs.items()]
    given.out.mkdir(parents=True, exist_ok=True)
    with (given.out / f"{study}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (given.out / f"{study}.md").write_text(
        table(rows, study) + words(rows, study), encoding="utf-8"
    )
    draw(rows, study, given.out / f"{study}.png")


if __name__ == "__main__":
    main()

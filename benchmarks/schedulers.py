"""What schedulers and allocators are worth in training: accuracy at an equal number of slots.

Every line trains the digits preset within the same 30 000 uplink slots, on the same seeds and sky.

    python benchmarks/schedulers.py [--seeds 5] [--out FILE]
"""

import argparse
import platform
from pathlib import Path

import numpy as np

import airfeel

LINES = [
    ("tcs-h", {}),
    ("tcs-h", {"radio.allocator": "exchange"}),
    ("tcs-h", {"scheme.scheduler": "thrifty"}),
    ("tcs-h", {"scheme.scheduler": "thrifty", "radio.allocator": "exchange"}),
    ("tcs-h", {"scheme.scheduler": "proportional-fair"}),
    ("tcs-h", {"scheme.scheduler": "best-channel"}),
    ("tcs-d", {}),
    ("tcs-d", {"scheme.scheduler": "thrifty"}),
    ("tcs-d", {"radio.allocator": "exchange"}),
    ("tcs-d", {"radio.allocator": "round-robin"}),
]


def line(scheme: str, changes: dict[str, str], seeds: int) -> str:
    """One row of the table."""
    accuracy, rounds, slots, heard = [], [], [], []
    for seed in range(seeds):
        settings = [f"{key}={value}" for key, value in changes.items()]
        settings += [f"run.seed={seed}", "training.rounds=500", "run.eval_every=50"]
        run = airfeel.run(airfeel.load(f"digits-{scheme}", settings))
        assert run.summary["reason"] == "budget"
        accuracy.append(100 * run.summary["test_accuracy"])
        rounds.append(run.summary["rounds"])
        slots.append(run.columns["slots"][1:].mean())
        heard.append(run.summary["scheduled_mean"])
    what = ", ".join(changes.values()) or "default"
    spread = np.std(accuracy, ddof=1) if seeds > 1 else float("nan")
    return (
        f"| {scheme} | {what} | {np.mean(accuracy):.1f} ± {spread:.1f} | {np.mean(rounds):.0f} "
        f"| {np.mean(slots):.0f} | {np.mean(heard):.1f} |"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seeds", type=int, default=5)
    arguments.add_argument("--out", type=Path)
    given = arguments.parse_args()
    text = [
        f"{given.seeds} seeds, ± one standard deviation; {platform.machine()}, "
        f"Python {platform.python_version()}",
        "",
        "| scheme | scheduler, allocator | accuracy % | rounds | slots per round | devices heard |",
        "|---|---|---:|---:|---:|---:|",
    ]
    print("\n".join(text))
    for scheme, changes in LINES:
        text.append(line(scheme, changes, given.seeds))
        print(text[-1], flush=True)
    if given.out:
        given.out.write_text("\n".join(text) + "\n", "utf-8")


if __name__ == "__main__":
    main()

"""What rows, checkpoints and progress cost: the demo's run with a folder and a display, or without.

    python benchmarks/store.py [--turns 9]

Turns alternate; a turn is one run of the digits preset (TCS-H), whose rounds take milliseconds: in
longer rounds the share is smaller.
"""

import argparse
import io
import statistics
import tempfile
import time
from pathlib import Path

from rich.console import Console

import airfeel
from airfeel.experiment.progress import Display


def seconds(out: Path | None) -> float:
    """One run, in a folder with checkpoints every 20 rounds and a display, or in memory."""
    e = airfeel.load("digits-tcs-h", ["run.checkpoint_every=20"])
    watchers = [Display(Console(file=io.StringIO(), force_terminal=True))] if out else []
    clock = time.perf_counter()
    airfeel.run(e, out, watchers)
    return time.perf_counter() - clock


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--turns", type=int, default=9)
    turns = arguments.parse_args().turns
    seconds(None)
    bare, kept = [], []
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(turns):
            bare.append(seconds(None))
            kept.append(seconds(Path(folder) / str(turn)))
    extra = [k / b - 1.0 for b, k in zip(bare, kept, strict=True)]
    low, *_, high = statistics.quantiles(extra, n=10)
    print(f"in memory {statistics.median(bare):.3f} s, in a folder {statistics.median(kept):.3f} s")
    print(
        f"rows, checkpoints, progress: {statistics.median(extra):+.1%} ({low:+.1%} … {high:+.1%})"
    )


if __name__ == "__main__":
    main()

"""What the power is cut of: a run, a resumed run, a comparison, a sweep; and ways to spoil a log."""

from collections.abc import Sequence
from pathlib import Path

import airfeel
from airfeel.experiment import compare
from airfeel.experiment.config import Experiment
from airfeel.experiment.signals import Interrupted, Signals
from cuts import First, Scenario, Told, quick
from disk import Operation, Sync
from recorder import read_tree
from small import small
from stopping import Stop


def settings(scheme: str = "tcs-h", seed: int = 3, rounds: int = 20, every: int = 4) -> Experiment:
    """Twenty rounds in some hundredths of a second, with a memory, a carry and records."""
    return small(
        scheme,
        data={"samples": 40},
        training={
            "devices": 3,
            "local_steps": 1,
            "batch_size": 2,
            "rounds": rounds,
            "dtype": "float32",
        },
        scheme={"scheduled": 2, "scheduler": "proportional-fair"},
        radio={"subchannels": 2},
        run={"seed": seed, "checkpoint_every": every, "record_every": 3, "eval_every": 5},
    )


def run_again(root: Path, told: Told) -> None:
    """`airfeel resume`, and `airfeel run` where that finds nothing to resume."""
    folder = root / "runs" / "r"
    watch = [First(told, "runs/r")]
    if (folder / "summary.json").is_file():
        compare.read_run(folder)
    elif (folder / "config.toml").is_file():
        airfeel.resume(folder, watch)
    else:
        airfeel.run(settings(), folder, watch)

"""What the power is cut of: a run, a run that was stopped before, a comparison, a sweep."""

import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from cuts import Scenario
from disk import Tree
from quick import quick
from recorder import read_tree

import airfeel
from airfeel.reports.write import write
from airfeel.runs.signals import Interrupted, Signals
from airfeel.settings.config import Experiment
from airfeel.storage import checkpoint
from airfeel.sweeps import compare, pool, sweep
from small import small
from stopping import Stop

SHORT = {"rounds": 6, "every": 2}


def settings(scheme: str = "tcs-h", seed: int = 3, rounds: int = 20, every: int = 4) -> Experiment:
    """Twenty rounds in some hundredths of a second, with a memory, a carry and records."""
    training = {"devices": 3, "local_steps": 1, "batch_size": 2, "dtype": "float32"}
    return small(
        scheme,
        data={"samples": 40},
        training=training | {"rounds": rounds},
        scheme={"scheduled": 2, "scheduler": "proportional-fair"},
        radio={"subchannels": 2},
        run={"seed": seed, "checkpoint_every": every, "record_every": 3, "eval_every": 5}
        | {"eval_every_blocks": 100},
    )


def run_again(root: Path) -> None:
    """`airfeel run`, or `airfeel resume` once there is a run."""
    folder = root / "runs" / "r"
    if (folder / "summary.json").is_file():
        compare.read_run(folder)
    elif (folder / "config.toml").is_file():
        airfeel.resume(folder)
    else:
        airfeel.run(settings(), folder)


def compare_again(root: Path) -> None:
    """`airfeel compare` of two schemes with two seeds."""
    pairs = [(s, settings(s, seed, **SHORT)) for s in ("tcs-h", "top-k") for seed in (0, 1)]
    out = root / "runs" / "compare"
    write(compare.run_all(pairs, out), out)


class Here:
    """A trial of a sweep, carried out in this process."""

    def __init__(self, trial: pool.Trial) -> None:
        table = trial.experiment.model_dump(mode="json", exclude_none=True)
        self.fault = pool.attempt(table, str(trial.folder), Signals())

    def poll(self) -> str:
        return self.fault

    def stop(self) -> None:
        pass


def sweep_again(root: Path) -> None:
    """`airfeel sweep` over two settings; a trial that fails is named in one line."""
    out = root / "runs" / "sweep"
    points = [(scheme, settings(scheme, 0, **SHORT)) for scheme in ("tcs-d", "fedavg")]
    trials = [pool.Trial(name, e, compare.folder_of(out, name, e)) for name, e in points]
    work = sweep.Sweep(trials, 1, Here)
    work.play(Signals(), lambda _: None, seconds=0.0)
    for fault in work.faults.values():
        kind, _, words = fault.partition(": ")
        raise airfeel.BadInput(words) if kind == "BadInput" else RuntimeError(fault)
    write(work.runs(), out)


def stopped(rows: int, old: bool = False) -> Tree:
    """What a run leaves that was stopped after so many rows, with half a line after its last.

    old: as versions did that knew neither a run's origin nor the checksums of its rows.
    """
    with tempfile.TemporaryDirectory() as name, quick():
        root, signals = Path(name), Signals()
        folder = root / "runs" / "r"
        with suppress(Interrupted):
            airfeel.run(settings(), folder, [Stop(signals, rows)], signals=signals)
        for table in folder.glob("*.csv"):
            with table.open("a") as file:
                file.write("7,a line after the checkpo")
        if old:
            (folder / "facts.json").write_text("{}")
            paths = [folder / name for name in (checkpoint.PREVIOUS, checkpoint.NEWEST)]
            saved = [checkpoint.read(path) for path in paths]
            paths[1].unlink()
            for each in saved:
                checkpoint.write(folder, replace(each, sums={}, origin=None))
        return read_tree(root)


def scenario(name: str) -> Scenario:
    """By name."""
    commands = {"run": run_again, "compare": compare_again, "sweep": sweep_again}
    if name in commands:
        return Scenario(commands[name])
    return Scenario(run_again, stopped(rows=7, old=name == "resume an old one"), {"runs/r": 6})

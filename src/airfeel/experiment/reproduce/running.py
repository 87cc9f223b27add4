"""Carrying the curves out: shortened if asked, within a time, resumable."""

import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airfeel.experiment.compare import folder_of, run_missing
from airfeel.experiment.config import Experiment
from airfeel.experiment.reproduce.curves import Curve
from airfeel.experiment.rows import Row
from airfeel.experiment.runner import Watcher
from airfeel.experiment.signals import Interrupted, Signals
from airfeel.types import BadInput, World

Watch = Callable[[str, Experiment], Iterable[Watcher]]


@dataclass(frozen=True)
class Job:
    """One run of a curve."""

    curve: Curve
    experiment: Experiment
    folder: Path

    @property
    def done(self) -> bool:
        return (self.folder / "summary.json").is_file()

    @property
    def begun(self) -> bool:
        return (self.folder / "rounds.csv").is_file()


def jobs(
    wanted: Iterable[Curve],
    seeds: Sequence[int],
    scale: float,
    out: Path,
    data_dir: Path | None = None,
) -> list[Job]:
    """The runs of some curves, seed by seed, with `scale` times the paper's rounds."""
    if not 0.0 < scale <= 1.0:
        raise BadInput(f"--scale {scale}: must be above 0 and at most 1")
    made = []
    for seed in seeds:
        for curve in wanted:
            e = curve.experiment
            rounds = max(round(scale * curve.rounds), 1)
            changed = {
                "training": e.training.model_copy(update={"rounds": rounds}),
                "run": e.run.model_copy(update={"seed": seed}),
            }
            if data_dir:
                changed["data"] = e.data.model_copy(update={"dir": str(data_dir)})
            e = e.model_copy(update=changed)
            made.append(Job(curve, e, folder_of(out, curve.name, e)))
    return made


def shortened(planned: Iterable[Job]) -> str:
    """What --scale has cut, in words; empty if nothing."""
    cut = {(j.curve.rounds, j.experiment.training.rounds) for j in planned}
    words = [f"{full:,} rounds to {now:,}" for full, now in sorted(cut) if now != full]
    return f"Shortened: {', '.join(words)}; nothing else." if words else ""


def carry_out(
    planned: Sequence[Job],
    hours: float | None,
    watch: Watch = lambda *_: (),
    signals: Signals | None = None,
) -> bool:
    """Run, resume or skip each; whether all are finished.

    With `hours` the time is shared evenly among the runs that are not finished; a run whose share
    is over is saved after its round, and what it left over goes to those that follow.
    """
    if hours is not None and not hours > 0.0:
        raise BadInput(f"--budget-hours {hours}: must be above 0")
    signals = signals or Signals()
    end = None if hours is None else time.monotonic() + 3600.0 * hours
    waiting = [job for job in planned if not job.done]
    for i, job in enumerate(waiting):
        now = time.monotonic()
        if end is not None and now >= end:
            break
        until = None if end is None else now + (end - now) / (len(waiting) - i)
        watchers = [*watch(job.curve.name, job.experiment), _Alarm(until, signals)]
        try:
            run_missing(job.experiment, job.folder, watchers, signals)
        except Interrupted as stop:
            if stop.number != signal.SIGALRM:
                raise
        if signals.received == signal.SIGALRM:
            signals.received = None
    return all(job.done for job in planned)


@dataclass
class _Alarm:
    """A watcher that asks its run to stop when time is up."""

    until: float | None
    signals: Signals

    def begin(self, experiment: Experiment, world: World) -> None:
        pass

    def row(self, row: Row) -> None:
        if self.until is not None and time.monotonic() >= self.until:
            self.signals.received = self.signals.received or signal.SIGALRM

    def end(self, summary: dict[str, Any]) -> None:
        pass

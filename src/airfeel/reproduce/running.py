"""Carrying the curves out: shortened if asked, within a time, resumable."""

import math
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from airfeel.catalogue import Value
from airfeel.reproduce.curves import Curve
from airfeel.runs.runner import Watcher
from airfeel.runs.signals import Interrupted, Signals
from airfeel.settings.config import Experiment
from airfeel.storage.rows import Row
from airfeel.sweeps.compare import folder_of, run_missing
from airfeel.sweeps.pool import Trial
from airfeel.sweeps.sweep import Sweep
from airfeel.types import BadInput, World

Watch = Callable[[str, Experiment], Iterable[Watcher]]


def trials(
    wanted: Iterable[Curve],
    seeds: Sequence[int],
    scale: float,
    out: Path,
    data_dir: Path | None = None,
    eval_every: int | None = None,
) -> list[Trial]:
    """The runs of some curves, seed by seed, with `scale` times the paper's rounds.

    eval_every: rounds between two looks at the test set; the curve's own if None.
    """
    looks = {} if eval_every is None else {"eval_every": eval_every}
    planned = []
    for seed in seeds:
        for curve in wanted:
            e = curve.experiment
            changed = {
                "training": e.training.model_copy(update={"rounds": scaled(curve, scale)}),
                "run": e.run.model_copy(update={"seed": seed} | looks),
            }
            if data_dir:
                changed["data"] = e.data.model_copy(update={"dir": str(data_dir)})
            e = e.model_copy(update=changed)
            planned.append(Trial(curve.name, e, folder_of(out, curve.name, e)))
    return planned


def scaled(curve: Curve, scale: float) -> int:
    """`scale` times the paper's rounds of a curve, at least one."""
    if not 0.0 < scale <= 1.0:
        raise BadInput(f"--scale {scale}: must be above 0 and at most 1")
    return max(round(scale * curve.rounds), 1)


def shortened(wanted: Iterable[Curve], scale: float) -> str:
    """What --scale cuts, in words; empty if nothing."""
    cut = {(curve.rounds, scaled(curve, scale)) for curve in wanted}
    words = [f"{full:,} rounds to {now:,}" for full, now in sorted(cut) if now != full]
    return f"Shortened: {', '.join(words)}; nothing else." if words else ""


def carry_out(
    planned: Sequence[Trial],
    hours: float | None,
    watch: Watch = lambda *_: (),
    signals: Signals | None = None,
    tell: Callable[[str], object] = lambda line: None,
) -> bool:
    """Run, resume or skip each; whether all are finished.

    With `hours` the time is shared evenly among the runs that are not finished; a run whose share
    is over is saved after its round, and what it left over goes to those that follow. One that
    cannot be resumed is told in a line and left as it is: the others do not wait for it.
    """
    end = seconds_of(hours) + time.monotonic()
    signals = signals or Signals()
    waiting = [trial for trial in planned if not trial.done]
    for i, trial in enumerate(waiting):
        now = time.monotonic()
        if now >= end:
            break
        until = now + (end - now) / (len(waiting) - i)
        watchers = [*watch(trial.label, trial.experiment), _Alarm(until, signals)]
        try:
            run_missing(trial.experiment, trial.folder, watchers, signals)
        except Interrupted as stop:
            if stop.number != signal.SIGALRM:
                raise
        except BadInput as error:
            if not trial.begun:
                raise
            tell(f"{trial.label} seed {trial.experiment.run.seed}: left as it is, {error}")
        if signals.received == signal.SIGALRM:
            signals.received = None
    return all(trial.done for trial in planned)


def seconds_of(hours: float | None) -> float:
    """The time of a call of the command, endless if none is named."""
    if hours is not None and not hours > 0.0:
        raise BadInput(f"--budget-hours {hours}: must be above 0")
    return math.inf if hours is None else 3600.0 * hours


@dataclass
class Shares:
    """Of runs that go on beside each other, stops each whose share of the time is over.

    end: of all the time, as `time.monotonic` tells it. Who starts with n runs unfinished, w at a
    time, has w/n of what is left then.
    """

    end: float
    _until: dict[Path, float] = field(default_factory=dict)

    def __call__(self, work: Sweep) -> None:
        """To be called now and then."""
        now = time.monotonic()
        for folder, job in work.running.items():
            if folder not in self._until:
                left = sum(not t.done and t.folder not in work.faults for t in work.trials)
                share = min(1.0, work.at_a_time / max(left, 1))
                self._until[folder] = now + share * (self.end - now)
            if now >= self._until[folder]:
                job.stop()


@dataclass
class _Alarm:
    """A watcher that asks its run to stop when time is up."""

    until: float
    signals: Signals

    def begin(self, experiment: Experiment, world: World) -> None:
        pass

    def row(self, row: Row) -> None:
        if time.monotonic() >= self.until:
            self.signals.received = self.signals.received or signal.SIGALRM

    def end(self, summary: Mapping[str, Value]) -> None:
        pass

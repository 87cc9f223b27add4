"""Carry a league out: tuning on validation samples, then the table's runs with what was found."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from airfeel.runs.signals import Signals
from airfeel.settings.config import Experiment
from airfeel.storage.run import Run
from airfeel.sweeps.benchmark.rules import Contender, League, Point
from airfeel.sweeps.benchmark.tuned import Tried, write_tuning
from airfeel.sweeps.compare import folder_of, read_run
from airfeel.sweeps.pool import Pool, Trial
from airfeel.sweeps.sweep import Sweep
from airfeel.types import BadInput


@dataclass(frozen=True)
class Played:
    """One run of the table."""

    label: str
    slots: int
    point: Point
    run: Run

    @property
    def accuracy(self) -> float:
        """Of the model that the budget has bought."""
        return final_accuracy(self.run)


Show = Callable[[str, Sweep], None]  # what is going on, and how far it is
Key = tuple[str, int, int]  # contender, budget, point


def play(
    league: League,
    out: Path,
    signals: Signals,
    show: Show,
    workers: int = 0,
    tried: Sequence[Tried] | None = None,
) -> tuple[list[Tried], list[Played]]:
    """Tune every contender at every budget, then play the table. Finished runs are reused.

    What was `tried` before need not be tuned again. What tuning has found is kept at once.
    """
    with _sweeping(signals, show, workers) as carry_out:
        tuned = _tune(league, out / "tuning", carry_out) if tried is None else list(tried)
        write_tuning(tuned, out / "tuning.csv")
        best = {(t.label, t.slots): t.point for t in tuned if t.chosen}
        asked = [
            (who, slots, seed)
            for slots in league.slots
            for seed in league.seeds
            for who in league.contenders
        ]
        trials = [
            _trial(out / "runs", who, league.experiment(who, best[who.label, slots], slots, seed))
            for who, slots, seed in asked
        ]
        carry_out("playing", trials)
    played = [
        Played(who.label, slots, best[who.label, slots], read_run(trial.folder))
        for (who, slots, _), trial in zip(asked, trials, strict=True)
    ]
    return tuned, played


def final_accuracy(run: Run) -> float:
    """Of a run's last model, whenever the last look of the rows was; NaN where it diverged."""
    accuracy = run.summary["test_accuracy"]
    return math.nan if accuracy is None else float(accuracy)


def _tune(
    league: League, out: Path, carry_out: Callable[[str, Sequence[Trial]], None]
) -> list[Tried]:
    """Run every point of every contender on the tuning seeds, where there is one to choose.

    These runs are evaluated on training samples that are held out: the test set is for the table.
    """
    points = {
        (who.label, slots, i): (who, point)
        for slots in league.slots
        for who in league.contenders
        for i, point in enumerate(who.points)
    }
    trials = {
        key: [
            _trial(out, who, league.tuning_run(who, point, key[1], seed))
            for seed in (league.tuning_seeds if len(who.points) > 1 else ())
        ]
        for key, (who, point) in points.items()
    }
    carry_out("tuning", [trial for some in trials.values() for trial in some])
    reached = {
        key: tuple(final_accuracy(read_run(trial.folder)) for trial in some)
        for key, some in trials.items()
    }
    best = _best(reached)
    return [
        Tried(
            key[0],
            key[1],
            point,
            reached[key],
            best[key[:2]] == key[2],
            league.tuning_seeds if reached[key] else (),
            league.validation if reached[key] else 0.0,
        )
        for key, (_, point) in points.items()
    ]


def _best(reached: dict[Key, tuple[float, ...]]) -> dict[tuple[str, int], int]:
    """The point of largest mean accuracy, the first among equals; one that has none is last."""
    best: dict[tuple[str, int], int] = {}
    score: dict[tuple[str, int], float] = {}
    for (label, slots, i), accuracies in reached.items():
        mean = float(np.mean(accuracies)) if accuracies else 0.0
        mean = -1.0 if math.isnan(mean) else mean
        if mean > score.get((label, slots), -2.0):
            score[label, slots], best[label, slots] = mean, i
    return best


def _trial(out: Path, who: Contender, e: Experiment) -> Trial:
    label = f"{who.label}-{e.budget.slots}"
    return Trial(label, e, folder_of(out, label, e))


@contextmanager
def _sweeping(
    signals: Signals, show: Show, workers: int
) -> Iterator[Callable[[str, Sequence[Trial]], None]]:
    """What carries trials out on all cores; the first run that fails ends the league."""
    with Pool() as pool:

        def carry_out(what: str, trials: Sequence[Trial]) -> None:
            sweep = Sweep(trials, workers or os.cpu_count() or 1, pool.start)
            sweep.play(signals, lambda s: show(what, s), 0.05)
            for folder, fault in sweep.faults.items():
                raise BadInput(f"{folder}: failed: {fault}")

        yield carry_out

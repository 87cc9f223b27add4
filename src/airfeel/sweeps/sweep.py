"""Many runs from one file: a grid or a list of settings, times seeds, on all cores."""

import itertools
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from airfeel.analysis.criterion import Judge
from airfeel.analysis.groups import Groups, by_name, check
from airfeel.catalogue import Table, Value
from airfeel.errors import BadInput, quote, shorten
from airfeel.runs.signals import Interrupted, Signals
from airfeel.settings.config import SECTIONS, Experiment
from airfeel.settings.load import experiment, load, read_toml
from airfeel.settings.preset_names import known
from airfeel.sweeps.compare import evaluated_at, folder_of, read_run
from airfeel.sweeps.pool import Job, Pool, Start, Trial

_MOST_POINTS = 100_000


def read_sweep(path: Path, out: Path, judge: Judge | None = None) -> list[Trial]:
    """The trials of a sweep file.

    `base` is a preset, a curve of the paper or a TOML file beside this one; `seeds` a list; `grid`
    a table whose lists are combined; `list` an array of tables. Keys are settings, such as
    "scheme.bits" = [4, 8]. Runs are evaluated where `judge` compares.
    """
    table = read_toml(path)
    unknown = set(table) - {"base", "seeds", "grid", "list"}
    if unknown:
        legal = "base, seeds, grid and list"
        single = f"; it is one experiment: `airfeel run {path}`" * (unknown <= set(SECTIONS))
        raise BadInput(
            f"{path}: {sorted(unknown)[0]} is no key of a sweep; legal are {legal}{single}"
        )
    source = table.get("base", "digits-tcs-h")
    if not isinstance(source, str):
        raise BadInput(f"{path}: base = {quote(source)}: must be a preset or a TOML file")
    base = load(source if known(source) else path.parent / source)
    points = _changes(path, table)
    keys = _names(points)
    tell = [k for k in keys if len({str(p.get(k)) for p in points}) > 1] or list(keys)
    trials = []
    for changes, seed in itertools.product(points, _seeds(path, table, base)):
        e = _change(base, changes | {"run.seed": seed})
        label = ",".join(f"{keys[k]}={changes[k]}" for k in tell if k in changes) or "base"
        folder = ",".join(f"{k.split('.')[-1]}={v}" for k, v in changes.items()) or "base"
        trials.append(Trial(label, *evaluated_at(judge, e, partial(folder_of, out, folder))))
    try:
        check((trial.label, trial.experiment) for trial in trials)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error
    return trials


def trials_of(
    named: Iterable[tuple[str, Experiment]],
    out: Path,
    fresh: bool = False,
    judge: Judge | None = None,
) -> list[Trial]:
    """The trials of a comparison, evaluated where `judge` compares."""
    return [
        Trial(label, *evaluated_at(judge, e, partial(folder_of, out, label), fresh), fresh)
        for label, e in named
    ]


def _seeds(path: Path, table: Table, base: Experiment) -> list[int]:
    """The seeds of every point, each once: one twice would pass for two independent runs."""
    seeds = table.get("seeds", [base.run.seed])
    if not isinstance(seeds, list) or not seeds or not all(type(s) is int for s in seeds):
        raise BadInput(f"{path}: seeds = {quote(seeds)}: must be a list such as [0, 1, 2]")
    for seed in seeds:
        if seeds.count(seed) > 1:
            raise BadInput(f"{path}: seeds holds {seed} twice; name each seed once")
    return seeds


def _names(points: list[Table]) -> dict[str, str]:
    """Settings as labels have them: without the section, unless another one is called so too."""
    keys = list(dict.fromkeys(key for point in points for key in point))
    last = [key.split(".")[-1] for key in keys]
    return {k: name if last.count(name) == 1 else k for k, name in zip(keys, last, strict=True)}


def _changes(path: Path, table: Table) -> list[Table]:
    """The settings of each point: the grid's combinations, then the list."""
    grid: dict[str, list[Value]] = {}
    given, points = table.get("grid", {}), table.get("list", [])
    if not isinstance(given, dict):
        raise BadInput(f"{path}: grid = {quote(given)}: must be a table of lists")
    if not isinstance(points, list) or not all(isinstance(point, dict) for point in points):
        raise BadInput(f"{path}: list = {quote(points)}: must be tables, written as [[list]]")
    for key, values in _flatten(given):
        if not isinstance(values, list) or not values:
            raise BadInput(
                f"{path}: grid.{shorten(key)} = {quote(values)}: must be a list of values"
            )
        grid[key] = values
    if (count := math.prod(map(len, grid.values()))) > _MOST_POINTS:
        raise BadInput(f"{path}: grid has {count} points; must be at most {_MOST_POINTS}")
    combined = [dict(zip(grid, p, strict=True)) for p in itertools.product(*grid.values())]
    listed = [dict(_flatten(point)) for point in points]
    found = (combined if grid or not listed else []) + listed
    if any("run.seed" in point for point in found):
        raise BadInput(f"{path}: run.seed: is no setting of a point; write seeds = [0, 1, 2]")
    return found


def _flatten(table: Table, before: str = "") -> Iterator[tuple[str, Value]]:
    """section.key = value, however the file nests it."""
    for key, value in table.items():
        if isinstance(value, dict) and "." not in before + key:
            yield from _flatten(value, f"{before}{key}.")
        else:
            yield before + key, value


def _change(base: Experiment, changes: Table) -> Experiment:
    table = base.model_dump(mode="json", exclude_none=True)
    for key, value in changes.items():
        section, _, name = key.partition(".")
        table.setdefault(section, {})[name] = value
    return experiment(table)


@dataclass
class Sweep:
    """Carries trials out, some at a time, and keeps their faults."""

    trials: Sequence[Trial]
    workers: int = 0
    start: Start | None = None  # on this machine, a core each, unless told otherwise
    faults: dict[Path, str] = field(default_factory=dict)
    running: dict[Path, Job] = field(default_factory=dict)

    @property
    def at_a_time(self) -> int:
        """How many go on beside each other."""
        return self.workers or os.cpu_count() or 1

    def play(self, signals: Signals, show: Callable[["Sweep"], None], seconds: float = 0.2) -> None:
        """Until nothing is left to do; `show` is called now and then."""
        with Pool() as pool:
            self._play(self.start or pool.start, signals, show, seconds)
        if signals.received is not None:
            raise Interrupted(signals.received)

    def _play(
        self, start: Start, signals: Signals, show: Callable[["Sweep"], None], seconds: float
    ) -> None:
        waiting = [t for t in self.trials if t.fresh or not t.done]
        if waiting:
            show(self)
        while waiting or self.running:
            if signals.received is not None:
                waiting = []
                for job in self.running.values():
                    job.stop()
            while waiting and len(self.running) < self.at_a_time:
                trial = waiting.pop(0)
                self.running[trial.folder] = start(trial)
            time.sleep(seconds)
            for folder, job in list(self.running.items()):
                fault = job.poll()
                if fault is not None:
                    del self.running[folder]
                    if fault:
                        self.faults[folder] = fault
            show(self)

    def runs(self) -> Groups:
        """The finished runs by label."""
        groups: Groups = {}
        for trial in self.trials:
            if trial.done:
                groups.setdefault(trial.label, []).append(read_run(trial.folder, trial.experiment))
        return by_name(groups)

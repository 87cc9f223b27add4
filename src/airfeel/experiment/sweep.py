"""Many runs from one file: a grid or a list of settings, times seeds, on all cores."""

import contextlib
import itertools
import math
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Protocol, runtime_checkable

from airfeel.catalogue import Table, Value
from airfeel.errors import BadInput, quote, shorten
from airfeel.experiment.compare import folder_of, read_run, run_missing
from airfeel.experiment.config import Experiment
from airfeel.experiment.groups import Groups, check
from airfeel.experiment.load import experiment, known, load, read_toml
from airfeel.experiment.signals import Interrupted, Signals

_MOST_POINTS = 100_000


@dataclass(frozen=True)
class Trial:
    """One run to be carried out, of a sweep or of the paper's curves."""

    label: str
    experiment: Experiment
    folder: Path

    @property
    def done(self) -> bool:
        return (self.folder / "summary.json").is_file()

    @property
    def begun(self) -> bool:
        return (self.folder / "rounds.csv").is_file()


@runtime_checkable
class Job(Protocol):
    """A trial under way somewhere."""

    def poll(self) -> str | None: ...  # None while it runs, "" if it went well, else the fault
    def stop(self) -> None: ...


Start = Callable[[Trial], Job]


def read_sweep(path: Path, out: Path) -> list[Trial]:
    """The trials of a sweep file.

    `base` is a preset, a curve of the paper or a TOML file beside this one; `seeds` a list; `grid`
    a table whose lists are combined; `list` an array of tables. Keys are settings, such as
    "scheme.bits" = [4, 8].
    """
    table = read_toml(path)
    unknown = set(table) - {"base", "seeds", "grid", "list"}
    if unknown:
        legal = "base, seeds, grid and list"
        raise BadInput(f"{path}: {sorted(unknown)[0]} is no key of a sweep; legal are {legal}")
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
        trials.append(Trial(label, e, folder_of(out, folder, e)))
    try:
        check((trial.label, trial.experiment) for trial in trials)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error
    return trials


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
class LocalJob:
    """A trial in a process of its own: whatever happens to it, the others go on."""

    process: BaseProcess
    pipe: Connection

    def poll(self) -> str | None:
        if self.process.is_alive():
            return None
        try:
            return str(self.pipe.recv())
        except EOFError:  # it was killed before it could tell
            return f"its process ended with code {self.process.exitcode}"

    def stop(self) -> None:
        self.process.terminate()  # the trial finishes its round and is saved


def start_local(trial: Trial) -> LocalJob:
    """Start a trial on this machine, on one core."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    table = trial.experiment.model_dump(mode="json", exclude_none=True)
    process = context.Process(target=work, args=(table, str(trial.folder), there))
    process.start()
    there.close()
    return LocalJob(process, here)


def work(table: Table, folder: str, pipe: Connection) -> None:
    """What a worker does: carry out or resume one run, and tell its fault, if any."""
    # Ctrl-C reaches all processes of a terminal, and the sweep then tells each of them once more.
    with Signals(hasty=False) as signals, contextlib.suppress(BrokenPipeError):
        pipe.send(attempt(table, folder, signals))


def attempt(table: Table, folder: str, signals: Signals, threads: int = 1) -> str:
    """Carry out or resume one run, in this process; its fault, or nothing."""
    try:
        e = experiment(table)
        here = e.run.model_copy(update={"threads": threads, "engine": "threads"})
        run_missing(e.model_copy(update={"run": here}), Path(folder), signals=signals)
    except Interrupted:
        return "stopped"
    except Exception as error:  # one failed run must not stop the others
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""


@dataclass
class Sweep:
    """Carries trials out, some at a time, and keeps their faults."""

    trials: Sequence[Trial]
    workers: int = 0
    start: Start = start_local
    faults: dict[Path, str] = field(default_factory=dict)
    running: dict[Path, Job] = field(default_factory=dict)

    def play(self, signals: Signals, show: Callable[["Sweep"], None], seconds: float = 0.2) -> None:
        """Until nothing is left to do; `show` is called now and then."""
        waiting = [t for t in self.trials if not t.done]
        limit = self.workers or os.cpu_count() or 1
        while waiting or self.running:
            if signals.received is not None:
                waiting = []
                for job in self.running.values():
                    job.stop()
            while waiting and len(self.running) < limit:
                trial = waiting.pop(0)
                self.running[trial.folder] = self.start(trial)
            time.sleep(seconds)
            for folder, job in list(self.running.items()):
                fault = job.poll()
                if fault is not None:
                    del self.running[folder]
                    if fault:
                        self.faults[folder] = fault
            show(self)
        if signals.received is not None:
            raise Interrupted(signals.received)

    def runs(self) -> Groups:
        """The finished runs by label."""
        groups: Groups = {}
        for trial in self.trials:
            if trial.done:
                groups.setdefault(trial.label, []).append(read_run(trial.folder, trial.experiment))
        return groups

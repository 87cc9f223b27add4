"""Runs to be carried out, and workers for them: a process is started once, not once per run."""

import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Protocol, runtime_checkable

from airfeel.catalogue import Table
from airfeel.runs.signals import Interrupted, Signals
from airfeel.settings.config import Experiment
from airfeel.settings.load import experiment
from airfeel.sweeps.compare import run_missing
from airfeel.sweeps.forks import context, safe_path

STOPPED = "stopped"  # what is said of a run that was asked to end; it can be gone on with


@dataclass(frozen=True)
class Trial:
    """One run to be carried out, of a sweep or of the paper's curves."""

    label: str
    experiment: Experiment
    folder: Path
    fresh: bool = False  # delete what is there and run again

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


@dataclass
class Worker:
    """A process that waits for work at its end of a pipe."""

    process: BaseProcess
    pipe: Connection


@dataclass(frozen=True)
class _Warned:
    """What a worker warns of; its parent says it, as loud and in as many places as it says all."""

    text: str


@dataclass
class PooledJob:
    """A trial under way in a worker, which goes back to the others when it is done."""

    worker: Worker
    give_back: Callable[[Worker], None]

    def poll(self) -> str | None:
        """None while it runs, "" if it went well, else the fault; one that dies harms no other."""
        process, pipe = self.worker.process, self.worker.pipe
        try:
            if not pipe.poll():
                return None if process.is_alive() or pipe.poll() else self._died()
            told = pipe.recv()
        except (EOFError, OSError):  # it was killed before it could tell
            return self._died()
        if isinstance(told, _Warned):
            warnings.warn(told.text, stacklevel=2)
            return None
        self.give_back(self.worker)
        return str(told)

    def stop(self) -> None:
        """The trial finishes its round and is saved.

        Its worker gets no other: asked just as a trial ends, it may end as well.
        """
        self.give_back = lambda _: None
        self.worker.process.terminate()

    def _died(self) -> str:
        self.worker.process.join()
        return f"its process ended with code {self.worker.process.exitcode}"


@dataclass
class Pool:
    """Starts trials on idle workers, and a new worker where none is idle; `with` ends them all."""

    _idle: list[Worker] = field(default_factory=list)
    _all: list[Worker] = field(default_factory=list)

    def start(self, trial: Trial) -> PooledJob:
        """Carry out a trial on one core of this machine."""
        worker = self._idle.pop() if self._idle else self._hire()
        table = trial.experiment.model_dump(mode="json", exclude_none=True)
        worker.pipe.send((table, str(trial.folder), trial.fresh))
        return PooledJob(worker, self._idle.append)

    def _hire(self) -> Worker:
        here, there = context().Pipe()
        process = context().Process(target=_work, args=(there, dict(os.environ)), daemon=True)
        with safe_path():
            process.start()
        there.close()
        self._all.append(Worker(process, here))
        return self._all[-1]

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._all:
            worker.pipe.close()
        for worker in self._all:
            worker.process.join(timeout=10)
            worker.process.terminate()


def _work(pipe: Connection, environment: dict[str, str]) -> None:
    """What a worker does until its pipe closes; between two trials a signal ends it at once."""
    server = sys.modules.get("airfeel.sweeps.forkable")  # its deafness is not for workers
    for number, before in server.BEFORE.items() if server else ():
        signal.signal(number, before)
    os.environ.clear()
    os.environ.update(environment)
    with contextlib.suppress(EOFError, OSError):
        while True:
            table, folder, fresh = pipe.recv()
            warnings.showwarning = partial(_warn, pipe, Path(folder).name)
            # Ctrl-C reaches all processes of a terminal, and each is then told to stop once more.
            with Signals(hasty=False) as signals:
                pipe.send(attempt(table, folder, signals, fresh=fresh))


def _warn(pipe: Connection, run: str, message: Warning | str, *_: object, **__: object) -> None:
    pipe.send(_Warned(f"{message} ({run})"))


def attempt(
    table: Table, folder: str, signals: Signals, threads: int = 1, fresh: bool = False
) -> str:
    """Carry out or resume one run, in this process; its fault, or nothing."""
    try:
        e = experiment(table)
        here = e.run.model_copy(update={"threads": threads, "engine": "threads"})
        run_missing(e.model_copy(update={"run": here}), Path(folder), signals=signals, fresh=fresh)
    except Interrupted:
        return STOPPED
    except Exception as error:  # one failed run must not stop the others
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""

"""The only loop over rounds."""

import math
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from airfeel import carry
from airfeel.engines.base import Keeper, Lost
from airfeel.engines.cluster import joined
from airfeel.engines.ray import RayEngine
from airfeel.engines.threads import Threads
from airfeel.experiment import notebook, rows
from airfeel.experiment.build import Setup, build
from airfeel.experiment.checkpoint import Checkpoint
from airfeel.experiment.config import Experiment
from airfeel.experiment.load import load
from airfeel.experiment.rows import Row
from airfeel.experiment.signals import Interrupted, Signals
from airfeel.experiment.store import Store
from airfeel.experiment.summary import End, summarise
from airfeel.round import play_round, start
from airfeel.types import BadInput, Reason, Report, State, Turn, World

if TYPE_CHECKING:
    from pandas import DataFrame

    from airfeel.experiment.figures import Panels

_LOSSES = 3  # in a row, without a checkpoint in between, that a run survives


@runtime_checkable
class Watcher(Protocol):
    """Sees a run go by: a progress display, a logger, a user's own."""

    def begin(self, experiment: Experiment, world: World) -> None: ...
    def row(self, row: Row) -> None: ...
    def end(self, summary: dict[str, Any]) -> None: ...


@dataclass(frozen=True)
class Run:
    """A finished run."""

    experiment: Experiment
    columns: dict[str, np.ndarray]
    summary: dict[str, Any]
    theta: Tensor | None = None
    folder: Path | None = None

    @property
    def rounds(self) -> dict[str, np.ndarray]:
        """The columns of rounds.csv, one value per round."""
        return self.columns

    def frame(self) -> "DataFrame":
        """The same as a pandas DataFrame, one row per round."""
        return notebook.frame(self.columns)

    def plot(self, axes: "Panels | None" = None) -> "Panels":
        """Accuracy against rounds and resource blocks; hand the axes on to draw another run."""
        return notebook.plot(self.columns, self.experiment.scheme.name, axes)

    def _repr_html_(self) -> str:
        return notebook.as_html(self.summary)


def run(
    experiment: Experiment,
    out: str | Path | None = None,
    watchers: Iterable[Watcher] = (),
    *,
    signals: Signals | None = None,
) -> Run:
    """Carry out an experiment; with `out`, into that folder, which must be new or empty."""
    setup = build(experiment)
    with ExitStack() as stack:
        make, more = _engine_maker(experiment, setup, stack), setup.scheme.columns
        store = stack.enter_context(Store(Path(out), experiment, more=more)) if out else None
        loop = _Loop(experiment, setup, make, store, tuple(watchers), signals or Signals(), stack)
        return loop.play()


def resume(
    folder: str | Path, watchers: Iterable[Watcher] = (), *, signals: Signals | None = None
) -> Run:
    """Go on with an unfinished run, to the very result that it would have had uninterrupted."""
    folder = Path(folder)
    if not (folder / "config.toml").is_file():
        raise BadInput(f"{folder}: is no run folder, it has no config.toml")
    if (folder / "summary.json").is_file():
        raise BadInput(f"{folder}: is complete, there is nothing to resume")
    experiment = load(folder / "config.toml")
    setup = build(experiment)
    with ExitStack() as stack:
        make = _engine_maker(experiment, setup, stack)
        store = stack.enter_context(
            Store(folder, experiment, resume=True, more=setup.scheme.columns)
        )
        for fault in store.faults:
            went = store.found.state.round if store.found else 0
            warnings.warn(f"{fault}; going on from round {went}", stacklevel=2)
        loop = _Loop(experiment, setup, make, store, tuple(watchers), signals or Signals(), stack)
        return loop.play()


def _engine_maker(e: Experiment, setup: Setup, stack: ExitStack) -> Callable[[], Keeper]:
    """What makes the run's engine, again if need be; a cluster is joined until the stack ends."""
    world, scheme = setup.world, setup.scheme
    buffers = scheme.codec.memory.buffers
    if e.run.engine == "threads":
        return lambda: Threads(world, e.run.threads, e.run.memory, buffers=buffers)
    stack.enter_context(joined(e.run.address, e.run.actors))
    return lambda: RayEngine(world, scheme.learn, e.run.actors, e.run.memory, buffers)


@dataclass
class _Loop:
    """One run under way."""

    e: Experiment
    setup: Setup
    make: Callable[[], Keeper]
    store: Store | None
    watchers: tuple[Watcher, ...]
    signals: Signals
    stack: ExitStack  # of what is open until the run ends
    written: list[Row] = field(default_factory=list)
    saved_at: float = field(default_factory=time.monotonic)
    safe: Checkpoint | None = None  # stands in for the store's where there is none
    losses: int = 0

    def play(self) -> Run:
        for watcher in self.watchers:
            watcher.begin(self.e, self.setup.world)
        while True:
            try:
                with closing(self.make()) as self.engine:
                    return self.rounds()
            except Lost as loss:
                self.go_back(loss)

    def rounds(self) -> Run:
        """From the last checkpoint, if there is one, to the end."""
        state = self.first()
        reason = _over(self.e, state, self.written[-1])
        while reason is None:
            state, reason = self.round(state)
            self.keep_safe(state, reason)
        return self.finish(state, reason)

    def go_back(self, loss: Lost) -> None:
        """After the loss of a worker: what was written after the last checkpoint is cut off."""
        self.losses += 1
        if self.losses > _LOSSES:
            raise loss
        if self.store:
            self.store.__exit__()
            more = self.setup.scheme.columns
            again = Store(self.store.folder, self.e, resume=True, more=more)
            self.store = self.stack.enter_context(again)
        else:
            del self.written[self.safe.bytes["rows"] if self.safe else 0 :]
        safe = self.store.found if self.store else self.safe
        warnings.warn(f"{loss}; back to round {safe.state.round if safe else 0}", stacklevel=2)

    def first(self) -> State:
        """The state to begin with: the checkpoint's, or that of round 0."""
        found = self.store.found if self.store else self.safe
        if self.store:
            path = self.store.folder / "rounds.csv"
            self.written = rows.read_rows(path) if found else []
        if found:
            self.engine.restore(found.buffers)
            for watcher in self.watchers:
                watcher.row(self.written[-1])
            fresh = carry.begin(self.setup.scheme, self.setup.world, found.state.update)
            return replace(found.state, carry=carry.restore(fresh, found.state.carry))
        clock = time.perf_counter()
        setup = self.setup
        state = start(setup.scheme, setup.world, setup.streams, self.engine)
        look = self.engine.evaluate(state.theta)
        seconds = time.perf_counter() - clock
        self.keep(rows.first_row(*look, seconds, setup.scheme.columns), None)
        return state

    def round(self, state: State) -> tuple[State, End | None]:
        """One round, its row, and why the run ends with it, if it does."""
        e, setup = self.e, self.setup
        clock = time.perf_counter()
        t = state.round + 1
        look = t % e.run.eval_every == 0 or t == e.training.rounds
        turn = Turn(setup.world, state, setup.streams)
        after, report = play_round(setup.scheme, turn, self.engine, measure=look)
        if report is None:
            return state, End.BUDGET
        seen = self.engine.evaluate(after.theta) if look else (math.nan, math.nan)
        seconds = time.perf_counter() - clock
        self.keep(rows.round_row(report, after, e.radio.subchannels, *seen, seconds), report)
        return after, _ended(e, after, report) or _over(e, after, self.written[-1])

    def keep(self, row: Row, report: Report | None) -> None:
        self.written.append(row)
        if self.store:
            every = self.e.run.record_every
            wanted = every > 0 and report is not None and report.round % every == 0
            self.store.add(row, report, keep=wanted)
        for watcher in self.watchers:
            watcher.row(row)

    def keep_safe(self, state: State, reason: End | None) -> None:
        """A checkpoint when one is due; a run that was asked to stop is saved and stops."""
        options = self.e.run
        stop = self.signals.received if reason is None else None
        late = time.monotonic() - self.saved_at >= 60.0 * options.checkpoint_minutes
        due = options.checkpoint_every > 0 and state.round % options.checkpoint_every == 0
        if reason is None and (due or late or stop):
            self.save(state)
        if stop:
            raise Interrupted(stop)

    def save(self, state: State) -> None:
        """A checkpoint: in the store, or for want of one here, where the engine may lose a part."""
        if self.store:
            self.store.save(state, self.engine.buffers)
        elif self.e.run.engine == "ray":
            self.safe = Checkpoint(state, dict(self.engine.buffers), {"rows": len(self.written)})
        self.saved_at = time.monotonic()
        self.losses = 0

    def finish(self, state: State, reason: End) -> Run:
        accuracy, loss = (float(self.written[-1][k]) for k in ("test_accuracy", "test_loss"))
        if math.isnan(loss):
            accuracy, loss = self.engine.evaluate(state.theta)
        columns = rows.columns(self.written, [*rows.ROUND_COLUMNS, *self.setup.scheme.columns])
        summary = summarise(self.e, self.setup, state, columns, reason, accuracy, loss)
        if self.store:
            self.store.finish(summary, self.setup.world.model.named(state.theta))
        for watcher in self.watchers:
            watcher.end(summary)
        folder = self.store.folder if self.store else None
        return Run(self.e, columns, summary, state.theta, folder)


def _over(e: Experiment, state: State, row: Row) -> End | None:
    """Reasons that hold for a state: nothing further may be played."""
    target = e.budget.target_accuracy
    if not torch.isfinite(state.theta).all():
        return End.DIVERGED
    if target is not None and float(row["test_accuracy"]) >= target:
        return End.TARGET
    if state.idle >= e.run.idle_limit:
        return End.STALLED
    if state.slots >= e.slots:
        return End.BUDGET
    if e.training.rounds is not None and state.round >= e.training.rounds:
        return End.ROUNDS
    return None


def _ended(e: Experiment, state: State, report: Report) -> End | None:
    """Reasons that only a round can give."""
    trained = [r for r in report.plan.reason if r is not Reason.NOT_INVITED]
    if trained and all(r is Reason.NOT_FINITE for r in trained):
        return End.DIVERGED
    limit = e.budget.convergence * float(torch.linalg.vector_norm(state.theta))
    if e.budget.convergence and state.idle == 0 and report.update_norm <= limit:
        return End.CONVERGED
    return None

"""The only loop over rounds."""

import math
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from airfeel import carry
from airfeel.build.setup import Setup
from airfeel.engines.base import Keeper, Lost
from airfeel.round import play_round, start
from airfeel.runs import starvation
from airfeel.runs.signals import Interrupted, Signals
from airfeel.runs.summary import End, summarise
from airfeel.settings.columns import BEFORE, ROUND_COLUMNS
from airfeel.settings.config import Experiment
from airfeel.storage import evaluations, rows
from airfeel.storage.checkpoint import Checkpoint
from airfeel.storage.rows import Row
from airfeel.storage.run import Facts
from airfeel.storage.store import Store
from airfeel.training.backends import Backend, in_words
from airfeel.types import BadInput, Reason, Report, State, Turn, World

_LOSSES = 3  # in a row, without a checkpoint in between, that a run survives


@runtime_checkable
class Watcher(Protocol):
    """Sees a run go by: a progress display, a logger, a user's own."""

    def begin(self, experiment: Experiment, world: World) -> None: ...
    def row(self, row: Row) -> None: ...
    def end(self, summary: Facts) -> None: ...


@runtime_checkable
class Informed(Protocol):
    """A watcher that shows, before the first row, which backend trains and why."""

    def trained_by(self, text: str) -> None: ...


@dataclass(frozen=True)
class Played:
    """What a run has come to."""

    columns: dict[str, np.ndarray]
    summary: Facts
    theta: Tensor


@dataclass
class Loop:
    """One run under way; `make` makes its engine, again where a part of one was lost."""

    e: Experiment
    setup: Setup
    make: Callable[[], Keeper]
    store: Store | None
    watchers: tuple[Watcher, ...]
    signals: Signals
    written: list[Row] = field(default_factory=list)
    saved_at: float = field(default_factory=time.monotonic)
    safe: Checkpoint | None = None  # stands in for the store's where there is none
    losses: int = 0

    def play(self) -> Played:
        """All rounds, whatever workers are lost on the way."""
        for watcher in self.watchers:
            watcher.begin(self.e, self.setup.world)
            backend = getattr(self.setup.scheme.learn, "backend", None)
            if isinstance(watcher, Informed) and isinstance(backend, Backend):
                watcher.trained_by(in_words(backend))
        while True:
            try:
                with closing(self.make()) as engine:
                    return self.rounds(engine)
            except Lost as loss:
                self.go_back(loss)

    def rounds(self, engine: Keeper) -> Played:
        """From the last checkpoint, if there is one, to the end."""
        state = self.first(engine)
        reason = _over(self.e, state, self.written[-1])
        while reason is None:
            state, reason = self.round(engine, state)
            self.keep_safe(engine, state, reason)
        return self.finish(engine, state, reason)

    def go_back(self, loss: Lost) -> None:
        """After the loss of a worker: what was written after the last checkpoint is cut off."""
        self.losses += 1
        if self.losses > _LOSSES:
            raise loss
        if self.store:
            self.store.go_back(self.e)
        else:
            del self.written[self.safe.bytes["rows"] if self.safe else 0 :]
        safe = self.store.found if self.store else self.safe
        warnings.warn(f"{loss}; back to round {safe.state.round if safe else 0}", stacklevel=2)

    def first(self, engine: Keeper) -> State:
        """The state to begin with: the checkpoint's, or that of round 0."""
        saved = self.store.found if self.store else self.safe
        if self.store:
            self.written = rows.read_rows(self.store.folder / "rounds.csv") if saved else []
            self._refuse_older()
        return self.again(engine, saved) if saved else self.start(engine)

    def _refuse_older(self) -> None:
        """Refuse rows of an older version, whose columns are others."""
        names = [*ROUND_COLUMNS, *self.setup.scheme.columns]
        lacking = [name for name in names if self.written and name not in self.written[0]]
        if lacking:
            older = f"rounds.csv: is of an older version, without the column {lacking[0]!r}"
            raise BadInput(f"{older}; remove the checkpoints to start over")

    def again(self, engine: Keeper, saved: Checkpoint) -> State:
        """The state of a checkpoint, with everything where it was."""
        engine.restore(saved.buffers)
        for watcher in self.watchers:
            watcher.row(self.written[-1])
        setup = self.setup
        fresh = carry.begin(setup.scheme, Turn(setup.world, saved.state, setup.streams))
        return replace(saved.state, carry=carry.restore(fresh, saved.state.carry))

    def start(self, engine: Keeper) -> State:
        """Round 0, and its row."""
        clock, setup = time.perf_counter(), self.setup
        state = start(setup.scheme, setup.world, setup.streams, engine)
        starvation.tell(starvation.rehearse(self.e, setup, state))
        look = engine.evaluate(state.theta)
        seconds = time.perf_counter() - clock
        self.keep(rows.first_row(*look, seconds, self.more), None)
        return state

    def round(self, engine: Keeper, state: State) -> tuple[State, End | None]:
        """One round, its row, and why the run ends with it, if it does."""
        e, setup = self.e, self.setup
        clock = time.perf_counter()
        turn = Turn(setup.world, state, setup.streams)
        look = turn.round % e.run.eval_every == 0 or turn.round == e.training.rounds
        after, report = play_round(setup.scheme, turn, engine, measure=look)
        if report is None:
            return state, End.BUDGET
        before = self.before(engine, state, after)
        seen = engine.evaluate(after.theta) if look else (math.nan, math.nan)
        seconds = time.perf_counter() - clock
        row = rows.round_row(report, after, e.radio.subchannels, *seen, seconds)
        self.keep(row | before, report)
        return after, _ended(e, after, report) or _over(e, after, self.written[-1])

    @property
    def more(self) -> tuple[str, ...]:
        """Columns of rounds.csv after the usual ones."""
        return evaluations.columns(self.e.run) + self.setup.scheme.columns

    def before(self, engine: Keeper, state: State, after: State) -> Row:
        """Evaluate the model before a round that does not fit into a budget of run.eval_at_blocks.

        NaN where it was evaluated already, or no budget ends there.
        """
        options, blocks = self.e.run, self.e.radio.subchannels
        known = not math.isnan(float(self.written[-1]["test_loss"]))
        if known or not evaluations.crossed(options, state.slots * blocks, after.slots * blocks):
            return dict.fromkeys(evaluations.columns(options), math.nan)
        return dict(zip(BEFORE, engine.evaluate(state.theta), strict=True))

    def keep(self, row: Row, report: Report | None) -> None:
        """A row goes to the store and to whoever watches."""
        self.written.append(row)
        if self.store:
            every = self.e.run.record_every
            wanted = every > 0 and report is not None and report.round % every == 0
            self.store.add(row, report, keep=wanted)
        for watcher in self.watchers:
            watcher.row(row)

    def keep_safe(self, engine: Keeper, state: State, reason: End | None) -> None:
        """A checkpoint when one is due; a run that was asked to stop is saved and stops."""
        options = self.e.run
        stop = self.signals.received if reason is None else None
        late = time.monotonic() - self.saved_at >= 60.0 * options.checkpoint_minutes
        due = options.checkpoint_every > 0 and state.round % options.checkpoint_every == 0
        if reason is None and (due or late or stop):
            self.save(engine, state)
        if stop:
            raise Interrupted(stop)

    def save(self, engine: Keeper, state: State) -> None:
        """A checkpoint: in the store, or for want of one here, where the engine may lose a part."""
        if self.store:
            self.store.save(state, engine.buffers())
        elif self.e.run.engine == "ray":
            self.safe = Checkpoint(state, dict(engine.buffers()), {"rows": len(self.written)})
        self.saved_at = time.monotonic()
        self.losses = 0

    def finish(self, engine: Keeper, state: State, reason: End) -> Played:
        """The summary, the model, and the end of the store."""
        accuracy, loss = (float(self.written[-1][k]) for k in ("test_accuracy", "test_loss"))
        if math.isnan(loss):
            accuracy, loss = engine.evaluate(state.theta)
        columns = rows.columns(self.written, [*ROUND_COLUMNS, *self.more])
        summary = summarise(self.e, self.setup, state, columns, reason, accuracy, loss)
        if self.store:
            self.store.finish(summary, self.setup.world.model.named(state.theta))
        for watcher in self.watchers:
            watcher.end(summary)
        return Played(columns, summary, state.theta)


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

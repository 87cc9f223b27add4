"""The only loop over rounds."""

import importlib
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from airfeel.engines.threads import Threads
from airfeel.experiment import rows
from airfeel.experiment.build import build
from airfeel.experiment.config import Experiment
from airfeel.experiment.rows import Row
from airfeel.experiment.store import Store, fingerprint
from airfeel.round import play_round, start
from airfeel.types import Reason, Report, State, World


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
    def rounds(self) -> Any:
        """One row a round: a pandas DataFrame where pandas is installed, else the columns."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            return self.columns
        return pandas.DataFrame(self.columns)


def run(
    experiment: Experiment, out: str | Path | None = None, watchers: Iterable[Watcher] = ()
) -> Run:
    """Carry out an experiment; with `out`, into that folder, which must be new or empty."""
    watchers = tuple(watchers)
    setup = build(experiment)
    engine = Threads(setup.world, experiment.run.threads)
    try:
        if out is None:
            return _loop(experiment, setup, engine, None, watchers)
        with Store(Path(out), experiment) as store:
            return _loop(experiment, setup, engine, store, watchers)
    finally:
        engine.close()


def _loop(
    e: Experiment, setup: Any, engine: Threads, store: Store | None, watchers: tuple[Watcher, ...]
) -> Run:
    world, scheme, streams = setup.world, setup.scheme, setup.streams
    began = clock = time.perf_counter()
    written: list[Row] = []

    def keep(row: Row, report: Report | None) -> None:
        written.append(row)
        if store:
            store.add(row, rows.device_rows(report) if report else ())
        for watcher in watchers:
            watcher.row(row)

    for watcher in watchers:
        watcher.begin(e, world)
    state = start(scheme.learn, world, streams, engine)
    accuracy, loss = engine.evaluate(state.theta)
    keep(rows.first_row(accuracy, loss, time.perf_counter() - clock), None)
    reason = _stop_before(e, state, written[-1])
    while reason is None:
        clock = time.perf_counter()
        look = (state.round + 1) % e.run.eval_every == 0 or state.round + 1 == e.training.rounds
        after, report = play_round(scheme, world, state, streams, engine, measure=look)
        if report is None:
            reason = "budget"
            break
        state = after
        accuracy, loss = engine.evaluate(state.theta) if look else (math.nan, math.nan)
        seconds = time.perf_counter() - clock
        keep(rows.round_row(report, state, world.subchannels, accuracy, loss, seconds), report)
        reason = _stop_after(e, state, report) or _stop_before(e, state, written[-1])
    if math.isnan(accuracy):
        accuracy, loss = engine.evaluate(state.theta)
    columns = rows.columns(written, rows.ROUND_COLUMNS)
    seconds = time.perf_counter() - began
    summary = _summary(e, world, state, columns, reason, accuracy, loss, seconds)
    if store:
        store.finish(summary)
    for watcher in watchers:
        watcher.end(summary)
    return Run(e, columns, summary, state.theta, store.folder if store else None)


def _stop_before(e: Experiment, state: State, row: Row) -> str | None:
    """Reasons that hold for a state: nothing further may be played."""
    target = e.budget.target_accuracy
    if not torch.isfinite(state.theta).all():
        return "diverged"
    if target is not None and float(row["test_accuracy"]) >= target:
        return "target"
    if state.idle >= e.run.idle_limit:
        return "stalled"
    if state.slots >= e.slots:
        return "budget"
    if e.training.rounds is not None and state.round >= e.training.rounds:
        return "rounds"
    return None


def _stop_after(e: Experiment, state: State, report: Report) -> str | None:
    """Reasons that only a round can give."""
    trained = [r for r in report.plan.reason if r is not Reason.NOT_INVITED]
    if trained and all(r is Reason.NOT_FINITE for r in trained):
        return "diverged"
    size = float(torch.linalg.vector_norm(state.theta))
    if state.idle == 0 and report.update_norm <= e.budget.convergence * size:
        return "converged" if e.budget.convergence else None
    return None


def _summary(
    e: Experiment,
    world: World,
    state: State,
    columns: dict[str, np.ndarray],
    reason: str,
    accuracy: float,
    loss: float,
    seconds: float,
) -> dict[str, Any]:
    played = columns["round"] > 0
    known = columns["test_accuracy"][~np.isnan(columns["test_accuracy"])]
    energy = float((columns["energy_mean"] * columns["scheduled"])[played].sum())
    numbers = {
        "test_accuracy": accuracy,
        "test_loss": loss,
        "best_accuracy": max([*known, accuracy]) if world.data.classes else math.nan,
        "scheduled_mean": float(columns["scheduled"][played].mean()) if played.any() else math.nan,
        "energy_joules": energy * e.radio.symbol_seconds,
        "allocation_gap": float(state.policy["gap"]),
    }
    return {
        "scheme": e.scheme.name,
        "reason": reason,
        "rounds": int(columns["round"][-1]),
        "slots": int(columns["slots"].sum()),
        "resource_blocks": int(columns["resource_blocks"][-1]),
        "dim": world.dim,
        "seed": e.run.seed,
        "seconds": seconds,
        "fingerprint": fingerprint(e),
    } | {k: v if math.isfinite(v) else None for k, v in numbers.items()}

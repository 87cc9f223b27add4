"""One run: carried out, or gone on with."""

import warnings
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from airfeel.build import memory_check
from airfeel.build.setup import Setup, build, with_data
from airfeel.catalogues import LOGGERS
from airfeel.engines.base import Keeper
from airfeel.engines.cluster import joined
from airfeel.engines.ray import RayEngine
from airfeel.engines.threads import Threads
from airfeel.errors import quote
from airfeel.radio.impairments.real_plan import RealCosts
from airfeel.runs import near_far, starvation
from airfeel.runs.loop import Loop, Watcher
from airfeel.runs.signals import Signals
from airfeel.runs.summary import End
from airfeel.settings.config import Experiment
from airfeel.settings.load import experiment as made
from airfeel.settings.load import load, stored_table
from airfeel.storage import evaluations, own_code, provenance
from airfeel.storage.checksums import read_summary
from airfeel.storage.run import Run
from airfeel.storage.store import Store
from airfeel.types import BadInput, Dataset

if TYPE_CHECKING:
    pass

__all__ = ["Watcher", "go_on", "resume", "run"]


def run(
    experiment: Experiment | str | Path,
    out: str | Path | None = None,
    watchers: Iterable[Watcher] = (),
    *,
    data: Dataset | None = None,
    signals: Signals | None = None,
    fresh: bool = False,
) -> Run:
    """Carry out an experiment; with `out`, into that folder, which must be new or empty.

    experiment: see `airfeel.load`; a preset's name or a TOML file does as well.
    data: samples in place of those that the settings name; see `airfeel.data`.
    fresh: delete the run that the folder holds, unless another process is writing it.
    """
    if out is not None and not isinstance(out, str | Path):
        raise BadInput(f"out = {quote(out)}: must be a folder")
    folder = None if out is None else Path(out)
    if not isinstance(experiment, Experiment):
        experiment = load(experiment)
    if data is not None:
        experiment = with_data(experiment, data)
    return _carry_out(experiment, folder, watchers, signals or Signals(), data, fresh=fresh)


def resume(
    folder: str | Path,
    watchers: Iterable[Watcher] = (),
    *,
    data: Dataset | None = None,
    signals: Signals | None = None,
    allow_other_backend: bool = False,
    trust: bool = False,
) -> Run:
    """Go on with an unfinished run, to the very result that it would have had uninterrupted.

    data: the same as the run began with, where it was handed in.
    allow_other_backend: go on also where the backend, a kernel or the CPU's instructions are not
        those of the rounds before, which changes last digits; summary.json says so.
    """
    folder = Path(folder)
    if read_summary(folder):
        raise BadInput(f"{folder}: is complete, there is nothing to resume")
    table = stored_table(folder)
    if not trust:
        own_code.check(folder, table)
    return _carry_out(
        made(table), folder, watchers, signals or Signals(), data, True, allow_other_backend
    )


def go_on(
    experiment: Experiment, folder: Path, watchers: Iterable[Watcher], signals: Signals | None
) -> Run:
    """Resume a run with what its caller now says of threads, loggers and folders of data.

    That all that decides the result is as it was stored has been checked by the caller.
    """
    return _carry_out(experiment, folder, watchers, signals or Signals(), None, resume=True)


def _carry_out(
    e: Experiment,
    folder: Path | None,
    watchers: Iterable[Watcher],
    signals: Signals,
    data: Dataset | None,
    resume: bool = False,
    other: bool = False,
    fresh: bool = False,
) -> Run:
    known = provenance.read(folder) if folder and resume else None
    setup = build(e, data, prefer=provenance.backend(known))
    memory_check.check_scheme(e, setup.world.dim, setup.scheme)
    with ExitStack() as stack:
        make = _engine_maker(e, setup, stack)
        store = None
        if folder is not None:
            here, more = (
                provenance.arithmetic(setup),
                evaluations.columns(e.run) + setup.scheme.columns,
            )
            opened = Store(
                *(folder, e),
                resume=resume,
                fresh=fresh,
                more=more,
                here=here,
                other=other,
                real=any(isinstance(meter, RealCosts) for meter in setup.scheme.meters),
                told=setup.facts | own_code.signed(e),
            )
            store = stack.enter_context(opened)
            for fault in store.faults:
                went = store.found.state.round if store.found else 0
                warnings.warn(f"{fault}; going on from round {went}", stacklevel=3)
        everyone = (*watchers, *_loggers(e, folder), starvation.Watch())
        played = Loop(e, setup, make, store, everyone, signals).play()
    diverged = played.summary["reason"] == End.DIVERGED  # whoever has no update is not starving
    starvation.tell(None if diverged else starvation.verdict(e, played.columns))
    starvation.tell(near_far.verdict(e, setup.facts, played.summary))
    return Run(e, played.columns, played.summary, played.theta, folder)


def _engine_maker(e: Experiment, setup: Setup, stack: ExitStack) -> Callable[[], Keeper]:
    """What makes the run's engine, again if need be; a cluster is joined until the stack ends."""
    world, scheme = setup.world, setup.scheme
    buffers = scheme.codec.memory.buffers
    if e.run.engine == "threads":
        return lambda: Threads(world, e.run.threads, e.run.memory, buffers=buffers)
    stack.enter_context(joined(e.run.address, e.run.actors))
    return lambda: RayEngine(world, scheme.learn, e.run.actors, e.run.memory, buffers)


def _loggers(e: Experiment, folder: Path | None) -> list[Watcher]:
    facts = {} if folder is None else {"folder": folder}
    return [LOGGERS.make(choice, **facts) for choice in e.run.loggers]

"""What is killed: a command in a process of its own, that is given until it is done."""

import multiprocessing
import os
import signal
import warnings
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from pathlib import Path

from airfeel.catalogue import Table
from airfeel.reports import write
from airfeel.runs.starvation import Starving
from airfeel.settings.load import experiment
from airfeel.sweeps import compare

_STEPS = ("fsync", "replace", "truncate", "unlink", "mkdir")


def context() -> ForkServerContext:
    """Processes that start with everything imported, and without the checks of shapes and types."""
    context = multiprocessing.get_context("forkserver")
    # What cannot be imported is skipped in silence, and folders of tests are not on its path.
    context.set_forkserver_preload([compare.__name__, write.__name__])
    return context


def go_on(out: str, tables: dict[str, Table], die_at: int = 0) -> None:
    """Carry out, resume or read each run; die at the given file operation, if any."""
    warnings.simplefilter("ignore", Starving)  # these runs are small, and it is said each time
    if die_at:
        _mine(die_at)
    compare.run_all([(label, experiment(table)) for label, table in tables.items()], Path(out))


def _mine(count: int) -> None:
    """SIGKILL at the count-th step: right before it, or right after it."""
    left = [count]

    def wrap(step: Callable[..., object]) -> Callable[..., object]:
        def counted(*arguments: object, **named: object) -> object:
            left[0] -= 1
            if left[0] == 0 and count % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            done = step(*arguments, **named)
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return counted

    for name in _STEPS:
        setattr(os, name, wrap(getattr(os, name)))

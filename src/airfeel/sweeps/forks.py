"""The process that workers are forked from: it imports PyTorch once, while its parent does too."""

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, SpawnContext

_IMPORTED = "airfeel.sweeps.forkable"


def context() -> ForkServerContext | SpawnContext:
    """What starts workers; without a server to fork from, as on Windows, each imports all."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload([_IMPORTED])
    return found


def warm() -> None:
    """Begin the imports of workers now, so that they go on beside those of this process."""
    if isinstance(context(), ForkServerContext):
        with safe_path():
            forkserver.ensure_running()


@contextmanager
def safe_path() -> Iterator[None]:
    """Start no Python process that imports modules from the current folder before all others.

    `python -c`, by which workers are started, would. They get the search path of this process.
    """
    name = "PYTHONSAFEPATH"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before

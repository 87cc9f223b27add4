"""The process that workers are forked from: it imports PyTorch once, while its parent does too."""

import multiprocessing
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext, SpawnContext

_IMPORTED = "airfeel.experiment.forkable"


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
        forkserver.ensure_running()

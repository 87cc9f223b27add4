"""Reproducible use of the global generators of torch and NumPy inside a user's module.

`F.dropout`, `nn.Dropout`, stochastic depth and augmentation inside a module draw from generators
that all threads of a process share. The work of a device that draws from them runs alone, seeded
for that device and round; work that draws nothing runs in parallel. Results are therefore the same
for any number of threads, and after a resume. Python's `random` is not seeded: any thread of the
process may draw from it.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Condition
from typing import Any, TypeVar

import numpy as np
import torch

_T = TypeVar("_T")
_OTHER = 0x5DEECE66D  # keeps these numbers apart from those of airfeel's own Dropout


class _Gate:
    """Lets parallel work run together, and work that draws random numbers alone."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._running = 0  # parallel pieces of work, or -1 while one runs alone

    @contextmanager
    def parallel(self) -> Iterator[None]:
        self._enter(lambda: self._running >= 0, lambda: self._running + 1)
        try:
            yield
        finally:
            self._leave(lambda: self._running - 1)

    @contextmanager
    def alone(self) -> Iterator[None]:
        self._enter(lambda: self._running == 0, lambda: -1)
        try:
            yield
        finally:
            self._leave(lambda: 0)

    def _enter(self, ready: Callable[[], bool], count: Callable[[], int]) -> None:
        with self._changed:
            self._changed.wait_for(ready)
            self._running = count()

    def _leave(self, count: Callable[[], int]) -> None:
        with self._changed:
            self._running = count()
            self._changed.notify_all()


_GATE = _Gate()


class SeededWork:
    """Runs the local training of one device; reproducible even if it draws random numbers.

    Args:
        device: compute device of the model; its generator is watched and seeded, too.
    """

    def __init__(self, device: torch.device) -> None:
        self._devices = [device] if device.type == "cuda" else []
        self.draws = False  # whether any work drew from a global generator so far

    def __call__(self, work: Callable[[], _T], seed: int) -> _T:
        """Return `work()`; what it draws from global generators follows `seed` alone.

        `work` must be repeatable: it runs a second time, alone, if it is found to draw.
        """
        if not self.draws:
            with _GATE.parallel():
                before = self.state()
                result = work()
                if self.state() == before:
                    return result
            self.draws = True
        with _GATE.alone(), _restored(self._devices):
            torch.manual_seed((seed ^ _OTHER) % 2**63)
            np.random.seed((seed ^ _OTHER) % 2**32)  # noqa: NPY002 (the generator users call)
            return work()

    def state(self) -> tuple[Any, ...]:
        """Return the states of torch's and NumPy's global generators; comparable."""
        tensors = [torch.get_rng_state(), *map(torch.cuda.get_rng_state, self._devices)]
        numpy = np.random.get_state(legacy=False)  # noqa: NPY002
        keys = (numpy["state"]["key"].tobytes(), numpy["state"]["pos"], numpy["has_gauss"])
        return (*(t.numpy().tobytes() for t in tensors), keys)


@contextmanager
def _restored(devices: list[torch.device]) -> Iterator[None]:
    """Put the global generators back to where they were."""
    numpy = np.random.get_state()  # noqa: NPY002
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        np.random.set_state(numpy)  # noqa: NPY002


@cache
def warn_of_evaluation() -> None:
    """Warn, once, that an evaluation drew from a global generator."""
    logging.getLogger("airfeel").warning(
        "model: its evaluation draws random numbers, so the measured accuracy and loss differ from "
        "run to run; draw only while `self.training` is true"
    )

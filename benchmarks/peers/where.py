"""Where the time of a TCS-H round goes: every room of the corridor under a stopwatch.

Processor time is measured, which other processes on the machine hardly disturb: the work of the
workers is divided by their number, and what the main thread does is counted as if they idled.
"""

import dataclasses
import os
import threading
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from ours import first_state, made

from airfeel import round as corridor
from airfeel.compression import codecs
from airfeel.engines.threads import Threads
from airfeel.radio.transmission import air
from airfeel.types import Turn


class Watch:
    """Seconds by name, over all threads."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.spent: Counter[str] = Counter()
        self._lock = threading.Lock()

    def all_threads(self) -> float:
        """This thread's time, and the others' as if they shared their work evenly."""
        own = time.thread_time()
        return own + (time.process_time() - own) / self.workers

    def timed(
        self, name: str, function: Callable[..., Any], clock: Callable[[], float] = time.thread_time
    ) -> Callable[..., Any]:
        def run(*args: Any, **more: Any) -> Any:
            start = clock()
            try:
                return function(*args, **more)
            finally:
                with self._lock:
                    self.spent[name] += clock() - start

        return run


class Part:
    """A part of a scheme under a stopwatch."""

    def __init__(self, watch: Watch, name: str, part: Any) -> None:
        self._part = part
        if callable(part):
            self._call = watch.timed(name, part)
        else:  # a codec
            self.agree = watch.timed("agree", part.agree)
            self.encode = watch.timed("encode", part.encode)
            self.decode = watch.timed("decode", part.decode)

    def __call__(self, *args: Any, **more: Any) -> Any:
        return self._call(*args, **more)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)


@contextmanager
def kernels(watch: Watch) -> Iterator[None]:
    """Put the kernels that parts and the corridor call under stopwatches."""
    places = [(codecs, "top_k_outside"), (codecs, "quantize")]
    places += [(air, "superpose"), (corridor, "account"), (corridor, "report_on")]
    patches = [
        mock.patch.object(room, name, watch.timed(name, getattr(room, name)))
        for room, name in places
    ]
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in patches:
            patch.stop()


def where(work: str, steps: int, rounds: int) -> dict[str, float]:
    """Milliseconds of each part in a round of the paper's CNN on 20 devices."""
    workers = os.cpu_count() or 1
    told = {"work": work, "model": "paper-cnn", "hidden": 64, "devices": 20, "steps": steps}
    setup, theta = made(Namespace(**told, batch=64, rate=0.05, backend="native"))
    watch = Watch(workers)
    names = [f.name for f in dataclasses.fields(setup.scheme) if f.name not in ("name", "meters")]
    watched = {name: Part(watch, name, getattr(setup.scheme, name)) for name in names}
    scheme = dataclasses.replace(setup.scheme, **watched)
    engine = Threads(setup.world, workers)
    state = first_state(setup, engine, theta)
    prepare = watch.timed("prepare", engine.prepare, watch.all_threads)
    commit = watch.timed("commit", engine.commit, watch.all_threads)
    with kernels(watch), mock.patch.multiple(engine, prepare=prepare, commit=commit):
        for turn in range(rounds + 1):
            if turn == 1:  # the first round warms up
                watch.spent.clear()
            play = watch.timed("whole", corridor.play_round, watch.all_threads)
            state, _ = play(scheme, Turn(setup.world, state, setup.streams), engine, measure=False)
    watch.timed("evaluate", engine.evaluate, watch.all_threads)(state.theta)
    engine.close()
    watch.spent["evaluate"] *= rounds
    return _rows(Counter({k: v / rounds * 1e3 for k, v in watch.spent.items()}), workers)


def _rows(ms: Counter[str], workers: int) -> dict[str, float]:
    each = {name: ms[name] / workers for name in ("learn", "encode", "top_k_outside", "quantize")}
    books = ms["account"] + ms["report_on"]
    radio = ms["fade"] + ms["invite"] + ms["plan"]
    rest = ms["prepare"] - each["learn"] - each["encode"]
    known = (
        ms["prepare"]
        + ms["agree"]
        + radio
        + ms["transmit"]
        + ms["decode"]
        + ms["step"]
        + books
        + ms["commit"]
    )
    return {
        "local SGD": each["learn"],
        "top-K": each["top_k_outside"],
        "quantise": each["quantize"],
        "gather the values": each["encode"] - each["top_k_outside"] - each["quantize"],
        "dice, memory, payload": rest,
        "global mask": ms["agree"],
        "fading, invitation, plan": radio,
        "superpose": ms["superpose"],
        "noise, who arrives": ms["transmit"] - ms["superpose"],
        "aggregate": ms["decode"] + ms["step"],
        "commit the memory": ms["commit"],
        "ledger": books,
        "the rest": ms["whole"] - known,
        "everything but local SGD": ms["whole"] - each["learn"],
        "whole round": ms["whole"],
        "a look at the test set, when asked for": ms["evaluate"],
    }

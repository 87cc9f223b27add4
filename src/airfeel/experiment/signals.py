"""The first SIGINT or SIGTERM asks a run to stop after its round; the second stops it at once."""

import os
import signal
import threading
from types import FrameType
from typing import Any


class Interrupted(Exception):
    """A run that was asked to stop, and is saved."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Signals:
    """Listens while open. Does nothing outside of the main thread, where signals do not arrive."""

    _WATCHED = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Signals":
        if threading.current_thread() is threading.main_thread():
            self._before = {n: signal.signal(n, self._note) for n in self._WATCHED}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.received = number

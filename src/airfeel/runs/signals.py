"""The first SIGINT, SIGTERM or SIGHUP asks a run to stop after its round; a second one stops it.

A hangup may come twice, from the terminal and from its shell: it is never the second one.
"""

import os
import signal
import stat
import threading
from types import FrameType
from typing import Any


class Interrupted(Exception):
    """A run that was asked to stop, and is saved."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


_HANGUP = getattr(signal, "SIGHUP", None)  # not on Windows
_WATCHED = (signal.SIGINT, signal.SIGTERM, *([_HANGUP] if _HANGUP else []))


class Signals:
    """Listens while open. Does nothing outside of the main thread, where signals do not arrive.

    hasty: whether a second signal stops the process at once; else it has its round all the same.
    A hangup that is ignored stays so: `nohup airfeel run …` outlives its terminal.
    """

    def __init__(self, *, hasty: bool = True) -> None:
        self._hasty = hasty
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Signals":
        if threading.current_thread() is threading.main_thread():
            deaf = _HANGUP is not None and signal.getsignal(_HANGUP) is signal.SIG_IGN
            heard = [n for n in _WATCHED if not (deaf and n == _HANGUP)]
            self._before = {n: signal.signal(n, self._note) for n in heard}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._hasty and self.received not in (None, _HANGUP) and number != _HANGUP:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.received = number
        if number == _HANGUP:
            _leave_terminal()


def _leave_terminal() -> None:
    """Write nowhere instead of to a terminal that is gone: an error there would stop the run."""
    for place in (1, 2):
        if stat.S_ISCHR(os.fstat(place).st_mode) and not os.isatty(place):
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, place)
            os.close(null)

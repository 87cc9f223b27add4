"""How a contender is timed: it waits for its turn, plays rounds, and says how long they took.

A contender is a process of its own. It says that it is ready, and then plays as many rounds as
each line on its standard input asks for. Whatever else it prints goes to standard error.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Turns:
    """The contender's side of the conversation."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w")
        os.dup2(2, 1)
        self._left, self._rounds, self._since = 0, 0, 0.0

    def next(self, **more: Any) -> bool:
        """Between two rounds: report a finished turn and wait for the next. False at the end."""
        now = time.perf_counter()
        if self._left > 1:
            self._left -= 1
            return True
        if self._rounds:
            spent = (now - self._since) / self._rounds
            self._say({"seconds": spent, "peak": peak_memory(), **more})
        else:
            self._say({"ready": True})
        line = sys.stdin.readline()
        self._left = self._rounds = int(line or 0)
        self._since = time.perf_counter()
        return self._rounds > 0

    def play(self, round: Callable[[], Any]) -> None:
        """Play rounds until nobody asks for more."""
        while self.next():
            round()

    def _say(self, told: dict[str, Any]) -> None:
        print(json.dumps(told), file=self._out, flush=True)


def peak_memory() -> float:
    """The most memory that this process ever had [MB]; NaN where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def arguments() -> argparse.Namespace:
    """What every contender is told."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True, help="file with samples and first weights")
    parser.add_argument("--model", default="paper-cnn")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--devices", type=int, default=20)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--bare", action="store_true", help="ours: local training alone")
    return parser.parse_args()

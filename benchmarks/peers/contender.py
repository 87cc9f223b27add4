"""The benchmark's side: contenders as processes that take turns, and their environments."""

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

HERE = Path(__file__).parent
KEEP_MEMORY = {  # PyTorch is a tenth faster if malloc gives no memory back; ours do not care
    "MALLOC_MMAP_THRESHOLD_": "4000000000",
    "MALLOC_TRIM_THRESHOLD_": "4000000000",
    "MALLOC_TOP_PAD_": "268435456",
}


class Contender:
    """A process that plays rounds when asked to."""

    def __init__(self, name: str, command: list[str], log: IO[str], tuned: bool = False) -> None:
        self.name = name
        self.told: dict[str, Any] = {}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
            env={**own_environment(command[0]), **(KEEP_MEMORY if tuned else {})},
        )
        self._hear()

    def turn(self, rounds: int) -> float:
        """Seconds for one round, over so many rounds."""
        assert self._process.stdin is not None
        print(rounds, file=self._process.stdin, flush=True)
        self.told = self._hear()
        return self.told["seconds"] * self.told.get("factor", 1.0)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(20)
        with contextlib.suppress(ProcessLookupError):  # and whoever it has left behind
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended")
        return json.loads(line)


@dataclass(frozen=True)
class Spread:
    """A median with the least and the greatest of several turns."""

    values: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def show(self, digits: int = 1) -> str:
        low, high = min(self.values), max(self.values)
        return f"{self.median:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def interleave(
    contenders: Mapping[str, Contender], rounds: int, turns: int
) -> dict[str, list[float]]:
    """Seconds a round of each contender in each turn; a first turn warms up and is not counted."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for contender in contenders.values():
        contender.turn(1)
    for _ in range(turns):
        for name, contender in contenders.items():
            times[name].append(contender.turn(rounds))
    return times


def ratio(times: dict[str, list[float]], a: str, b: str) -> Spread:
    """How many times as long as `b` took `a`, turn by turn."""
    return Spread([x / y for x, y in zip(times[a], times[b], strict=True)])


def own_environment(python: str) -> dict[str, str]:
    """Variables for an interpreter: another's finds none of this one's packages."""
    if python == sys.executable:
        return dict(os.environ)
    return {**os.environ, "PYTHONPATH": str(HERE)}


def environment(name: str, *packages: str) -> str:
    """The interpreter of a virtual environment with these packages, made if need be."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "airfeel" / "peers" / name
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        print(f"installing {' '.join(packages)} into {folder}", file=sys.stderr)
        venv.create(folder, clear=True, with_pip=True)
        install = [str(python), "-m", "pip", "install", "-qq", *packages]
        subprocess.run(install, check=True, env=own_environment(str(python)))
        (folder / "installed").touch()
    return str(python)

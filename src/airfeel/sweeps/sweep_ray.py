"""A sweep's trials on a Ray cluster, each in an actor of its own."""

import math
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from airfeel.catalogue import Table
from airfeel.engines.cluster import extend_path, joined, search_path
from airfeel.runs.signals import Signals
from airfeel.sweeps.pool import Trial, attempt

_TRIES = 3  # losses of its worker that a trial survives


class Worker:
    """What an actor is: it carries out one trial, and hears meanwhile that it is to stop."""

    def __init__(self, path: Sequence[str]) -> None:
        extend_path(path)
        self._signals = Signals()

    def work(self, table: Table, folder: str, threads: int) -> str:
        """Carry out or resume the run, and tell its fault, if any."""
        if not Path(folder).parent.is_dir():
            return f"{Path(folder).parent}: is not seen by all nodes of the cluster, share it"
        return attempt(table, folder, self._signals, threads)

    def stop(self) -> None:
        self._signals.received = signal.SIGTERM


@dataclass
class RayJob:
    """A trial on the cluster; where its worker is lost, it goes on from its last checkpoint."""

    nodes: "Nodes"
    trial: Trial
    tries: int = _TRIES
    actor: Any = field(init=False)
    result: Any = field(init=False)

    def __post_init__(self) -> None:
        self._launch()

    def _launch(self) -> None:
        table = self.trial.experiment.model_dump(mode="json", exclude_none=True)
        folder = str(self.trial.folder.resolve())
        self.actor = self.nodes.make()
        self.result = self.actor.work.remote(table, folder, max(int(self.nodes.cpus), 1))

    def poll(self) -> str | None:
        ray = self.nodes.ray
        if not ray.wait([self.result], timeout=0)[0]:
            return None
        try:
            fault = str(ray.get(self.result))
        except ray.exceptions.RayError as error:
            if self.tries == 0:
                return f"its worker was lost again and again ({str(error).splitlines()[0]})"
            self.tries -= 1
            self._launch()
            return None
        ray.kill(self.actor)
        return fault

    def stop(self) -> None:
        self.tries = 0
        self.actor.stop.remote()


@dataclass(frozen=True)
class Nodes:
    """The cluster, as a sweep sees it: what starts a trial, and how many go at a time."""

    ray: ModuleType
    cpus: float = 1.0  # of one trial
    gpus: float = 0.0

    def make(self) -> Any:
        """An actor with room to hear a second call."""
        options = {"num_cpus": self.cpus, "num_gpus": self.gpus, "max_concurrency": 2}
        return self.ray.remote(**options)(Worker).remote(search_path())

    def start(self, trial: Trial) -> RayJob:
        trial.folder.parent.mkdir(parents=True, exist_ok=True)
        return RayJob(self, trial)

    @property
    def room(self) -> int:
        """Trials that the cluster has room for at a time, at least one."""
        has = self.ray.cluster_resources()
        asked = (("CPU", self.cpus), ("GPU", self.gpus))
        fits = [math.floor(has.get(resource, 0) / each) for resource, each in asked if each > 0]
        return max(min(fits, default=1), 1)


@contextmanager
def nodes(address: str | None, cpus: float = 1.0, gpus: float = 0.0) -> Iterator[Nodes]:
    """Join a cluster, or start one here, for trials that take so many CPUs and GPUs each."""
    with joined(address, asked=("--engine", "--address")) as ray:
        yield Nodes(ray, cpus, gpus)

"""Devices shared out over the actors of a Ray cluster: only what devices say travels, not x.

An actor looks after devices with consecutive ids: their samples, their error memory, and a model
that it keeps up to date itself. A round sends it the last global update, and takes back payloads.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from airfeel.engines.agreed import Parcel, packed, unpacked
from airfeel.engines.base import Lost
from airfeel.engines.cluster import Kit, actor_shares, pack, ray_module, unpack
from airfeel.engines.threads import Threads, counted
from airfeel.types import (
    Agreed,
    BadInput,
    Codec,
    Delivery,
    Dice,
    Invited,
    Learn,
    Said,
    State,
    Turn,
    World,
)

_PATIENCE = 60.0  # seconds after which a run that waits for its actors says so
_News = tuple[np.ndarray | None, np.ndarray | None]  # the model and the update, where they are new
_ROWS = ("finite", "loss", "common", "index", "value", "bits", "energy")
_MAYBE = ("signal", "norm", "feedback")  # rows that not every codec has


class Shard:
    """What an actor is: the threads' engine for some of the devices, and the state as last heard.

    Whatever it returns is an array: Ray hands arrays on without a copy.
    """

    def __init__(
        self,
        kit: Kit,
        devices: range,
        shards: tuple[Int64[np.ndarray, "_"], ...],
        memory: str,
        buffers: Sequence[str],
    ) -> None:
        world, self._learn = unpack(kit)
        none = (np.zeros(0, dtype=np.int64),)
        rest = len(world.power) - devices.stop
        world = replace(world, shards=none * devices.start + shards + none * rest)
        self._engine = Threads(world, 1, memory, devices, buffers)
        self._state = State.bare(world.model.initial(), len(world.power))

    def ready(self) -> None:
        """Answers once the actor is there."""

    def prepare(
        self,
        round: int,
        news: _News,
        codec: Codec,
        agreed: Parcel,
        invited: Invited,
        streams: Dice,
    ) -> dict[str, np.ndarray]:
        """The rows of what the invited devices say, by name."""
        theta, update = (None if a is None else self._tensor(a) for a in news)
        if update is not None:
            theta = self._state.theta + update if theta is None else theta
            self._state = replace(self._state, theta=theta, update=update)
        turn = Turn(self._engine.world, replace(self._state, round=round), streams)
        shared = unpacked(agreed, self._state.theta.device)
        said = self._engine.prepare(turn, self._learn, codec, shared, invited)
        names = [*_ROWS, *(name for name in _MAYBE if getattr(said, name) is not None)]
        return {name: _array(getattr(said, name)) for name in names}

    def add_up(self, total: np.ndarray | None, active: np.ndarray) -> np.ndarray:
        """A link of the sum over devices: what came before, and the own devices' x."""
        before = torch.zeros_like(self._state.theta) if total is None else self._tensor(total)
        return _array(self._engine.add_up(before, active))

    def commit(self, delivery: Delivery) -> None:
        self._engine.commit(delivery)

    def buffer(self, name: str) -> np.ndarray:
        """A buffer as bytes: NumPy does not know every number type of PyTorch."""
        return _array(self._engine.buffers()[name].view(torch.uint8))

    def restore(self, buffers: dict[str, np.ndarray]) -> None:
        kinds = self._engine.buffers()
        self._engine.restore(
            {k: torch.from_numpy(v.copy()).view(kinds[k].dtype) for k, v in buffers.items()}
        )

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array.copy()).to(self._state.theta.device)


class RayEngine:
    """The driver: shares out, puts the answers together in device order, and evaluates.

    It is made for one `learn`, which the actors are given along with the samples.
    """

    def __init__(
        self,
        world: World,
        learn: Learn,
        actors: int = 0,
        memory: str = "ram",
        buffers: Sequence[str] = ("memory",),
    ) -> None:
        self._ray = ray_module()
        self._learn = learn
        self._names = tuple(buffers)
        self._devices = np.zeros(0, dtype=np.int64)  # who was invited in the round under way
        self._actors: list[Any] = []
        self._commits: list[Any] = []
        self._here = Threads(world, memory=memory, devices=range(0), buffers=buffers)  # evaluates
        self._known = State.bare(world.model.initial(), len(world.power))  # what the actors know
        try:
            self._share_out(world, actors, memory)
        except BaseException:
            self.close()
            raise

    def _share_out(self, world: World, actors: int, memory: str) -> None:
        ray, on_gpu = self._ray, world.model.device.type != "cpu"
        count, gpus = actor_shares(actors, ray.cluster_resources(), on_gpu)
        self._parts = _split(world.devices, min(count, world.devices))
        kit = ray.put(pack(ray, world, self._learn))
        options = {"num_cpus": 1, "num_gpus": gpus, "scheduling_strategy": "SPREAD"}
        make = ray.remote(**options)(Shard).remote
        self._actors = [
            make(kit, p, world.shards[p.start : p.stop], memory, self._names) for p in self._parts
        ]
        self._await(lambda: actor_shares(actors, ray.cluster_resources(), on_gpu)[0])

    def _await(self, room: Callable[[], int]) -> None:
        """Until all actors are there; a cluster that has become too small for them is a loss."""
        there = waiting = self._tell("ready")
        since, warned = time.monotonic(), False
        while waiting := self._ray.wait(waiting, num_returns=len(waiting), timeout=2.0)[1]:
            if room() < len(self._actors):
                raise Lost("a worker of the Ray cluster is lost (it has fewer CPUs now)")
            if not warned and time.monotonic() - since > _PATIENCE:
                warned = True
                late = f"run.actors: {len(waiting)} wait for a free CPU, or start slowly"
                warnings.warn(late, stacklevel=2)
        self._hear(there)

    def prepare(
        self, turn: Turn, learn: Learn, codec: Codec, agreed: Agreed, invited: Invited
    ) -> Said:
        """Tell the actors what is new, and put together what their devices would say."""
        if learn is not self._learn:
            raise RuntimeError("the actors were made for another way of learning")
        self._settle()
        state = turn.state
        put = self._ray.put
        news, shared = put(_news(self._known, state)), put(packed(agreed, turn.world.dim))
        asked = self._tell("prepare", state.round, news, codec, shared, invited, turn.streams)
        answers = self._hear(asked)
        self._known = state
        rows = [a for a in answers if len(a["finite"])] or answers[:1]  # rows of nobody: no width
        whole = {name: np.concatenate([a[name] for a in rows]) for name in rows[0]}
        self._devices = np.flatnonzero(invited.who)

        def tensor(name: str) -> Tensor:
            return torch.from_numpy(whole[name]).to(state.theta.device)

        return Said(
            devices=self._devices,
            finite=whole["finite"],
            agreed=agreed,
            common=tensor("common"),
            index=tensor("index"),
            value=tensor("value"),
            bits=whole["bits"],
            energy=whole["energy"],
            loss=whole["loss"],
            signal=tensor("signal") if "signal" in whole else None,
            norm=whole.get("norm"),
            lanes=turn.world.lanes,
            feedback=whole.get("feedback"),
        )

    def ideal(self, active: Bool[np.ndarray, "N"]) -> Float[Tensor, "D"]:
        """Mean of the scheduled devices' x: the sum goes from actor to actor, in device order."""
        total = None
        for actor, part in zip(self._actors, self._parts, strict=True):
            if active[part.start : part.stop].any():
                total = actor.add_up.remote(total, active)
        (summed,) = self._hear([total])
        mean = torch.from_numpy(summed.copy()) / counted(self._here.world, active)
        return mean.to(self._known.theta.device)

    def commit(self, delivery: Delivery) -> None:
        """Every actor lets its devices remember; nobody waits for it."""
        starts = [part.start for part in self._parts]
        bounds = [*np.searchsorted(self._devices, starts), len(self._devices)]
        parts = [delivery.rows(slice(*pair)) for pair in pairwise(bounds)]
        pairs = zip(self._actors, parts, strict=True)
        self._commits = [actor.commit.remote(part) for actor, part in pairs]

    def buffers(self) -> Mapping[str, Float[Tensor, "N D"]]:
        """All devices' buffers, fetched from the actors."""
        self._settle()
        here = self._here.buffers()
        whole = {n: np.concatenate(self._hear(self._tell("buffer", n))) for n in self._names}
        return {n: torch.from_numpy(rows).view(here[n].dtype) for n, rows in whole.items()}

    def restore(self, buffers: Mapping[str, Float[Tensor, "N D"]]) -> None:
        """Give every actor its devices' rows of buffers that were saved."""
        rows = {n: _array(buffers[n].contiguous().view(torch.uint8)) for n in self._names}
        pairs = zip(self._actors, self._parts, strict=True)
        shares = [(a, {n: r[p.start : p.stop] for n, r in rows.items()}) for a, p in pairs]
        self._hear([actor.restore.remote(share) for actor, share in shares])

    def evaluate(self, theta: Float[Tensor, "D"]) -> tuple[float, float]:
        """Accuracy and loss on the test set, which the driver has."""
        return self._here.evaluate(theta)

    def close(self) -> None:
        """End the actors."""
        if self._ray.is_initialized():
            for actor in self._actors:
                self._ray.kill(actor)
        self._here.close()

    def _settle(self) -> None:
        """Wait for the last round's commits, and see that they have gone well."""
        self._hear(self._commits)
        self._commits = []

    def _tell(self, method: str, *words: Any) -> list[Any]:
        return [getattr(actor, method).remote(*words) for actor in self._actors]

    def _hear(self, answers: list[Any]) -> list[Any]:
        errors = self._ray.exceptions
        try:
            return list(self._ray.get(answers))
        except errors.RayError as error:
            cause = error.cause if isinstance(error, errors.RayTaskError) else error
            if getattr(cause, "actor_init_failed", False):
                reason = str(cause).strip().splitlines()[-1]
                raise BadInput(f'run.engine = "ray": a worker cannot begin ({reason})') from error
            if isinstance(cause, errors.RayActorError | errors.ObjectLostError):
                reason = str(cause).strip().splitlines()[0]
                raise Lost(f"a worker of the Ray cluster is lost ({reason})") from error
            raise cause from error


def _split(devices: int, parts: int) -> list[range]:
    """Consecutive ids, shared out as evenly as can be."""
    bounds = [devices * i // parts for i in range(parts + 1)]
    return [range(*pair) for pair in pairwise(bounds)]


def _news(last: State, state: State) -> _News:
    """What has to be said so that who knows one state knows the model and update of the other."""
    if _same(last.theta, state.theta) and _same(last.update, state.update):
        return None, None
    if _same(last.theta + state.update, state.theta):
        return None, _array(state.update)
    return _array(state.theta), _array(state.update)


def _same(a: Tensor, b: Tensor) -> bool:
    """Equal bit by bit, signs of zeros and NaNs too."""
    return torch.equal(a.view(torch.uint8), b.view(torch.uint8))


def _array(value: Tensor | np.ndarray) -> np.ndarray:
    return value.cpu().numpy() if isinstance(value, Tensor) else value

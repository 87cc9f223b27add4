"""Ray itself: joined or started, and left as it was found; and what is sent there once."""

import contextlib
import gc
import importlib
import io
import logging
import math
import os
import pickle
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from airfeel.types import BadInput, Dataset, Learn, World

# A pickle, the samples beside it, the device where these belong, and where modules are found.
Kit = tuple[bytes, dict[str, Any], str, list[str]]


def ray_module(asked: str = 'run.engine = "ray"') -> Any:
    """The module `ray`; nothing else of the package needs it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # or it warns of a change
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise BadInput(f'{asked}: needs Ray, install it with pip install "airfeel[ray]"') from error


@contextlib.contextmanager
def joined(
    address: str | None, cpus: int = 0, *, asked: tuple[str, str] = ("run.engine", "run.address")
) -> Iterator[Any]:
    """Ray at an address, or else started on this machine with `cpus` CPUs (0: all it has).

    Only what was started here is stopped in the end. A process that has joined a cluster already
    stays with that one. `asked` names the settings to blame.
    """
    ray = ray_module(f'{asked[0]} = "ray"')
    if ray.is_initialized():
        yield ray
        return
    try:
        place = address or os.environ.get("RAY_ADDRESS") or "local"
        _knock(place)
        with _undisturbed():
            _init(ray, place, cpus)
    except (ValueError, RuntimeError, ImportError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise BadInput(f"{asked[1]} = {address!r}: Ray cannot be used there ({reason})") from error
    try:
        yield ray
    finally:
        with _undisturbed():
            ray.shutdown()


def _knock(address: str) -> None:
    """Fail fast: Ray itself retries an unreachable address for minutes."""
    if address in ("local", "auto"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise ValueError("must be auto, host:port or ray://host:port")
    socket.create_connection((host.strip("[]"), int(port)), timeout=10.0).close()


def _init(ray: Any, address: str, cpus: int) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        ray.init("local", num_cpus=cpus or None, include_dashboard=False, **quiet)
    else:
        ray.init(address, **quiet)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Ray leaves files open and takes SIGTERM for itself; a run needs it to stop in good order."""
    handler = signal.getsignal(signal.SIGTERM)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            yield
        finally:
            gc.collect()  # of the files
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, handler)


def actor_shares(
    wanted: int, resources: Mapping[str, float], on_gpu: bool = False
) -> tuple[int, float]:
    """How many actors a cluster is to have (0 wanted: all that fit), and each one's share of a GPU.

    >>> actor_shares(0, {"CPU": 8.0}), actor_shares(9, {"CPU": 8.0})
    ((8, 0.0), (8, 0.0))
    >>> actor_shares(0, {"CPU": 8.0, "GPU": 2.0}, on_gpu=True)
    (2, 1.0)
    >>> actor_shares(3, {"CPU": 8.0, "GPU": 2.0}, on_gpu=True)
    (3, 0.5)
    """
    cpus, gpus = (int(resources.get(resource, 0)) for resource in ("CPU", "GPU"))
    if not on_gpu:
        return max(min(wanted or cpus, cpus), 1), 0.0
    if not gpus:
        raise BadInput('training.device = "cuda": the Ray cluster has no GPU')
    actors = max(min(wanted or gpus, cpus), 1)
    return actors, 1.0 / math.ceil(actors / gpus)


def pack(ray: Any, world: World, learn: Learn) -> Kit:
    """What every actor needs: the world without the devices' shards, and how to train.

    The samples go as arrays, which the actors of a machine share and nobody copies.
    """
    if world.model.device.index is not None:
        raise BadInput(f'training.device = "{world.model.device}": Ray chooses the GPU, say "cuda"')
    file = io.BytesIO()
    pickler = ray.cloudpickle.CloudPickler(file, protocol=5)
    pickler.persistent_id = lambda thing: "data" if thing is world.data else None
    pickler.dump((replace(world, shards=()), learn))
    values = {field.name: getattr(world.data, field.name) for field in fields(world.data)}
    arrays = {k: v.cpu().numpy() if isinstance(v, Tensor) else v for k, v in values.items()}
    return file.getvalue(), arrays, str(world.model.device), search_path()


def unpack(kit: Kit) -> tuple[World, Learn]:
    """The other side of `pack`."""
    content, arrays, device, path = kit
    extend_path(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the arrays are not to be written to
        values: dict[str, Any] = {
            name: torch.from_numpy(v).to(device) if isinstance(v, np.ndarray) else v
            for name, v in arrays.items()
        }
    unpickler = _Unpickler(io.BytesIO(content))
    unpickler.data = Dataset(**values)
    world, learn = unpickler.load()
    return world, learn


def search_path() -> list[str]:
    """Where this process finds modules, a user's own among them."""
    return [os.path.abspath(place) for place in sys.path]


def extend_path(path: Sequence[str]) -> None:
    """Let this process find them too."""
    sys.path.extend(place for place in path if place not in sys.path)


class _Unpickler(pickle.Unpickler):
    """Puts the samples where `pack` left them out."""

    data: Dataset

    def persistent_load(self, name: str) -> Dataset:
        return self.data

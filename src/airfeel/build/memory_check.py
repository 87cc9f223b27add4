"""The memory that a run needs at least and what there is: refused before it is allocated.

Only what is sure to be written counts, so that no run is refused which fits.
"""

import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from airfeel.catalogue import name_of
from airfeel.catalogues import INVITES
from airfeel.settings.config import Experiment
from airfeel.types import BadInput, Scheme

_DEVICE = 120  # bytes of a device's shard beside its samples: an array, and a place in a tuple
_SLACK = 1.1  # what the kernel calls available is an estimate
_WHOLE = 2**63  # as good as no limit
_ROOT = Path("/")


@dataclass(frozen=True)
class Need:
    """Something large: the settings that decide its size, what it is, and bytes."""

    settings: Mapping[str, object]
    what: str
    bytes: int


def data_need(e: Experiment) -> Need:
    """Synthetic samples while they are made: float32, and the means of their classes twice."""
    chosen = e.data.dataset if isinstance(e.data.dataset, dict) else {}
    count, rest, shape, classes = (
        chosen.get(name, getattr(e.data, name))
        for name in ("samples", "test_samples", "shape", "classes")
    )
    settings = {"data.samples": count, "data.test_samples": rest, "data.shape": list(shape)}
    each = (16 if classes else 4) * math.prod(shape)
    made = name_of(e.data.dataset) == "synthetic"
    return Need(settings, "making the samples", (count + rest) * each if made else 0)


def round_needs(e: Experiment, dim: int, buffers: int = 0, invited: int = 0) -> list[Need]:
    """What is there at once in a round, in RAM.

    Args:
        e: the settings.
        dim: D, parameters of the model; 0 where it is not known yet.
        buffers: arrays [N D] that the codec's memory keeps.
        invited: devices that are sure to train in each round after round 0, in which all do.
    """
    t, devices, channels = e.training, e.training.devices, e.radio.subchannels
    number = 8 if t.dtype == "float64" else 4
    kept = {"ram": number, "bfloat16": 2, "file": 0}[e.run.memory] * buffers
    lasts = t.rounds is None or t.rounds > 1  # in a single round the memory is not written
    updates = dim * max(devices * number, invited * (number + kept) if lasts else 0)
    who = {"training.devices": devices}
    size = 0 if t.batch_size == "all" else t.batch_size  # all samples are in memory anyhow
    steps = {"training.local_steps": t.local_steps, "training.batch_size": size}
    return [
        Need(who, "an update and a memory for each device", _here(e) * updates),
        Need(who | {"radio.subchannels": channels}, "the gains", 16 * devices * channels),
        Need(who, "the devices' shards", _DEVICE * devices),
        Need(steps, "a device's batches", 16 * t.local_steps * size),
    ]


def needed(e: Experiment, dim: int, buffers: int = 1, invited: int | None = None) -> int:
    """Bytes of RAM that a round takes at least; by default everyone trains and has a memory."""
    everyone = e.training.devices if invited is None else invited
    return sum(need.bytes for need in round_needs(e, dim, buffers, everyone))


def file_need(e: Experiment, dim: int, buffers: int) -> Need:
    """What `run.memory = "file"` takes on the disk."""
    number = 8 if e.training.dtype == "float64" else 4
    size = number * dim * e.training.devices * buffers if e.run.memory == "file" else 0
    settings = {"run.memory": e.run.memory, "training.devices": e.training.devices}
    return Need(settings, "the memory", _here(e) * size)


def check_settings(e: Experiment) -> None:
    """Refuse sizes that do not fit whatever the model is."""
    check([data_need(e)], available())
    check(round_needs(e, 0), available())


def check_model(e: Experiment, dim: int) -> None:
    """Refuse a model that does not fit on so many devices, whatever the scheme is."""
    check(round_needs(e, dim), available(), _model(e, dim))


def check_scheme(e: Experiment, dim: int, scheme: Scheme) -> None:
    """Refuse what does not fit once the scheme's memory is there, in RAM or on the disk."""
    buffers, everyone = len(scheme.codec.memory.buffers), INVITES.find("everyone")
    invited = e.training.devices if type(scheme.invite) is everyone else 0
    check(round_needs(e, dim, buffers, invited), available(), _model(e, dim))
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    check([file_need(e, dim, buffers)], free, _model(e, dim), f"free in {folder}")


def _model(e: Experiment, dim: int) -> str:
    return f" with {dim:,} parameters of model.name = {e.model.name!r}"


def check(needs: list[Need], there: int | None, more: str = "", where: str = "available") -> None:
    """Refuse what is more than there is (None: not known), naming the largest."""
    total = sum(need.bytes for need in needs)
    if there is None or total <= _SLACK * there:
        return
    most = max(needs, key=lambda need: need.bytes)
    settings = ", ".join(f"{name} = {value}" for name, value in most.settings.items())
    rest = f", all at least {gigabytes(total)}" if total > most.bytes else ""
    raise BadInput(
        f"{settings}{more}: {most.what} would take {gigabytes(most.bytes)}{rest}; "
        f"{gigabytes(there)} are {where}"
    )


def gigabytes(size: int) -> str:
    """A size in GB, with three digits where it is small.

    >>> gigabytes(22_940_000_000), gigabytes(3 * 10**6), gigabytes(16 * 10**12), gigabytes(10**400)
    ('22.9 GB', '0.003 GB', '16,000 GB', '1e+21 GB')
    """
    amount = min(size, 10**30) / 1e9
    return f"{amount:,.0f} GB" if 1e3 <= amount < 1e9 else f"{amount:.3g} GB"


def available(root: Path = _ROOT) -> int | None:
    """Bytes of RAM and swap that this process may still take; None where nobody tells."""
    try:
        text = (root / "proc/meminfo").read_text("ascii")
        told = {name: 1024 * int(kib) for name, kib in re.findall(r"(\w+): +(\d+) kB", text)}
        return min([told["MemAvailable"], *_limits(root)]) + told["SwapFree"]
    except (OSError, ValueError, KeyError):
        return _installed()


def _installed() -> int | None:
    """All the RAM that the machine has."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _limits(root: Path) -> Iterator[int]:
    """The limits of the control groups that the process is in, of either version."""
    try:
        groups = (root / "proc/self/cgroup").read_text("utf-8").splitlines()
    except OSError:
        return
    for line in groups:
        _, kinds, path = line.split(":", 2)
        if kinds == "":
            base, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in kinds.split(","):
            base, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        here = base / path.lstrip("/")
        for folder in (here, *here.parents):
            if folder.is_relative_to(base):
                yield _number(folder / name)


def _number(path: Path) -> int:
    """A limit in a file; "max", or none, is as good as no limit."""
    try:
        return int(path.read_text("ascii"))
    except (OSError, ValueError):
        return _WHOLE


def _here(e: Experiment) -> bool:
    """Whether devices are trained in this machine's RAM: not on a GPU, not on a cluster."""
    return e.training.device.startswith("cpu") and (e.run.engine == "threads" or not e.run.address)

"""The whole State on disk: nothing that can run when loaded, written in one step, checked by a sum.

A folder holds the newest checkpoint and the one before. A checkpoint knows how many bytes of each
CSV file belong to it, so that a resumed run can cut what came after.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from airfeel.experiment import atomic
from airfeel.types import State

_BUFFER, _CARRY = "buffer.", "carry."
NEWEST, PREVIOUS = "checkpoint.safetensors", "checkpoint-previous.safetensors"


@dataclass(frozen=True)
class Checkpoint:
    """A state, the devices' buffers, and the bytes of each file that go with them."""

    state: State
    buffers: Mapping[str, Tensor]
    bytes: Mapping[str, int]


class Damaged(Exception):
    """A checkpoint that is not what was written."""


def write(folder: Path, checkpoint: Checkpoint, loose: Iterable[Path] = ()) -> None:
    """Save, keeping the one before; a crash at any point leaves at least one of them whole.

    The `loose` files that go with it are on the disk before it is there.
    """
    state = checkpoint.state
    tensors = {
        "theta": state.theta,
        "update": state.update,
        "support": state.support,
        "spent": torch.from_numpy(state.spent),
    }
    tensors |= {f"{_BUFFER}{name}": buffer for name, buffer in checkpoint.buffers.items()}
    tensors |= {
        f"{_CARRY}{name}": torch.as_tensor(value).clone() for name, value in state.carry.items()
    }
    tensors = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
    numbers = {"round": state.round, "slots": state.slots, "idle": state.idle}
    facts = json.dumps(numbers | {"bytes": dict(checkpoint.bytes)}, sort_keys=True)
    content = save(tensors, {"facts": facts, "sha256": _digest(tensors, facts)})
    if (folder / NEWEST).exists():
        os.replace(folder / NEWEST, folder / PREVIOUS)
    atomic.write_all({folder / NEWEST: content}, loose)


def read(path: Path) -> Checkpoint:
    """The checkpoint in a file; raises Damaged unless it is exactly what was written."""
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = file.metadata() or {}
        facts = metadata["facts"]
        if metadata["sha256"] != _digest(tensors, facts):
            raise Damaged(f"{path.name}: its checksum does not match")
        numbers = json.loads(facts)
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise Damaged(f"{path.name}: cannot be read ({error})") from error
    old = {"memory": f"{_BUFFER}memory"}  # names of the first checkpoints
    tensors = {old.get(k, k).replace("policy.", _CARRY): v for k, v in tensors.items()}
    try:
        state = State(
            round=numbers["round"],
            theta=tensors["theta"],
            update=tensors["update"],
            support=tensors["support"],
            spent=tensors["spent"].numpy(),
            slots=numbers["slots"],
            idle=numbers["idle"],
            carry=_with_prefix(_CARRY, tensors),
        )
    except KeyError as error:
        raise Damaged(f"{path.name}: lacks {error}") from error
    return Checkpoint(state, _with_prefix(_BUFFER, tensors), numbers["bytes"])


def _with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def newest(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest whole checkpoint, if any, and what was wrong with newer ones."""
    faults: list[str] = []
    for name in (NEWEST, PREVIOUS):
        if (folder / name).exists():
            try:
                checkpoint = read(folder / name)
                _fits(folder, checkpoint)
                return checkpoint, faults
            except Damaged as damage:
                faults.append(str(damage))
    return None, faults


def _fits(folder: Path, checkpoint: Checkpoint) -> None:
    """A checkpoint whose rows are gone is of no use."""
    for name, size in checkpoint.bytes.items():
        path = folder / name
        if not path.exists() or path.stat().st_size < size:
            raise Damaged(
                f"{name}: holds less than the checkpoint of round {checkpoint.state.round}"
            )


def _digest(tensors: Mapping[str, Tensor], facts: str) -> str:
    total = hashlib.sha256(facts.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        total.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        total.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()

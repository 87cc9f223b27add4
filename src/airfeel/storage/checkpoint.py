"""The whole State on disk: nothing that can run when loaded, written in one step, checked by a sum.

A folder holds the newest checkpoint and the one before. A checkpoint knows how many bytes of each
CSV file belong to it, so that a resumed run can cut what came after, and their checksums; and it
knows the run that it is of.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from airfeel import regular
from airfeel.storage import atomic, checksums
from airfeel.storage import provenance as origin
from airfeel.storage.provenance import Origin
from airfeel.types import BadInput, State

_BUFFER, _CARRY = "buffer.", "carry."
NEWEST, PREVIOUS = "checkpoint.safetensors", "checkpoint-previous.safetensors"


@dataclass(frozen=True)
class Checkpoint:
    """A state, the devices' buffers, and the bytes of each file that go with them.

    sums: checksums of these bytes; origin: what all of it comes from. Older versions had neither.
    """

    state: State
    buffers: Mapping[str, Tensor]
    bytes: Mapping[str, int]
    sums: Mapping[str, str] = field(default_factory=dict)
    origin: Origin | None = None


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
    files = {"bytes": dict(checkpoint.bytes), "sums": dict(checkpoint.sums)}
    source = checkpoint.origin.as_facts() if checkpoint.origin else {}
    facts = json.dumps(numbers | files | source, sort_keys=True)
    content = save(tensors, {"facts": facts, "sha256": _digest(tensors, facts)})
    if (folder / NEWEST).exists():
        os.replace(folder / NEWEST, folder / PREVIOUS)
    atomic.write(folder / NEWEST, content, loose)


def read(path: Path) -> Checkpoint:
    """The checkpoint in a file; raises Damaged unless it is exactly what was written."""
    try:
        with safe_open(regular.check(path), framework="pt") as file:
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
    buffers, sums = _with_prefix(_BUFFER, tensors), numbers.get("sums", {})
    return Checkpoint(state, buffers, numbers["bytes"], sums, origin.from_facts(numbers))


def _with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def newest(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest whole checkpoint whose rows are whole too, and what was wrong with newer ones.

    None where no checkpoint is whole. Where one is, but its rows are not, the run is refused: to
    start over would throw away what the checkpoint holds.
    """
    faults: list[str] = []
    refusal = None
    for name in (NEWEST, PREVIOUS):
        if (folder / name).exists():
            try:
                checkpoint = read(folder / name)
            except Damaged as damage:
                faults.append(str(damage))
                continue
            fault = checksums.misfit(folder, checkpoint.bytes, checkpoint.sums)
            if fault is None:
                return checkpoint, faults
            faults.append(fault)
            refusal = refusal or f"{fault} (round {checkpoint.state.round})"
    if refusal:
        raise BadInput(f"{refusal}; put it back, or remove the checkpoints to start over")
    return None, faults


def known_rows(folder: Path) -> tuple[dict[str, int], dict[str, str]]:
    """Bytes and checksums of the rows that go with the newest checkpoint, empty if unknown."""
    try:
        with safe_open(regular.check(folder / NEWEST), framework="np") as file:
            facts = json.loads((file.metadata() or {})["facts"])
        return facts["bytes"], facts.get("sums", {})
    except (OSError, SafetensorError, KeyError, ValueError):
        return {}, {}


def _digest(tensors: Mapping[str, Tensor], facts: str) -> str:
    total = hashlib.sha256(facts.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        total.update(f"{name} {tensor.dtype} {list(tensor.shape)}".encode())
        total.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()

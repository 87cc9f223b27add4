"""The server's state on disk after each round: a ServerApp that is started anew goes on from there.

A folder holds the checkpoint of the library, with what only a federation has among its buffers, and
`books.jsonl`, a line for each round. Nodes keep their own memories: the checkpoint of a round is on
the disk before the next instruction leaves, so that no node is ever more than one answer ahead: it
takes that one back, also where the newest checkpoint is damaged and the one before has to do.
Askings are numbered from another thousand of millions after each start: none is ever used twice.
"""

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from flwr.app import ArrayRecord
from flwr.serverapp.strategy import Result
from torch import Tensor

from airfeel import regular
from airfeel.flower.books import Books
from airfeel.flower.fleet import Broadcast, Fleet
from airfeel.flower.vectors import Layout
from airfeel.storage import checkpoint
from airfeel.storage.checkpoint import Checkpoint
from airfeel.storage.rows import Row
from airfeel.streams import Streams
from airfeel.types import BadInput, Scheme, State, World

_BOOKS, _FACTS, _LOG, _INNER = "books.jsonl", "facts", "log.", "inner."
_DAMAGED = "checkpoint-damaged.safetensors"
_START = 1_000_000_000  # askings of one start of the server, at most


@dataclass(frozen=True)
class Kept:
    """What is kept of a federation after a round."""

    state: State
    model: Broadcast
    initial: Tensor  # the model that training began with [D]
    facts: Mapping[str, Any]  # all that is no array
    inner: Mapping[str, Tensor]  # what the wrapped strategy remembers
    rows: list[tuple[Row, list[Row]]]  # of each round, and of its devices

    @property
    def first_asking(self) -> int:
        """After which number this start of the server counts its askings."""
        return (int(self.facts["askings"]) // _START + 1) * _START

    def restore(self, fleet: Fleet, books: Books) -> None:
        """Whom the server knew, and its books; nodes are asked again who they are."""
        fleet.session = str(self.facts["session"])
        fleet.counted = {int(n): int(k) for n, k in self.facts["counted"].items()}
        fleet.owner = {int(n): str(key) for n, key in self.facts["owner"].items()}
        books.written = [row for row, _ in self.rows]
        books.devices = [row for _, devices in self.rows for row in devices]


class Keeper:
    """Writes the state into a folder, and reads it.

    about: what another training would have otherwise, by name; a folder of another is refused.
    """

    def __init__(self, folder: str | Path, about: Mapping[str, Any]) -> None:
        self.folder = Path(folder)
        self.about = json.loads(json.dumps(about))
        self._size, self._digest, self._noted = 0, hashlib.sha256(), 0

    def read(self) -> Kept | None:
        """What was kept, None in a folder without anything; of a damaged one the one before."""
        found, faults = checkpoint.newest(self.folder)
        for fault in faults:
            logging.getLogger("airfeel").warning(f"{self.folder}: {fault}")
        if found is None:
            if faults:
                raise BadInput(f"folder = {self.folder}: {faults[0]}; nothing can be resumed")
            return None
        if faults:  # or the next one would take the place of the one that is whole
            os.replace(self.folder / checkpoint.NEWEST, self.folder / _DAMAGED)
        facts = json.loads(found.buffers[_FACTS].numpy().tobytes())
        for name, value in self.about.items():
            if facts["about"].get(name) != value:
                told = f"{facts['about'].get(name)!r}, now it is {value!r}"
                raise BadInput(f"folder = {self.folder}: is of a training whose {name} was {told}")
        rows = self._cut(found.bytes[_BOOKS], facts["books"])
        return Kept(
            found.state,
            _model(found, facts),
            found.buffers["initial"],
            facts,
            {k.removeprefix(_INNER): v for k, v in found.buffers.items() if k.startswith(_INNER)},
            rows,
        )

    def write(self, kept: Kept, fleet: Fleet, books: Books) -> None:
        """After a round, or after a start; it is on the disk when this returns."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._note(books)
        facts = {
            **kept.facts,
            "about": self.about,
            "books": self._digest.hexdigest(),
            "session": fleet.session,
            "counted": fleet.counted,
            "owner": fleet.owner,
            "layout": [kept.model.layout.names, kept.model.layout.shapes],
            "version": kept.model.version,
        }
        text = np.frombuffer(json.dumps(facts).encode(), np.uint8)
        buffers = {_FACTS: text, "before": kept.model.before, "initial": kept.initial.cpu().numpy()}
        buffers |= {f"{_LOG}{v}": np.frombuffer(b, np.uint8) for v, b in kept.model.log.items()}
        tensors = {name: torch.tensor(array) for name, array in buffers.items()}
        tensors |= {f"{_INNER}{name}": tensor for name, tensor in kept.inner.items()}
        saved = Checkpoint(state=kept.state, buffers=tensors, bytes={_BOOKS: self._size})
        checkpoint.write(self.folder, saved, [self.folder / _BOOKS])

    def _note(self, books: Books) -> None:
        """Rounds that the file does not have yet, each with its devices, as a line."""
        new = books.written[self._noted :]
        rounds = {row["round"] for row in new}
        devices = [row for row in books.devices if row["round"] in rounds] if new else []
        with (self.folder / _BOOKS).open("ab") as file:
            for row in new:
                each = [one for one in devices if one["round"] == row["round"]]
                line = json.dumps([row, each]).encode() + b"\n"
                file.write(line)
                self._digest.update(line)
                self._size += len(line)
        self._noted = len(books.written)

    def _cut(self, size: int, digest: str) -> list[tuple[Row, list[Row]]]:
        """The rows that belong to a checkpoint; what came after is removed."""
        path = self.folder / _BOOKS
        data = regular.data(path)[:size]
        self._digest, self._size = hashlib.sha256(data), size
        if self._digest.hexdigest() != digest:
            raise BadInput(f"{path}: is not what was written; its checksum does not match")
        with path.open("r+b") as file:
            file.truncate(size)
        rows = [tuple(json.loads(line)) for line in data.splitlines()]
        self._noted = len(rows)
        return rows


def _model(found: Checkpoint, facts: Mapping[str, Any]) -> Broadcast:
    names, shapes = facts["layout"]
    layout = Layout(tuple(names), tuple(tuple(shape) for shape in shapes))
    model = Broadcast(layout, found.state.theta.numpy())
    model.before, model.version = found.buffers["before"].numpy(), int(facts["version"])
    logs = {k: v for k, v in found.buffers.items() if k.startswith(_LOG)}
    model.log = {int(k.removeprefix(_LOG)): v.numpy().tobytes() for k, v in logs.items()}
    model.log = dict(sorted(model.log.items()))
    return model


def about(scheme: Scheme, world: World, streams: Streams, codec: str) -> dict[str, object]:
    """What tells one training from another."""
    return {
        "scheme": scheme.name,
        "codec": codec,
        "run.seed": streams.seed,
        "training.devices": world.devices,
        "radio.subchannels": world.subchannels,
        "budget.slots": float(world.slots),
        "parameters": world.dim,
    }


def numbered(result: Result, before: int, arrays: ArrayRecord | None) -> Result:
    """The result with rounds counted from the first start of the training."""
    for name in ("train_metrics_clientapp", "evaluate_metrics_clientapp"):
        setattr(result, name, {n + before: v for n, v in getattr(result, name).items()})
    looks = result.evaluate_metrics_serverapp
    result.evaluate_metrics_serverapp = {n + before: v for n, v in looks.items()}
    result.arrays = result.arrays if arrays is None else arrays
    return result

"""What a node keeps between two askings: the model, and the error memory, old and new.

It is kept twice: in the client's `Context.state`, where Flower carries it from message to message,
and in a file of the node, which outlives the process. The file is named by the run and by the
device, `partition-id` of the node's config: a SuperNode that is started anew has another node id
unless it is authenticated by a key, but it is the same device. A server that was started anew goes
on in another run, with the session that it had: the file of the former run is found by that.

A memory stands only if it is that of what was added to the model. One that is a single answer ahead
of the server is taken back. One that is further ahead, or behind, cannot be mended: the device goes
on with an empty memory, and says so.
"""

import dataclasses
import io
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context
from jaxtyping import Float

from airfeel import regular
from airfeel.flower.vectors import Layout, checksum, read_update
from airfeel.storage import atomic
from airfeel.types import BadInput

_log = logging.getLogger("airfeel")
_STATE, _BOOK = "airfeel-arrays", "airfeel-book"
_KEPT_RUNS = 4  # files of older runs of the same device are removed
_ARRAYS = ("theta", "update", "memory", "proposed")


@dataclass(frozen=True)
class Node:
    """A device's own state. Nothing here is ever sent."""

    session: str
    asking: int  # the last one that was answered
    version: int  # of theta
    layout: Layout
    theta: Float[np.ndarray, "D"]
    update: Float[np.ndarray, "D"]  # the last global one: the mask follows from it
    memory: Float[np.ndarray, "D"]  # e, as it stood before `asking`
    proposed: Float[np.ndarray, "D"]  # e, if that answer was counted
    counted: int = -1  # the last answer that had counted before `asking`; -1 where nobody noted it

    @classmethod
    def fresh(
        cls, session: str, version: int, layout: Layout, theta: Float[np.ndarray, "D"]
    ) -> "Node":
        """A device that has said nothing yet."""
        none = np.zeros_like(theta)
        return cls(session, 0, version, layout, theta, none, none, none)

    def settled(self, counted: int) -> "Node":
        """With the memory that stands, now that the last counted answer is known."""
        stands = self.proposed if counted == self.asking else self.memory
        if not self.in_step(counted):
            stands = np.zeros_like(self.memory)
        return dataclasses.replace(self, memory=stands, proposed=stands, counted=counted)

    def in_step(self, counted: int) -> bool:
        """Whether one of its two memories is that of the server's last counted answer."""
        return counted == self.asking or self.counted in (counted, -1)

    def moved(self, version: int, layout: Layout, theta: Float[np.ndarray, "D"]) -> "Node":
        """With another model, given as a whole."""
        if layout != self.layout:
            raise BadInput("arrays: not those of the model that this node's memory belongs to")
        return dataclasses.replace(self, version=version, theta=theta, update=theta * 0)

    def told(self, updates: tuple[bytes, ...], version: int) -> "Node":
        """With the updates that it has not seen yet; the last of them leads to `version`."""
        node, first = self, version - len(updates) + 1
        for number, data in enumerate(updates, start=first):
            if number == node.version + 1:
                update = read_update(data, node.theta)
                theta = node.theta + update
                node = dataclasses.replace(node, version=number, theta=theta, update=update)
        return node

    def agrees(self, version: int, crc: int) -> bool:
        """Whether it holds the server's model."""
        return self.version == version and checksum(self.theta) == crc


def load(context: Context, file: Path | None, session: str) -> tuple[Node | None, str]:
    """The node's state in this training, None if it is new here; and what was wrong, if anything.

    The later of the two that are kept: a process can die after the one was written, or the other.
    Files of other runs are looked at where this run has none yet.
    """
    places: list[Path | Context] = [context]
    if file is not None:
        places += [file] if file.exists() else sorted(file.parent.glob("run-*.npz"))
    found, fault = [], ""
    for place in places:
        try:
            found += [_from_file(place) if isinstance(place, Path) else _from_context(place)]
        except Exception as error:  # a damaged file may raise anything
            name = place.name if isinstance(place, Path) else "context"
            fault = f"{name}: cannot be read ({str(error)[:100]})"
            where = place if isinstance(place, Path) else "Flower's context"
            _log.warning(f"{where}: cannot be read ({str(error)[:100]}); it is not used")
    nodes = [node for node in found if node is not None and node.session == session]
    return max(nodes, key=lambda node: node.asking, default=None), "" if nodes else fault


def save(node: Node, context: Context, file: Path | None) -> None:
    """Into the file first: what is in the context alone dies with the process."""
    if file is not None:
        _to_file(node, file)
    context.state[_STATE] = ArrayRecord({name: Array(getattr(node, name)) for name in _ARRAYS})
    context.state[_BOOK] = ConfigRecord({"book": _book(node)})


def file_of(folder: Path, run: int, device: int) -> Path:
    """Where a device keeps its state of a run."""
    return folder / f"device-{device}" / f"run-{run}.npz"


def _book(node: Node) -> str:
    """All but the arrays."""
    fields = {name: getattr(node, name) for name in ("session", "asking", "version", "counted")}
    return json.dumps({**fields, "names": node.layout.names, "shapes": node.layout.shapes})


def _node(book: str, arrays: dict[str, np.ndarray]) -> Node:
    found: dict[str, Any] = json.loads(book) | arrays
    layout = Layout(tuple(found.pop("names")), tuple(tuple(s) for s in found.pop("shapes")))
    return _checked(Node(layout=layout, **found))


def _checked(node: Node) -> Node:
    """The node, if it can be one: a file may hold anything."""
    numbers = {"asking": node.asking, "version": node.version, "counted": node.counted}
    for name, value in numbers.items():
        if type(value) is not int or value < -1:
            raise BadInput(f"{name} = {value!r}: must be a whole number from -1")
    size, kind = node.layout.size, node.theta.dtype
    for name in _ARRAYS:
        values = getattr(node, name)
        if values.shape != (size,) or values.dtype != kind or kind not in (np.float32, np.float64):
            told = f"{values.dtype} of shape {values.shape}"
            raise BadInput(f"{name}: {told}; must be {size} floats of one kind")
        if not np.isfinite(values).all():
            raise BadInput(f"{name}: must be finite")
    return node


def _from_context(context: Context) -> Node | None:
    if _STATE not in context.state:
        return None
    arrays = {name: context.state.array_records[_STATE][name].numpy() for name in _ARRAYS}
    return _node(str(context.state.config_records[_BOOK]["book"]), arrays)


def _from_file(file: Path) -> Node:
    with np.load(io.BytesIO(regular.data(file)), allow_pickle=False) as found:
        if (wrong := found.zip.testzip()) is not None:
            raise BadInput(f"{wrong}: its checksum does not match")
        return _node(str(found["book"]), {name: found[name] for name in _ARRAYS})


def _to_file(node: Node, file: Path) -> None:
    """Whole or not at all, whenever the node dies."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        _forget_old_runs(file.parent)
    content = io.BytesIO()
    arrays = {name: getattr(node, name) for name in _ARRAYS}
    np.savez(content, allow_pickle=False, book=np.array(_book(node)), **arrays)
    atomic.write(file, content.getbuffer())


def _forget_old_runs(folder: Path) -> None:
    files = sorted(folder.glob("run-*.npz"), key=lambda f: f.stat().st_mtime)
    for old in (*files[: -_KEPT_RUNS + 1], *folder.glob("*.part")):
        old.unlink(missing_ok=True)

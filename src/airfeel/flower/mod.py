"""The client's side: a mod around a train function that knows nothing of the radio."""

import dataclasses
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MessageType, RecordDict
from jaxtyping import Float

from airfeel.compression.spelling import Spelled
from airfeel.flower import memory, protocol, vectors
from airfeel.flower.agreement import derive, node_turn
from airfeel.flower.allowed import Allowed, Makers
from airfeel.flower.memory import Node
from airfeel.flower.protocol import Answer, Hello, Instruction
from airfeel.flower.speech import speak
from airfeel.radio.scheduling.power_constraint import Limit
from airfeel.types import BadInput, Reason

_log = logging.getLogger("airfeel")
_Next = Callable[[Message, Context], Message]  # the next mod, or the train function


@dataclass(frozen=True)
class AirMod:
    """Error memory, masks, quantiser and the power rule around a ClientApp's train function.

    The function finds the global model where its strategy put it and replies with new weights; or,
    in a record named `delta`, with the difference. Its arrays never leave the node: what is sent is
    a payload of `airfeel.wire`. The node's config must have `partition-id`, the device's number.

    codecs: of one's own that a server may ask for, by name, beside those of airfeel.
    folder: of the file that outlives the process; by default `airfeel` in Flower's own folder.
    keep_file: False leaves the memory to `Context.state` alone, for large simulations.
    """

    folder: str | Path | None = None
    keep_file: bool = True
    codecs: Makers = field(default_factory=dict)

    def __post_init__(self) -> None:
        Allowed(self.codecs)  # refused now rather than in the first round

    def __call__(self, message: Message, context: Context, call_next: _Next) -> Message:
        train = message.metadata.message_type.partition(".")[0] == MessageType.TRAIN
        if not train or protocol.RECORD not in message.content.config_records:
            return call_next(message, context)
        order = protocol.read(message.content.config_records[protocol.RECORD])
        if isinstance(order, Answer):
            raise BadInput("instruction: an answer, which only a node gives")
        device = _device(context)
        file = self._file(context, device)
        kept, fault = memory.load(context, file, order.session)
        if isinstance(order, Hello):
            held = (0, -1) if kept is None else (kept.asking, kept.version)
            return _reply(message, Answer(protocol.HELLO, device, *held, order.token, note=fault))
        if order.device != device:
            raise BadInput(f"instruction: for device {order.device}; this node is device {device}")
        node, note = _ready(kept, order, message.content), _gone(kept, order, fault)
        if node is None:
            return _reply(message, Answer(protocol.BEHIND, device, order.asking, -1, order.token))
        codec = Allowed(self.codecs).read(order.codec)
        reply = _trained(node, order, message, context, call_next)
        if reply.has_error():
            return reply
        answer, proposed = _said(node, order, codec, _delta(node, reply.content))
        node = dataclasses.replace(node, asking=order.asking, proposed=proposed)
        memory.save(node, context, file)  # and only then answer
        return _reply(message, dataclasses.replace(answer, note=note), reply.content)

    def _file(self, context: Context, device: int) -> Path | None:
        if not self.keep_file:
            return None
        home = Path(os.environ.get("FLWR_HOME") or "~/.flwr") / "airfeel"
        folder = self.folder or context.node_config.get("airfeel-folder") or home
        return memory.file_of(Path(str(folder)).expanduser(), context.run_id, device)


def _device(context: Context) -> int:
    found = context.node_config.get("partition-id")
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise BadInput(
            f"partition-id = {found!r}: the node's config must name the device, a number from 0; "
            "see flower-supernode --node-config"
        )
    return found


def _gone(kept: Node | None, order: Instruction, fault: str) -> str:
    """What to tell of a memory that does not go with what the server has counted."""
    if kept is None and order.counted:
        told = fault or "nothing is kept here"
    elif kept is not None and not kept.in_step(order.counted):
        told = f"it is that of answer {kept.asking}, counted was {order.counted}"
    else:
        return ""
    told = f"its memory is lost and begins empty: {told}"
    _log.warning(f"device {order.device}: {told}")
    return told


def _ready(node: Node | None, order: Instruction, content: RecordDict) -> Node | None:
    """The node with its memory settled and the server's model; None where it must be told more."""
    if node is not None and order.asking <= node.asking:
        return None  # an old instruction that was long on its way
    base = order.version - len(order.updates)
    if order.model in content.array_records:
        layout, theta = vectors.flatten(content.array_records[order.model])
        if node is None:
            node = Node.fresh(order.session, base, layout, theta)
        node = node.moved(base, layout, theta)
    if node is None:
        return None
    node = node.settled(order.counted).told(order.updates, order.version)
    return node if node.agrees(order.version, order.checksum) else None


def _trained(
    node: Node, order: Instruction, message: Message, context: Context, call_next: _Next
) -> Message:
    """The train function's reply, with the model where it looks for it."""
    when = ConfigRecord({"round": order.round, "device": order.device})
    model = node.layout.record(node.theta)
    message.content = RecordDict({**message.content, protocol.RECORD: when, order.model: model})
    return call_next(message, context)


def _delta(node: Node, content: RecordDict) -> Float[np.ndarray, "D"]:
    """The update: the record `delta`, or the new weights less the old."""
    found = dict(content.array_records)
    if protocol.DELTA in found:
        return node.layout.vector(found[protocol.DELTA])
    if len(found) != 1:
        raise BadInput(f"reply: has {len(found)} ArrayRecords; must have one, or one named 'delta'")
    weights: ArrayRecord = next(iter(found.values()))
    return node.layout.vector(weights) - node.theta


def _said(
    node: Node, order: Instruction, codec: Spelled, delta: Float[np.ndarray, "D"]
) -> tuple[Answer, Float[np.ndarray, "D"]]:
    """The answer, and the memory if it is counted."""
    silent = Answer(
        protocol.SILENT, order.device, order.asking, node.version, order.token, Reason.NOT_FINITE
    )
    vectors = (node.theta, node.update, node.memory, delta)
    theta, update, memory, change = (torch.tensor(vector) for vector in vectors)
    m = max(len(order.gains), 1)
    turn = node_turn(theta, update, order.round, order.seed, order.device, m)
    speech = speak(codec, turn, derive(codec, turn, order.mask), change, memory)
    if speech is None:
        return silent, node.memory
    limit, needed = Limit(order.scalar, np.array([order.budget])), np.zeros(1)
    if order.gains:
        needed = limit.needed(speech.said.energy, np.square([order.gains]))
    if not limit.allows(needed).all():
        loud = dataclasses.replace(silent, reason=Reason.TOO_LOUD, needed=float(needed[0]))
        return loud, node.memory
    spoke = dataclasses.replace(silent, said=protocol.SPOKE, reason="", payload=speech.payload)
    return dataclasses.replace(spoke, needed=float(needed[0])), speech.memory.numpy()


def _reply(message: Message, answer: Answer, content: RecordDict | None = None) -> Message:
    """The train function's own reply, with our record in place of its arrays."""
    records = {k: v for k, v in (content or {}).items() if not isinstance(v, ArrayRecord)}
    return Message(
        RecordDict({**records, protocol.RECORD: protocol.write(answer)}), reply_to=message
    )

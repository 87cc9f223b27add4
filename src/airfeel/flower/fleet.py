"""What the server knows of its nodes: which device each one is, and what it has been told."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from flwr.app import Message, MessageType, RecordDict
from flwr.serverapp import Grid
from jaxtyping import Bool, Float

from airfeel.flower import protocol
from airfeel.flower.protocol import Answer, Hello
from airfeel.flower.vectors import Layout, checksum, octets, write_update
from airfeel.types import BadInput

_log = logging.getLogger("airfeel")


@dataclass
class Fleet:
    """Devices by node id. A device that comes back under another id is the same device."""

    devices: int
    session: str
    patience: float  # seconds to wait for an introduction
    node: dict[int, int] = field(default_factory=dict)  # of each device, the latest
    known: dict[int, int] = field(default_factory=dict)  # version of the model that it holds
    counted: dict[int, int] = field(default_factory=dict)  # last answer that was counted
    _met: dict[int, int] = field(default_factory=dict)  # device of each node ever met

    def meet(self, grid: Grid, nodes: Iterable[int]) -> tuple[int, int]:
        """Ask the nodes that are not known yet who they are; octets sent and received."""
        there = set(nodes)
        strangers = [n for n in sorted(there) if self._strange(n, there)]
        question = RecordDict({protocol.RECORD: protocol.write(Hello(self.session))})
        asked = [Message(question, n, MessageType.TRAIN) for n in strangers]
        replies = list(grid.send_and_receive(asked, timeout=self.patience)) if asked else []
        claims: dict[int, int] = {}
        for reply in replies:
            answer = read_answer(reply)
            if answer is not None and self._fits(answer):
                self._claim(claims, answer, reply.metadata.src_node_id)
        heard = sum(octets(reply.content) for reply in replies if not reply.has_error())
        return len(asked) * octets(question), heard

    def _strange(self, node: int, there: set[int]) -> bool:
        """Whether it was never met, or was replaced by a node that is gone in its turn."""
        now = self.node[self._met[node]] if node in self._met else None
        return now is None or (now != node and now not in there)

    def _fits(self, answer: Answer) -> bool:
        if not 0 <= answer.device < self.devices:
            _log.warning(
                f"partition-id = {answer.device}: must be below training.devices = {self.devices}; "
                "this node takes no part"
            )
        return 0 <= answer.device < self.devices

    def _claim(self, claims: dict[int, int], answer: Answer, node: int) -> None:
        device = answer.device
        if device in claims:
            raise BadInput(
                f"partition-id = {device}: nodes {claims[device]} and {node} both have it; "
                "each node must have its own"
            )
        if device in self.node:
            _log.warning(f"device {device} is back as node {node}, before node {self.node[device]}")
        claims[device] = self.node[device] = node
        self._met[node] = device
        self.known[device] = answer.version

    def reachable(self, nodes: Iterable[int]) -> Bool[np.ndarray, "N"]:
        """Devices whose present node is among `nodes`."""
        found, ids = np.zeros(self.devices, dtype=bool), set(nodes)
        for device, node in self.node.items():
            found[device] = node in ids
        return found


class Broadcast:
    """The global model by versions, and what a node needs to be told to get to the last.

    A node that holds a late version is sent the updates since, each by its support; one that does
    not, the model before the last update and that update, from which the global mask follows.
    """

    def __init__(self, layout: Layout, theta: Float[np.ndarray, "D"]) -> None:
        self.layout = layout
        self.theta = self.before = theta
        self.version = 0
        self.checksum = checksum(theta)
        self.log: dict[int, bytes] = {}

    def add(self, update: Float[np.ndarray, "D"]) -> None:
        """The next version."""
        self.before, self.theta = self.theta, self.theta + update
        self.version += 1
        self.checksum = checksum(self.theta)
        self.log[self.version] = write_update(update)
        while len(self.log) > 1 and sum(map(len, self.log.values())) > self.theta.nbytes:
            del self.log[min(self.log)]  # never cheaper than the whole model

    def to(self, known: int) -> tuple[Float[np.ndarray, "D"] | None, tuple[bytes, ...]]:
        """The model to begin with, if one is needed, and the updates that follow it."""
        missing = range(known + 1, self.version + 1)
        if known >= 0 and all(version in self.log for version in missing):
            return None, tuple(self.log[version] for version in missing)
        if self.version == 0:
            return self.theta, ()
        return self.before, (self.log[self.version],)


def read_answer(reply: Message) -> Answer | None:
    """A node's answer, None where there is none that can be read."""
    if reply.has_error():
        _log.warning(f"node {reply.metadata.src_node_id}: {reply.error.reason}")
        return None
    record = reply.content.config_records.get(protocol.RECORD)
    if record is None:
        _log.warning(f"node {reply.metadata.src_node_id}: its ClientApp has no AirMod")
        return None
    try:
        answer = protocol.read(record)
    except BadInput as error:
        _log.warning(f"node {reply.metadata.src_node_id}: {error}")
        return None
    return answer if isinstance(answer, Answer) else None

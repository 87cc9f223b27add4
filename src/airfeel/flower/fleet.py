"""What the server knows of its nodes: which device each one is, and what it has been told."""

import hashlib
import logging
import secrets
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from flwr.app import Message, MessageType, RecordDict
from flwr.serverapp import Grid
from jaxtyping import Bool, Float

from airfeel.flower import protocol
from airfeel.flower.protocol import Answer, Asked, Hello
from airfeel.flower.replies import forgiving, heed, read_answer
from airfeel.flower.vectors import Layout, checksum, octets, write_update
from airfeel.types import BadInput

_log = logging.getLogger("airfeel")
_NAMED = "device-"  # names of SuperNodes that say which device they are: flwr supernode register


@dataclass
class Fleet:
    """Devices by node id. A device that comes back under another id is the same device.

    With `authenticated` a device belongs to the key of the first node that was it, for as long as
    the training lasts: another key is refused. Where nodes were registered by the names of devices,
    such as `device-3`, so is one with another name. Otherwise a node that is gone may be replaced
    by any other. Where two nodes claim one device, neither takes part.
    """

    devices: int
    session: str
    patience: float  # seconds to wait for an introduction
    authenticated: bool = False
    node: dict[int, int] = field(default_factory=dict)  # of each device, the latest
    known: dict[int, int] = field(default_factory=dict)  # version of the model that it holds
    counted: dict[int, int] = field(default_factory=dict)  # last answer that was counted
    owner: dict[int, str] = field(default_factory=dict)  # of each device, whose key it is bound to
    _met: dict[int, int] = field(default_factory=dict)  # device of each node ever met
    _meetings: int = 0
    _failed: dict[int, int] = field(default_factory=dict)  # introductions of a node in a row
    _next: dict[int, int] = field(default_factory=dict)  # meeting in which it is asked again
    _wild: set[int] = field(default_factory=set)  # without a finite update, since anybody spoke

    def meet(self, grid: Grid, nodes: Iterable[int]) -> tuple[int, int]:
        """Ask the nodes that are not known yet who they are; octets sent and received."""
        there = set(nodes)
        self._meetings += 1
        strangers = [n for n in sorted(there) if self._strange(n, there) and self._due(n)]
        if not strangers:
            return 0, 0
        told, keys = Introductions(), self._keys(grid)
        told.ask(grid, self.session, strangers, self.patience)
        for node, answer in list(told.answers.items()):
            if fault := self._fault(answer.device, node, keys):
                _log.warning(f"{_who(node, answer.device)}: {fault}; it takes no part")
                del told.answers[node]
        # Whoever is such a device already, and is still there, may object.
        claimed = {answer.device for answer in told.answers.values()} & self.node.keys()
        present = [self.node[d] for d in sorted(claimed) if self.node[d] in there]
        objecting = [n for n in present if n not in told.answers]
        told.ask(grid, self.session, objecting, self.patience)
        for node in objecting:
            if node in told.answers and told.answers[node].device != self._met[node]:
                _log.warning(f"{_who(node, self._met[node])}: says now that it is another")
                del told.answers[node]
        claims: dict[int, list[int]] = {}
        for node in sorted(told.answers):
            claims.setdefault(told.answers[node].device, []).append(node)
        for device, nodes in claims.items():
            if len(nodes) == 1:
                self._welcome(device, nodes[0], told.answers[nodes[0]].version, keys)
            else:
                self._part(device, nodes)
        for node in strangers:
            self._failed[node] = 0 if node in self._met else self._failed.get(node, 0) + 1
            self._next[node] = self._meetings + 2 ** self._failed[node] // 2
        return told.sent, told.received

    def _due(self, node: int) -> bool:
        """Whether to ask it again: ever more seldom, so that who does not answer costs little."""
        return self._next.get(node, 0) <= self._meetings

    def _strange(self, node: int, there: set[int]) -> bool:
        """Whether it was never met, or was replaced by a node that is gone in its turn."""
        now = self.node.get(self._met[node]) if node in self._met else None
        return now is None or (now != node and now not in there)

    def _keys(self, grid: Grid) -> dict[int, tuple[str, str]]:
        """Of each node the digest of its public key, or its id if it has none, and its name.

        The SuperLink checks every request of a node against the key that the node has there.
        """
        if not self.authenticated:
            return {}
        if not hasattr(grid, "get_nodes"):
            raise BadInput("authenticated: this version of Flower does not tell nodes' keys")
        return {
            info.node_id: (
                hashlib.sha256(info.public_key or b"%d" % info.node_id).hexdigest(),
                info.name,
            )
            for info in grid.get_nodes()
        }

    def _fault(self, device: int, node: int, keys: Mapping[int, tuple[str, str]]) -> str:
        """Why a node cannot be this device; nothing if it can."""
        if device >= self.devices:
            legal = f"must be below training.devices = {self.devices}"
            return f"partition-id = {device}: {legal}"
        if not self.authenticated:
            return ""
        if node not in keys:
            return "the SuperLink has no such node any more"
        key, name = keys[node]
        named = any(other.startswith(_NAMED) for _, other in keys.values())
        if named and name != f"{_NAMED}{device}":
            return f"partition-id = {device}: it was registered as {name[:40]!r}"
        if self.owner.get(device, key) != key:
            return f"partition-id = {device}: that device is bound to another public key"
        return ""

    def _welcome(
        self, device: int, node: int, version: int, keys: Mapping[int, tuple[str, str]]
    ) -> None:
        before = self.node.get(device)
        if before not in (None, node):
            _log.warning(f"device {device} is back as node {node}, before node {before}")
        self.node[device], self._met[node] = node, device
        self.known[device] = version
        if node in keys:
            self.owner.setdefault(device, keys[node][0])

    def _part(self, device: int, nodes: list[int]) -> None:
        """Nobody can tell which of them it is; they are asked again in the next round."""
        told = " and ".join(map(str, nodes))
        _log.warning(
            f"partition-id = {device}: nodes {told} both have it; each node must have its own. "
            "Neither takes part"
        )
        self.node.pop(device, None)
        for node in nodes:
            self._met.pop(node, None)

    def who(self, node: int) -> str:
        """A node in words, with the device that it is, if it is one."""
        return _who(node, self._met[node]) if node in self._met else f"node {node}"

    def hopeless(self, spoke: Collection[int], not_finite: Collection[int]) -> bool:
        """Whether all devices there are have no finite update any more, one after the other.

        One node alone cannot say so for all: any other that speaks is proof of the contrary.
        """
        self._wild = set() if spoke else self._wild | set(not_finite)
        return bool(self._wild) and self._wild >= self.node.keys()

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
        if 0 <= known <= self.version and all(version in self.log for version in missing):
            return None, tuple(self.log[version] for version in missing)
        if self.version == 0:
            return self.theta, ()
        return self.before, (self.log[self.version],)


@dataclass
class Introductions:
    """What nodes have said of themselves, and the octets that it took."""

    answers: dict[int, Answer] = field(default_factory=dict)
    sent: int = 0
    received: int = 0

    def ask(self, grid: Grid, session: str, nodes: Iterable[int], patience: float) -> None:
        """Ask nodes which device they are; one that does not say so is not there."""
        asked = {node: Asked(0, 0, secrets.token_bytes(8)) for node in nodes}
        questions = [
            Message(
                RecordDict({protocol.RECORD: protocol.write(Hello(session, known.token))}),
                node,
                MessageType.TRAIN,
            )
            for node, known in asked.items()
        ]
        if not questions:
            return
        self.sent += sum(octets(question.content) for question in questions)
        for reply in grid.send_and_receive(questions, timeout=patience):
            node = reply.metadata.src_node_id
            with forgiving(f"node {node}"):
                answer = read_answer(reply, asked.get(node))
                if answer.said != protocol.HELLO:
                    raise BadInput(f"said {answer.said!r} when it was asked who it is")
                self.received += octets(reply.content)
                self.answers[node] = answer
                heed(reply, answer)


def _who(node: int, device: int) -> str:
    return f"node {node} (device {device})"

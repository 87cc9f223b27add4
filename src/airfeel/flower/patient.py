"""A grid that takes replies one by one: what cannot even be unpacked is a lost reply as well."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from flwr.app import Message
from flwr.serverapp import Grid

from airfeel.flower.replies import lose
from airfeel.types import BadInput

_PAUSE = 3.0  # seconds between two looks, as Flower has them
_LINK = ("httpx", "httpcore", "grpc")  # whose errors are the SuperLink's: no node causes them


class Patient(Grid):
    """Another grid. Flower's own gives up all replies where one node's cannot be unpacked.

    who: names a node, and the device that it is, in the log.
    """

    def __init__(self, grid: Grid, who: Callable[[int], str]) -> None:
        self.grid, self.who = grid, who

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Push the messages, and pull the reply to each of them until the time is up."""
        sent = list(messages)
        ids = list(self.grid.push_messages(sent)) if sent else []
        nodes = [message.metadata.dst_node_id for message in sent]
        waiting = {i: node for i, node in zip(ids, nodes, strict=False) if i}
        end, found = time.monotonic() + (timeout or 0.0), []
        while waiting and (timeout is None or time.monotonic() < end):
            for i, node in list(waiting.items()):
                replies = self._pull(i, node)
                found += replies or []
                if replies is None or replies:
                    del waiting[i]
            if waiting:
                time.sleep(_PAUSE)
        return found

    def _pull(self, i: str, node: int) -> list[Message] | None:
        """The replies to one message, none if there is none yet; None where it was lost."""
        try:
            replies = list(self.grid.pull_messages([i]))
            for reply in replies:  # an error may come from the SuperLink, which is no node of ours
                if reply.has_error():
                    raise BadInput(f"error {reply.error.code}, {reply.error.reason}")
            return replies
        except Exception as error:  # a stranger's octets may raise anything
            if isinstance(error, OSError) or type(error).__module__.partition(".")[0] in _LINK:
                raise
            lose(self.who(node), error)
            return None

    def set_run(self, run: Any) -> None:
        """As the other grid does it."""
        self.grid.set_run(run)

    @property
    def run(self) -> Any:
        """The other grid's run."""
        return self.grid.run

    def create_message(self, *args: Any, **options: Any) -> Message:
        """As the other grid does it."""
        return self.grid.create_message(*args, **options)

    def get_node_ids(self) -> Iterable[int]:
        """As the other grid does it."""
        return self.grid.get_node_ids()

    def get_nodes(self) -> Iterable[Any]:
        """As the other grid does it."""
        return self.grid.get_nodes()

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """As the other grid does it."""
        return self.grid.push_messages(messages)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """As the other grid does it."""
        return self.grid.pull_messages(message_ids)

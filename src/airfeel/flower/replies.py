"""One reply of a node, checked before anybody uses it; one that fails here was lost on the way."""

import contextlib
import logging
import math
from collections.abc import Iterator, Mapping

from flwr.app import Message

from airfeel.flower import protocol
from airfeel.flower.protocol import Answer, Asked
from airfeel.types import BadInput

Metrics = Mapping[str, int | float | list[int] | list[float]]

_log = logging.getLogger("airfeel")
_MOST = 2.0**53  # samples of one node: sums of such weights are finite
_SHOWN = 200  # characters of a fault; some of them are a stranger's


@contextlib.contextmanager
def forgiving(who: str) -> Iterator[None]:
    """Whatever a reply makes us raise is one line in the log, and the reply is lost.

    who: the node, and the device that it is or says it is.
    """
    try:
        yield
    except Exception as error:  # a stranger's words may raise anything
        lose(who, error)


def lose(who: str, error: Exception) -> None:
    """Say in one line why a reply is lost."""
    _log.warning(f"{who}: {_one_line(error)}; its reply is lost")


def read_answer(reply: Message, asked: Asked | None) -> Answer:
    """What the node says; refused unless it answers the very question that was asked.

    asked: the device, asking and token that it must repeat, None for a node that was not asked.
    """
    if asked is None:
        raise BadInput("was not asked")
    if reply.has_error():
        raise BadInput(f"error {reply.error.code}, {reply.error.reason}")
    record = reply.content.config_records.get(protocol.RECORD)
    if record is None:
        raise BadInput("its ClientApp has no AirMod")
    answer = protocol.read(record)
    if not isinstance(answer, Answer):
        raise BadInput(f"record {protocol.RECORD!r} is no answer")
    if answer.token != asked.token:
        raise BadInput("answers another question: its token is not that of the instruction")
    if answer.said != protocol.HELLO:
        wanted = (asked.device, asked.asking)
        if (answer.device, answer.asking) != wanted:
            told = f"device {answer.device} in asking {answer.asking}"
            raise BadInput(f"speaks as {told}; asked was device {wanted[0]} in asking {wanted[1]}")
    return answer


def heed(reply: Message, answer: Answer) -> None:
    """Log what a node wants the server to know, such as a memory that it has lost."""
    if answer.note:
        told = " ".join(answer.note.split())[:_SHOWN]
        _log.warning(f"node {reply.metadata.src_node_id} (device {answer.device}) says: {told}")


def read_metrics(reply: Message, weight: str) -> Metrics:
    """The node's metrics that are finite; a weight must be a number from 0.

    weight: the metric by which nodes' metrics are weighted.
    """
    records = reply.content.metric_records.values()
    found = {name: value for record in records for name, value in record.items()}
    share = found.get(weight, 1.0)
    if isinstance(share, list) or not 0.0 <= share <= _MOST:
        raise BadInput(f"metric {weight!r} = {str(share)[:40]}: must be a number from 0 to 2^53")
    return {name: value for name, value in found.items() if _finite(value)}


def _finite(value: int | float | list[int] | list[float]) -> bool:
    return all(map(math.isfinite, value if isinstance(value, list) else [value]))


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    named = text if isinstance(error, BadInput) else f"{type(error).__name__}, {text}"
    return named if len(named) <= _SHOWN else named[:_SHOWN] + "…"

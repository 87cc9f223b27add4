"""From the replies of a turn to the payload of the library's round."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from flwr.app import ArrayRecord, Message, MetricRecord
from jaxtyping import Float, Int64
from torch import Tensor

from airfeel.flower import protocol
from airfeel.flower.fleet import Fleet, read_answer
from airfeel.flower.protocol import Answer
from airfeel.flower.speech import hear
from airfeel.flower.vectors import dense_octets, octets
from airfeel.radio.air import segment_energy
from airfeel.types import Compress, Payload, Reason
from airfeel.wire import WireError, size_bits

_LOSS = "train-loss"  # the metric that the books enter as the mean mini-batch loss


@dataclass(frozen=True)
class Words:
    """What one node said."""

    reply: Message
    common: Float[Tensor, "K"]
    index: Int64[Tensor, "L"]
    value: Float[Tensor, "L"]


@dataclass
class Replies:
    """All that arrived in a turn."""

    spoke: dict[int, Words] = field(default_factory=dict)
    silent: dict[int, Answer] = field(default_factory=dict)
    octets: int = 0
    dense_octets: int = 0
    payload_octets: int = 0
    formula_octets: float = 0.0


@dataclass(frozen=True)
class Ear:
    """How a turn's payloads are read."""

    compress: Compress
    update: Float[Tensor, "D"]  # the last global one

    @cached_property
    def support(self) -> Int64[Tensor, "K"]:
        """The global mask of the turn."""
        return self.compress.support(self.update)

    @cached_property
    def k_local(self) -> int:
        """How many local values each device sends."""
        _, index, _ = self.compress(self.update, self.support, np.zeros(self.compress.dice))
        return len(index)

    def listen(
        self,
        turn: int,
        asked: Mapping[int, int],
        fleet: Fleet,
        replies: Iterable[Message],
        model: ArrayRecord,
    ) -> Replies:
        """Sort the replies; one that cannot be read is as good as lost, and is never counted."""
        found, sizes = Replies(), (len(self.support), self.k_local)
        for reply in replies:
            device = asked.get(reply.metadata.src_node_id)
            answer = read_answer(reply)
            if answer is None or device is None or (answer.device, answer.turn) != (device, turn):
                continue
            found.octets += octets(reply.content)
            found.dense_octets += dense_octets(reply.content, "arrays", model)
            fleet.known[device] = answer.version
            if answer.said == protocol.SILENT and answer.reason in set(Reason):
                found.silent[device] = answer
            elif answer.said == protocol.SPOKE:
                self._hear(found, device, answer, reply, sizes)
        return found

    def _hear(
        self,
        found: Replies,
        device: int,
        answer: Answer,
        reply: Message,
        sizes: tuple[int, int],
    ) -> None:
        try:
            message, *words = hear(answer.payload, self.update, *sizes)
        except WireError as error:
            logging.getLogger("airfeel").warning(f"device {device}: {error}; it is not counted")
            return
        found.spoke[device] = Words(reply, *words)
        found.payload_octets += len(answer.payload)
        found.formula_octets += size_bits(message).formula / 8.0

    def payload(self, found: Replies, subchannels: int) -> Payload:
        """What the round is played with, in device order."""
        devices = sorted(found.spoke)
        words = [found.spoke[n] for n in devices]
        k, n = len(self.support), len(words)
        blank = self.update[:0]
        return Payload(
            devices=np.array(devices, dtype=np.int64),
            finite=np.ones(n, dtype=bool),
            support=self.support,
            common=torch.cat([blank, *(w.common for w in words)]).view(n, k),
            index=torch.cat([blank.long(), *(w.index for w in words)]).view(n, self.k_local),
            value=torch.cat([blank, *(w.value for w in words)]).view(n, self.k_local),
            energy=np.array([segment_energy(w.common, subchannels) for w in words]).reshape(
                -1, subchannels
            ),
            bits=self.compress.bits,
            loss=np.array([_loss(w.reply) for w in words], dtype=np.float64),
        )


def mean_metrics(replies: Iterable[Message], weight: str) -> MetricRecord:
    """Means of the nodes' metrics, weighted by one of them, which is summed; 1 where it lacks."""
    records = [_metrics(reply) for reply in replies]
    share = np.array([float(record.get(weight, 1.0)) for record in records])
    mean = MetricRecord({weight: float(share.sum())})
    for name in records[0]:
        if name != weight and all(name in record for record in records):
            values = np.array([record[name] for record in records], dtype=float)
            mean[name] = np.average(values, axis=0, weights=share).tolist()
    return mean


def _metrics(reply: Message) -> dict:
    return {k: v for record in reply.content.metric_records.values() for k, v in record.items()}


def _loss(reply: Message) -> float:
    found = _metrics(reply).get(_LOSS, np.nan)
    return float(found) if isinstance(found, int | float) else np.nan

"""From the replies to an asking to what is said in the library's round."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch
from flwr.app import ArrayRecord, Message, MetricRecord
from jaxtyping import Float
from torch import Tensor

from airfeel.compress.spelling import Spelling
from airfeel.flower import protocol
from airfeel.flower.fleet import Fleet, read_answer
from airfeel.flower.protocol import Answer
from airfeel.flower.speech import hear
from airfeel.flower.vectors import dense_octets, octets
from airfeel.radio.air import segment_energy
from airfeel.types import Agreed, Reason, Said, Words
from airfeel.wire import WireError, size_bits

_LOSS = "train-loss"  # the metric that the books enter as the mean mini-batch loss


@dataclass(frozen=True)
class Spoken:
    """What one node said."""

    reply: Message
    words: Words


@dataclass
class Replies:
    """All that arrived in answer to an asking."""

    spoke: dict[int, Spoken] = field(default_factory=dict)
    silent: dict[int, Answer] = field(default_factory=dict)
    octets: int = 0
    dense_octets: int = 0
    payload_octets: int = 0
    formula_octets: float = 0.0


@dataclass(frozen=True)
class Ear:
    """How the payloads of an asking are read."""

    spelling: Spelling
    agreed: Agreed
    like: Float[Tensor, "D"]  # a vector of the model's size and type

    def listen(
        self,
        asking: int,
        asked: Mapping[int, int],
        fleet: Fleet,
        replies: Iterable[Message],
        model: ArrayRecord,
    ) -> Replies:
        """Sort the replies; one that cannot be read is as good as lost, and is never counted."""
        found = Replies()
        for reply in replies:
            device = asked.get(reply.metadata.src_node_id)
            answer = read_answer(reply)
            if (
                answer is None
                or device is None
                or (answer.device, answer.asking) != (device, asking)
            ):
                continue
            found.octets += octets(reply.content)
            found.dense_octets += dense_octets(reply.content, "arrays", model)
            fleet.known[device] = answer.version
            if answer.said == protocol.SILENT and answer.reason in set(Reason):
                found.silent[device] = answer
            elif answer.said == protocol.SPOKE:
                self._hear(found, device, answer, reply)
        return found

    def _hear(self, found: Replies, device: int, answer: Answer, reply: Message) -> None:
        try:
            message, words = hear(
                answer.payload, self.like, len(self.agreed.support), self.spelling
            )
        except WireError as error:
            logging.getLogger("airfeel").warning(f"device {device}: {error}; it is not counted")
            return
        found.spoke[device] = Spoken(reply, words)
        found.payload_octets += len(answer.payload)
        found.formula_octets += size_bits(message).formula / 8.0

    def said(self, found: Replies, subchannels: int) -> Said:
        """What the round is played with, in device order."""
        devices = sorted(found.spoke)
        words = [found.spoke[n].words for n in devices]
        n, k, own = len(words), len(self.agreed.support), self.spelling.own
        blank = self.like[:0]
        common = torch.cat([blank, *(w.common for w in words)]).view(n, k)
        return Said(
            devices=np.array(devices, dtype=np.int64),
            finite=np.ones(n, dtype=bool),
            agreed=self.agreed,
            common=common,
            index=torch.cat([blank.long(), *(w.index for w in words)]).view(n, own),
            value=torch.cat([blank, *(w.value for w in words)]).view(n, own),
            bits=np.full(n, self.spelling.cost),
            energy=segment_energy(common, subchannels),
            loss=np.array([_loss(found.spoke[n].reply) for n in devices], dtype=np.float64),
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

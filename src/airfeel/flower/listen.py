"""From the replies to an asking to what is said in the library's round."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from flwr.app import ArrayRecord, Message, MetricRecord
from jaxtyping import Float
from torch import Tensor

from airfeel.compression.spelling import Spelling
from airfeel.flower import protocol
from airfeel.flower.bound import TOO_LONG, NormBound
from airfeel.flower.fleet import Fleet
from airfeel.flower.protocol import Answer, Asked
from airfeel.flower.replies import Metrics, forgiving, heed, read_answer, read_metrics
from airfeel.flower.speech import hear
from airfeel.flower.vectors import dense_octets, octets
from airfeel.radio.energy import segment_energy
from airfeel.types import Agreed, BadInput, Reason, Said, Words
from airfeel.wire import size_bits

_log = logging.getLogger("airfeel")
_LOSS = "train-loss"  # the metric that the books enter as the mean mini-batch loss


@dataclass(frozen=True)
class Spoken:
    """What one node said."""

    reply: Message
    words: Words
    metrics: Metrics


@dataclass
class Replies:
    """All that arrived in answer to an asking."""

    spoke: dict[int, Spoken] = field(default_factory=dict)
    silent: dict[int, Answer] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)  # who spoke and is not taken, and why
    octets: int = 0
    dense_octets: int = 0
    payload_octets: int = 0
    formula_octets: float = 0.0

    @property
    def not_finite(self) -> set[int]:
        """Devices that say that their update is not finite."""
        return {n for n, answer in self.silent.items() if answer.reason == Reason.NOT_FINITE}

    def keep_to(self, bound: NormBound, in_air: bool) -> None:
        """Refuse the updates that are too long.

        in_air: whether values on the shared mask are summed in the air; these are not measured.
        """
        devices = sorted(self.spoke)
        words = [self.spoke[n].words for n in devices]
        norms = np.array(
            [_norm(w.value if in_air else torch.cat([w.common, w.value])) for w in words]
        )
        for i in np.flatnonzero(bound.refused(norms)):
            node = self.spoke.pop(devices[i]).reply.metadata.src_node_id
            self.refused[devices[i]] = TOO_LONG
            told = f"an update of norm {norms[i]:.3g}, the median is {np.median(norms):.3g}"
            _log.warning(f"node {node} (device {devices[i]}): {told}; it is not taken")


@dataclass(frozen=True)
class Ear:
    """How the payloads of an asking are read."""

    spelling: Spelling
    agreed: Agreed
    like: Float[Tensor, "D"]  # a vector of the model's size and type
    weight: str = "num-examples"  # the metric by which metrics are weighted

    def listen(
        self,
        asked: Mapping[int, Asked],
        fleet: Fleet,
        replies: Iterable[Message],
        model: ArrayRecord,
    ) -> Replies:
        """Sort the replies; one that cannot be read is as good as lost, and is never counted.

        asked: what the answer of each node must repeat. The first that does so is the answer.
        """
        found, open_ = Replies(), dict(asked)
        for reply in replies:
            node = reply.metadata.src_node_id
            device = asked[node].device if node in asked else "none that was asked"
            with forgiving(f"node {node} (device {device})"):
                answer = read_answer(reply, open_.get(node))
                del open_[node]
                self._hear(found, fleet, reply, answer, model)
        return found

    def _hear(
        self, found: Replies, fleet: Fleet, reply: Message, answer: Answer, model: ArrayRecord
    ) -> None:
        """One answer; nothing is noted of it before all of it was read."""
        metrics, device = read_metrics(reply, self.weight), answer.device
        size = octets(reply.content), dense_octets(reply.content, "arrays", model)
        if answer.said == protocol.HELLO:
            raise BadInput("said who it is when it was asked for its update")
        if answer.said == protocol.SPOKE:
            k_common = len(self.agreed.support)
            message, words = hear(answer.payload, self.like, k_common, self.spelling)
            self._refuse_endless(words)
            found.formula_octets += size_bits(message).formula / 8.0
            found.payload_octets += len(answer.payload)
            found.spoke[device] = Spoken(reply, words, metrics)
        elif answer.said == protocol.SILENT:
            found.silent[device] = answer
        found.octets += size[0]
        found.dense_octets += size[1]
        fleet.known[device] = answer.version
        heed(reply, answer)

    def _refuse_endless(self, words: Words) -> None:
        """Entries whose square overflows: sums, energies and steps of them may not be finite."""
        most = torch.finfo(self.like.dtype).max ** 0.5
        largest = max(float(v.abs().max()) if len(v) else 0.0 for v in (words.common, words.value))
        if largest > most:
            raise BadInput(f"update: an entry of {largest:.3g}; at most {most:.3g} is legal")

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
            loss=np.array([_loss(found.spoke[n].metrics) for n in devices], dtype=np.float64),
        )


def mean_metrics(found: Sequence[Metrics], weight: str) -> MetricRecord:
    """Means of the nodes' metrics, weighted by one of them, which is summed; 1 where it lacks.

    A metric is left out that a node lacks, or of which they have lists of different lengths.
    """
    share = np.array([float(np.asarray(metrics.get(weight, 1.0))) for metrics in found])
    share = share if share.any() else np.ones_like(share)
    mean = MetricRecord({weight: float(share.sum())})
    for name in found[0]:
        values = [metrics[name] for metrics in found if name in metrics]
        if name != weight and len(values) == len(found) and len(set(map(np.shape, values))) == 1:
            with np.errstate(over="ignore", invalid="ignore"):
                average = np.average(np.array(values, dtype=float), axis=0, weights=share)
            if np.isfinite(average).all():
                mean[name] = average.tolist()
    return mean


def _norm(values: Float[Tensor, "n"]) -> float:
    return float(torch.linalg.vector_norm(values, dtype=torch.float64))


def _loss(metrics: Metrics) -> float:
    found = metrics.get(_LOSS, np.nan)
    return np.nan if isinstance(found, list) else float(found)

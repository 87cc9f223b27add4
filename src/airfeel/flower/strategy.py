"""The server's side: a strategy around another one that plans the radio and plays the round."""

import dataclasses
import logging
import secrets
import time
from collections.abc import Iterable

import numpy as np
import torch
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy
from jaxtyping import Bool

from airfeel.compress.codecs import Whole
from airfeel.experiment.build import Setup
from airfeel.flower.agreement import agree
from airfeel.flower.allowed import Allowed, Makers
from airfeel.flower.asking import Asking, instruct, limit_of
from airfeel.flower.books import Books
from airfeel.flower.bound import NormBound
from airfeel.flower.fleet import Broadcast, Fleet
from airfeel.flower.listen import Ear, Replies, Spoken, mean_metrics
from airfeel.flower.parts import Heard, Vector, as_happened
from airfeel.flower.refusals import refuse_partial, refuse_round
from airfeel.flower.vectors import flatten, octets
from airfeel.round import play_round, start
from airfeel.streams import Streams
from airfeel.types import BadInput, Codec, Fade, Invited, Reason, Report, State, Turn

_log = logging.getLogger("airfeel")
_SHOWN = ["scheduled", "silent", "lost", "slots", "bits"]
_SHOWN += ["uplink_octets", "uplink_dense", "downlink_octets", "downlink_dense"]


class AirStrategy(Strategy):
    """Scheduling, channel, aggregation and accounting of airfeel around another strategy.

    The other strategy chooses among the nodes that are there, configures them, and is handed the
    aggregated model as if it were the one reply: FedAvg takes it as it is, FedAdam makes a step of
    it. Each node is a device of the settings by its `partition-id`, and has an `AirMod`.

    setup: of `airfeel.experiment.build.build`, or of `radio_only` for a model of one's own.
    fade: the channel, if it is not to be that of the settings; see `Supplied`.
    codecs: of one's own, by the names that nodes know them by; see `AirMod`.
    patience: seconds to wait for a node's introduction.
    weight: the metric by which nodes' metrics are weighted; values never are, see eq. (2).
    authenticated: bind each device to the public key of its node, for a SuperLink that was started
        with --enable-supernode-auth: without it, a node that is started anew has another key.
    bound: how long an update may be that is taken from a node; see `NormBound`. None: any.
    """

    def __init__(
        self,
        inner: Strategy,
        setup: Setup,
        *,
        fade: Fade | None = None,
        codecs: Makers | None = None,
        patience: float = 60.0,
        weight: str = "num-examples",
        authenticated: bool = False,
        bound: NormBound | None = None,
    ) -> None:
        if not isinstance(setup.streams, Streams):
            raise BadInput("setup.streams: must be airfeel.Streams; nodes make theirs of its seed")
        if setup.streams.seed >= 2**63:
            raise BadInput(f"run.seed = {setup.streams.seed}: must be below 2**63 for Flower")
        self.inner = inner
        self.world = setup.world
        self.scheme = setup.scheme if fade is None else dataclasses.replace(setup.scheme, fade=fade)
        self.streams = setup.streams
        self.weight, self.bound = weight, bound
        self.state: State | None = None  # None before round 0 has succeeded
        self.over: str | None = None  # why no further round is played
        self.books = Books(self.scheme.columns)
        self.last: Report | None = None  # of the last round
        self.fleet = Fleet(self.world.devices, secrets.token_hex(8), patience, authenticated)
        self._model: Broadcast | None = None
        self._asking: Asking | None = None
        self._lost_ground: set[int] = set()  # devices without a finite update, since the last one
        self._askings = 0
        self._allowed = Allowed(codecs or {})
        self._allowed.read(self._allowed.write(self.scheme.codec))  # refused now, not in a round

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Instructions to the nodes that the other strategy chose and the scheduler invites."""
        began = time.perf_counter()
        model = self._adopt(arrays)
        if self.over is not None:
            return []
        drafts = {
            message.metadata.dst_node_id: message
            for message in self.inner.configure_train(server_round, arrays, config, grid)
        }
        met_out, met_in = self.fleet.meet(grid, drafts)
        asking = self._open(self.fleet.reachable(drafts), met_in, began)
        messages = [
            instruct(
                asking,
                drafts[node],
                model,
                self.fleet.known[n],
                n,
                counted=self.fleet.counted.get(n, 0),
                session=self.fleet.session,
                seed=self.streams.seed,
            )
            for node, n in asking.asked.items()
        ]
        self._asking = dataclasses.replace(
            asking,
            sent=met_out + sum(octets(message.content) for message in messages),
            dense=sum(octets(drafts[node].content) for node in asking.asked),
        )
        return messages

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """One round of the library with what the nodes said, and the other strategy's last word."""
        asking, self._asking = self._asking, None
        if asking is None or self._model is None:
            return None, None
        model = self._model.layout.record(self._model.theta)
        heard = asking.ear.listen(asking.expected, self.fleet, replies, model)
        if self.bound is not None:
            heard.keep_to(self.bound, in_air=asking.limit is not None)
        if self._nobody_finite(heard):
            return None, None
        after, report, counted = self._play(asking, heard)
        if after is None:
            return None, None
        metrics: MetricRecord | None = None
        if counted:
            speakers = [heard.spoke[n] for n in counted]
            after, metrics = self._last_word(server_round, self._model, after, speakers)
            if after is None:
                return None, None
            self._model.add(after.update.numpy())
        self.fleet.counted.update(dict.fromkeys(counted, asking.number))
        self.state, self.last = after, report
        row = self.books.enter(asking, heard, after, report, self.world.subchannels)
        ours = {f"airfeel-{name}".replace("_", "-"): float(row[name]) for name in _SHOWN}
        arrays = self._model.layout.record(self._model.theta)
        return arrays, MetricRecord({**(metrics or {}), **ours})

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """As the other strategy does it, with the whole model."""
        return self.inner.configure_evaluate(server_round, arrays, config, grid)

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """As the other strategy does it."""
        return self.inner.aggregate_evaluate(server_round, replies)

    def summary(self) -> None:
        """Log what this strategy and the other one are."""
        world = self.world
        logging.getLogger("flwr").info(
            f"{self.scheme.name}: {world.devices} devices, {world.subchannels} sub-channels, "
            f"{world.dim} parameters; superposition is simulated"
        )
        self.inner.summary()

    def _adopt(self, arrays: ArrayRecord) -> Broadcast:
        """The model as one vector; the one of the first call is where training begins."""
        if self._model is None:
            layout, theta = flatten(arrays)
            kind = self.world.model.initial().cpu().numpy().dtype
            if len(theta) != self.world.dim or theta.dtype != kind:
                raise BadInput(
                    f"initial_arrays: {len(theta)} parameters of {theta.dtype}; "
                    f"the setup is for {self.world.dim} of {kind}"
                )
            self._model = Broadcast(layout, theta)
            self.world = dataclasses.replace(self.world, model=Vector(torch.tensor(theta)))
        elif not np.array_equal(self._model.layout.vector(arrays), self._model.theta):
            raise BadInput(
                "arrays: not the model that this strategy made; each training needs its own"
            )
        return self._model

    def _open(self, reachable: Bool[np.ndarray, "N"], received: int, began: float) -> Asking:
        """The sky, who is asked, and how they are to speak; in round 0 everybody, as they are."""
        blank = State.bare(self.world.model.initial(), self.world.devices)
        turn = Turn(self.world, self.state or blank, self.streams)
        codec: Codec = Whole()
        fading, invited, limit = None, Invited(reachable), None
        if self.state is not None:
            codec, fading = self.scheme.codec, self.scheme.fade(turn)
            invited = self.scheme.invite(turn, fading)
            refuse_round(self.scheme, fading, invited)
            invited = Invited(reachable & invited.who)
        told = self._allowed.write(codec)
        theirs = self._allowed.read(told)
        agreed, mask = agree(codec, theirs, turn, self.streams.seed)
        if fading is not None:
            limit = limit_of(self.scheme.plan, turn, len(agreed.support))
        asked = {self.fleet.node[int(n)]: int(n) for n in np.flatnonzero(invited.who)}
        self._askings += 1
        return Asking(
            number=self._askings,
            turn=turn,
            fading=fading,
            invited=invited,
            ear=Ear(theirs.spelling, agreed, turn.state.theta, self.weight),
            codec=told,
            mask=mask,
            limit=limit,
            asked=asked,
            received=received,
            began=began,
            tokens={node: secrets.token_bytes(8) for node in asked},
        )

    def _nobody_finite(self, heard: Replies) -> bool:
        """End the training when all devices there are have no finite update, one after the other.

        One node alone cannot end it: any other that speaks is proof of the contrary.
        """
        said = {n for n, answer in heard.silent.items() if answer.reason == Reason.NOT_FINITE}
        self._lost_ground = set() if heard.spoke else self._lost_ground | said
        if heard.spoke or not self.fleet.node or not self._lost_ground >= self.fleet.node.keys():
            return False
        self.over = "diverged"
        _log.warning("no device has a finite update any more: training ends with this model")
        return True

    def _play(
        self, asking: Asking, heard: Replies
    ) -> tuple[State | None, Report | None, list[int]]:
        """The library's round, and who was counted in it; no state where it does not count."""
        engine = Heard(asking.ear.said(heard, self.world.subchannels))
        if asking.fading is None:
            everyone = sorted(heard.spoke)
            if not everyone:
                return None, None, []
            return start(self.scheme, self.world, self.streams, engine), None, everyone
        scheme = as_happened(self.scheme, asking.fading, asking.invited, heard.silent)
        after, report = play_round(scheme, asking.turn, engine, measure=False)
        if report is None or engine.delivery is None:
            self.over = "budget"
            _log.warning("the next round does not fit into the budget of slots: training ends")
            return None, None, []
        refuse_partial(self.scheme, report.plan, engine.delivery)
        return after, report, np.flatnonzero(engine.delivery.spoke).tolist()

    def _last_word(
        self, server_round: int, model: Broadcast, after: State, speakers: list[Spoken]
    ) -> tuple[State | None, MetricRecord | None]:
        """The other strategy sees one reply, the aggregated model, and makes the new one of it."""
        offered = after.theta.numpy()
        reply = speakers[0].reply
        mean = mean_metrics([one.metrics for one in speakers], self.weight)
        reply.content = RecordDict({"arrays": model.layout.record(offered), "metrics": mean})
        arrays, metrics = self.inner.aggregate_train(server_round, [reply])
        if arrays is None:
            _log.warning("the wrapped strategy made no model of this round: it is not counted")
            return None, None
        made = model.layout.vector(arrays).astype(offered.dtype)  # some compute in float64
        if not np.isfinite(made).all():
            self.over = "diverged"
            _log.warning("the global model is no longer finite: training ends with the one before")
            return None, None
        if np.array_equal(made, offered):
            return after, metrics
        update = made - model.theta  # what everyone can add to the model that they hold
        theta = torch.from_numpy(model.theta + update)
        return dataclasses.replace(after, theta=theta, update=torch.from_numpy(update)), metrics

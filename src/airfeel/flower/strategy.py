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

from airfeel.compress.parts import Whole
from airfeel.experiment.build import Setup
from airfeel.flower import protocol
from airfeel.flower.books import Books
from airfeel.flower.fleet import Broadcast, Fleet
from airfeel.flower.listen import Ear, Replies, mean_metrics
from airfeel.flower.parts import Heard, as_happened, first_state
from airfeel.flower.turn import Turn, instruct, radio_of
from airfeel.flower.vectors import flatten, octets
from airfeel.round import play_round
from airfeel.streams import Streams
from airfeel.types import BadInput, Fade, Report, State

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
    patience: seconds to wait for a node's introduction.
    weight: the metric by which nodes' metrics are weighted; values never are, see eq. (2).
    """

    def __init__(
        self,
        inner: Strategy,
        setup: Setup,
        *,
        fade: Fade | None = None,
        patience: float = 60.0,
        weight: str = "num-examples",
    ) -> None:
        if not isinstance(setup.streams, Streams):
            raise BadInput("setup.streams: must be airfeel.Streams; nodes make theirs of its seed")
        if setup.streams.seed >= 2**63:
            raise BadInput(f"run.seed = {setup.streams.seed}: must be below 2**63 for Flower")
        self.inner = inner
        self.world = setup.world
        self.scheme = setup.scheme if fade is None else dataclasses.replace(setup.scheme, fade=fade)
        self.streams = setup.streams
        self.weight = weight
        self.state: State | None = None  # None before round 0 has succeeded
        self.over: str | None = None  # why no further round is played
        self.books = Books()
        self.last: Report | None = None  # of the last round
        self.fleet = Fleet(self.world.devices, secrets.token_hex(8), patience)
        self._model: Broadcast | None = None
        self._turn: Turn | None = None
        self._turns = 0
        protocol.write_part(self.scheme.compress)  # refused now rather than in the first round

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
        turn = self._open(self.fleet.reachable(drafts), met_in, began)
        messages = [
            instruct(
                turn,
                drafts[node],
                model,
                self.fleet.known[n],
                radio_of(self.scheme, self.world, self.state, turn.fading, n),
                device=n,
                counted=self.fleet.counted.get(n, 0),
                session=self.fleet.session,
                seed=self.streams.seed,
            )
            for node, n in turn.asked.items()
        ]
        self._turn = dataclasses.replace(
            turn,
            sent=met_out + sum(octets(message.content) for message in messages),
            dense=sum(octets(drafts[node].content) for node in turn.asked),
        )
        return messages

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """One round of the library with what the nodes said, and the other strategy's last word."""
        turn, self._turn = self._turn, None
        if turn is None or self._model is None:
            return None, None
        model = self._model.layout.record(self._model.theta)
        heard = turn.ear.listen(turn.number, turn.asked, self.fleet, replies, model)
        engine = Heard(turn.ear.payload(heard, self.world.subchannels), self.world.dim)
        after, report = self._play(self._model, turn, heard, engine)
        if after is None or engine.active is None:
            return None, None
        counted = [int(n) for n in np.flatnonzero(engine.active)]
        metrics: MetricRecord | None = None
        if counted:
            speakers = [heard.spoke[n].reply for n in counted]
            after, metrics = self._last_word(server_round, self._model, after, speakers)
            if after is None:
                return None, None
            self._model.add(after.update.numpy())
        self.fleet.counted.update(dict.fromkeys(counted, turn.number))
        self.state, self.last = after, report
        row = self.books.enter(turn, heard, after, report, self.world.subchannels)
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
        elif not np.array_equal(self._model.layout.vector(arrays), self._model.theta):
            raise BadInput(
                "arrays: not the model that this strategy made; each training needs its own"
            )
        return self._model

    def _open(self, reachable: Bool[np.ndarray, "N"], received: int, began: float) -> Turn:
        """The sky, who is asked, and how they are to speak; in round 0 everybody, as they are."""
        fading, invited, t = None, reachable, 0
        ear = Ear(Whole(), self.world.model.initial().cpu())
        if self.state is not None:
            t = self.state.round + 1
            fading = self.scheme.fade(self.world, t, rng=self.streams.rng("fading", t))
            dice = self.streams.rng("invite", t)
            invited = reachable & self.scheme.invite(self.world, self.state, fading, rng=dice)
            ear = Ear(self.scheme.compress, self.state.update)
        self._turns += 1
        asked = {self.fleet.node[int(n)]: int(n) for n in np.flatnonzero(invited)}
        return Turn(self._turns, t, fading, invited, ear, asked, received, began)

    def _play(
        self, model: Broadcast, turn: Turn, heard: Replies, engine: Heard
    ) -> tuple[State | None, Report | None]:
        """The library's round, or None where it does not count."""
        if self.state is None or turn.fading is None:
            if not heard.spoke:
                return None, None
            return first_state(torch.from_numpy(model.theta), engine, self.world.devices), None
        scheme = as_happened(self.scheme, turn.fading, turn.invited, heard.silent)
        after, report = play_round(
            scheme, self.world, self.state, self.streams, engine, measure=False
        )
        if report is None:
            self.over = "budget"
            _log.warning("the next round does not fit into the budget of slots: training ends")
            return None, None
        return after, report

    def _last_word(
        self, server_round: int, model: Broadcast, after: State, speakers: list[Message]
    ) -> tuple[State | None, MetricRecord | None]:
        """The other strategy sees one reply, the aggregated model, and makes the new one of it."""
        offered = after.theta.numpy()
        reply = speakers[0]
        mean = mean_metrics(speakers, self.weight)
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

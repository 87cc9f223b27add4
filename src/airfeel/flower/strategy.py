"""The server's side: a strategy around another one that plans the radio and plays the round."""

import dataclasses
import logging
import secrets
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import torch
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from airfeel import carry
from airfeel.build.setup import Setup
from airfeel.flower.allowed import Allowed, Makers
from airfeel.flower.asking import Asking, begin, instruct
from airfeel.flower.books import Books
from airfeel.flower.bound import NormBound
from airfeel.flower.fleet import Broadcast, Fleet
from airfeel.flower.inner import last_word, numbers, remembered, remind
from airfeel.flower.keeping import Keeper, Kept, about, numbered
from airfeel.flower.listen import Replies, mean_metrics
from airfeel.flower.parts import Heard, Vector, as_happened
from airfeel.flower.patient import Patient
from airfeel.flower.refusals import refuse_partial, refuse_scheme
from airfeel.flower.vectors import flatten, octets
from airfeel.round import play_round, start
from airfeel.streams import Streams
from airfeel.types import BadInput, Fade, Report, State, Turn

_log = logging.getLogger("airfeel")
_Look = Callable[[int, ArrayRecord], MetricRecord | None]
_SHOWN = ["scheduled", "silent", "lost", "slots", "bits"]
_SHOWN += ["uplink_octets", "uplink_dense", "downlink_octets", "downlink_dense"]


class AirStrategy(Strategy):
    """Scheduling, channel, aggregation and accounting of airfeel around another strategy.

    The other strategy chooses among the nodes that are there, configures them, and is handed the
    aggregated model as if it were the one reply: FedAvg takes it as it is, FedAdam makes a step of
    it. Each node is a device of the settings by its `partition-id`, and has an `AirMod`.

    setup: of `airfeel.build.setup.build`, or of `radio_only` for a model of one's own.
    fade: the channel, if it is not to be that of the settings; see `Supplied`.
    codecs: of one's own, by the names that nodes know them by; see `AirMod`.
    patience: seconds to wait for a node's introduction.
    weight: the metric by which nodes' metrics are weighted; values never are, see eq. (2).
    authenticated: bind each device to the public key of its node, for a SuperLink that was started
        with --enable-supernode-auth: without it, a node that is started anew has another key.
    bound: how long an update may be that is taken from a node; see `NormBound`. None: any.
    folder: where the server's state is kept after each round. A strategy that is made anew with the
        same settings and folder goes on from there, and ends with the same bytes. None: nowhere.
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
        folder: str | Path | None = None,
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
        self._askings = 0
        self._allowed = Allowed(codecs or {})
        refuse_scheme(self.scheme)
        told = self._allowed.write(self.scheme.codec)
        self._allowed.read(told)  # refused now, not in a round
        self._settings = numbers(inner)
        self._before = 0  # Flower's rounds of a former start of this training
        self._keeper: Keeper | None = None
        if folder is not None:
            self._keeper = Keeper(folder, about(self.scheme, self.world, self.streams, told))
            self._resume(self._keeper)

    @property
    def arrays(self) -> ArrayRecord | None:
        """The global model, None before the first round was asked."""
        return None if self._model is None else self._model.layout.record(self._model.theta)

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: _Look | None = None,
    ) -> Result:
        """As Flower's, but that rounds of a former start are not played again."""
        before, look = self._before, evaluate_fn
        if evaluate_fn is not None:
            look = lambda number, arrays: evaluate_fn(number + before, arrays)  # noqa: E731
        result = super().start(
            Patient(grid, self.fleet.who),
            (self.arrays if before else None) or initial_arrays,
            max(num_rounds - before, 0),
            timeout,
            train_config,
            evaluate_config,
            look,
        )
        return numbered(result, before, self.arrays)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Instructions to the nodes that the other strategy chose and the scheduler invites."""
        began, number = time.perf_counter(), server_round + self._before
        model = self._adopt(arrays)
        if self.over is not None:
            return []
        drafts = {
            message.metadata.dst_node_id: message
            for message in self.inner.configure_train(number, arrays, config, grid)
        }
        met_out, met_in = self.fleet.meet(grid, drafts)
        blank = State.bare(self.world.model.initial(), self.world.devices)
        turn = Turn(self.world, self.state or blank, self.streams)
        self._askings += 1
        about = (self._askings, turn, self.scheme, self._allowed, self.fleet, drafts)
        asking = begin(*about, seed=self.streams.seed, weight=self.weight)
        messages = [
            instruct(asking, drafts[node], model, self.fleet, n, self.streams.seed)
            for node, n in asking.asked.items()
        ]
        self._asking = dataclasses.replace(
            asking,
            began=began,
            received=met_in,
            sent=met_out + sum(octets(message.content) for message in messages),
            dense=sum(octets(drafts[node].content) for node in asking.asked),
        )
        return messages

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """One round of the library with what the nodes said, and the other strategy's last word."""
        asking, self._asking = self._asking, None
        number = server_round + self._before
        if asking is None or self._model is None:
            return None, None
        model = self._model.layout.record(self._model.theta)
        heard = asking.ear.listen(asking.expected, self.fleet, replies, model)
        if self.bound is not None:
            heard.keep_to(self.bound, in_air=asking.limit is not None)
        if self.fleet.hopeless(heard.spoke, heard.not_finite):
            self._end("diverged", "no device has a finite update any more: training ends here")
            return None, None
        after, report, counted = self._play(asking, heard)
        if after is None:
            return None, None
        metrics: MetricRecord | None = None
        if counted:
            speakers = [heard.spoke[n] for n in counted]
            mean = mean_metrics([one.metrics for one in speakers], self.weight)
            reply = speakers[0].reply
            after, metrics = last_word(self.inner, number, self._model, after, reply, mean)
            if after is None:
                return None, None
            if not torch.isfinite(after.theta).all():
                self._end("diverged", "the model is not finite: training ends with the one before")
                return None, None
            self._model.add(after.update.numpy())
        self.fleet.counted.update(dict.fromkeys(counted, asking.number))
        self.state, self.last = after, report
        row = self.books.enter(asking, heard, after, report, self.world.subchannels)
        self._keep(number)
        ours = {f"airfeel-{name}".replace("_", "-"): float(row[name]) for name in _SHOWN}
        return self.arrays, MetricRecord({**(metrics or {}), **ours})

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """As the other strategy does it, with the whole model."""
        return self.inner.configure_evaluate(server_round + self._before, arrays, config, grid)

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """As the other strategy does it."""
        return self.inner.aggregate_evaluate(server_round + self._before, replies)

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

    def _end(self, over: str, why: str) -> None:
        self.over = over
        _log.warning(why)

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
            self._end("budget", "the next round does not fit into the budget of slots")
            return None, None, []
        refuse_partial(self.scheme, report.plan, engine.delivery)
        return after, report, np.flatnonzero(engine.delivery.spoke).tolist()

    def _resume(self, keeper: Keeper) -> None:
        """Go on from what was kept, if anything was."""
        kept = keeper.read()
        if kept is None:
            return
        kept.restore(self.fleet, self.books)
        remind(self.inner, kept.inner, kept.facts["inner"])
        self._model, self._before = kept.model, int(kept.facts["played"])
        self.world = dataclasses.replace(self.world, model=Vector(kept.initial))
        fresh = carry.begin(self.scheme, Turn(self.world, kept.state, self.streams))
        self.state = dataclasses.replace(kept.state, carry=carry.restore(fresh, kept.state.carry))
        self._askings = kept.first_asking
        self._keep(self._before)  # before anybody is asked: no number is used twice
        _log.warning(f"{keeper.folder}: goes on after round {self.state.round}")

    def _keep(self, played: int) -> None:
        """Write down the state; `played` counts Flower's rounds."""
        if self._keeper is None or self._model is None or self.state is None:
            return
        arrays, inner = remembered(self.inner, self._settings)
        facts = {"askings": self._askings, "played": played, "inner": inner}
        initial = self.world.model.initial()
        kept = Kept(self.state, self._model, initial, facts, arrays, [])
        self._keeper.write(kept, self.fleet, self.books)

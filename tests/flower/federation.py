"""A Flower federation in one process: a grid that calls the ClientApp, and can lose things."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg
from flwr.supercore.task_identity import TaskIdentity

from airfeel.build.setup import Setup
from airfeel.flower import AirMod, AirStrategy
from airfeel.flower.vectors import Layout
from airfeel.types import State, Turn

ALL = {"min_train_nodes": 1, "min_available_nodes": 1, "fraction_evaluate": 0.0}


class Town(Grid):
    """Nodes 1000 + n of device n. `fault(asking, device)` may say what is lost: the "instruction",
    the "reply", the context ("amnesia"), or reply and context ("death").

    Everything that passes is serialised, as it would be between two machines.
    """

    def __init__(self, app: ClientApp, devices: int, run: int = 7) -> None:
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, run, 1
        self.app = app
        self.run_number = run
        self.nodes = {1000 + n: self.newborn(1000 + n, n) for n in range(devices)}
        self.fault: Callable[[int, int], str] = lambda asking, device: ""
        self.messages: list[Message] = []

    def newborn(self, node: int, device: int) -> Context:
        config = {"partition-id": device}
        return Context(self.run_number, node, config, RecordDict(), {})

    def restart(self, device: int) -> None:
        """The process is gone, with all that was in its context; it comes back as another node."""
        old = next(k for k, c in self.nodes.items() if c.node_config["partition-id"] == device)
        del self.nodes[old]
        self.nodes[old + 1000] = self.newborn(old + 1000, device)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        asked = [self._ask(message) for message in messages]
        return [reply for reply in asked if reply is not None]

    def _ask(self, message: Message) -> Message | None:
        self.messages.append(message)
        context = self.nodes[message.metadata.dst_node_id]
        device = int(context.node_config["partition-id"])
        asking = int(message.content.config_records["airfeel"].get("asking", 0))
        fault = self.fault(asking, device)
        if fault == "instruction":
            return None
        sent = Message(
            copied(message.content), message.metadata.dst_node_id, message.metadata.message_type
        )
        state = copied(context.state)
        reply = self.app(sent, context)
        if fault in ("death", "amnesia"):  # before Flower has stored the context
            context.state = state
        context.state = copied(context.state)
        if fault not in ("", "amnesia"):
            return None
        reply.content = copied(reply.content)
        return reply

    def get_node_ids(self) -> Iterable[int]:
        return list(self.nodes)

    def _unasked(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("Flower's strategies ask a grid for its nodes and for replies only")

    push_messages = pull_messages = create_message = set_run = _unasked
    run = property(_unasked)


def copied(content: RecordDict) -> RecordDict:
    return recorddict_from_proto(recorddict_to_proto(content))


def layout_of(setup: Setup) -> Layout:
    return Layout(tuple(setup.world.model.names), tuple(tuple(s) for s in setup.world.model.shapes))


def client_app(setup: Setup, mod: AirMod, weights: bool = False) -> ClientApp:
    """The library's own local training as a Flower app."""
    app = ClientApp(mods=[mod])
    world, learn = setup.world, setup.scheme.learn
    layout = layout_of(setup)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        theta = layout.vector(message.content.array_records["arrays"])
        when = message.content.config_records["airfeel"]
        devices, t = np.array([context.node_config["partition-id"]]), int(when["round"])
        dice = setup.streams.uniform("batch", t, devices, learn.dice)
        state = State.bare(torch.from_numpy(theta), world.devices, t - 1)
        delta, loss = learn(Turn(world, state, setup.streams), devices, dice)
        metrics = MetricRecord(
            {"num-examples": len(world.shards[devices[0]]), "train-loss": float(loss[0])}
        )
        vector = delta[0].numpy()
        if weights:
            arrays = {"arrays": layout.record(theta + vector)}
        else:
            arrays = {"delta": layout.record(vector)}
        return Message(RecordDict({**arrays, "metrics": metrics}), reply_to=message)

    return app


def initial(setup: Setup) -> ArrayRecord:
    return layout_of(setup).record(setup.world.model.initial().numpy())


def strategy(setup: Setup, **options: Any) -> AirStrategy:
    return AirStrategy(FedAvg(**ALL), setup, **options)


def step(air: AirStrategy, town: Town, number: int, arrays: ArrayRecord) -> ArrayRecord:
    """One round of Flower, as `Strategy.start` plays it."""
    messages = air.configure_train(number, arrays, ConfigRecord(), town)
    found, _ = air.aggregate_train(number, town.send_and_receive(messages))
    return arrays if found is None else found

"""A device: plain local training. The mod around it does all the rest."""

import time

import numpy as np
import torch
from flwr.app import Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from airfeel.flower import AirMod
from airfeel.types import State, Turn
from airfeel_app.task import arrays_of, setup_of, vector_of

app = ClientApp(mods=[AirMod()])


@app.train()
def train(message: Message, context: Context) -> Message:
    """A few steps of SGD from the global model on this device's own samples."""
    torch.set_num_threads(1)  # as the library does, so that sums are the same
    torch.set_flush_denormal(True)
    time.sleep(float(context.run_config["pause"]))
    setup = setup_of(context.run_config)
    device = np.array([context.node_config["partition-id"]])
    t = int(message.content.config_records["airfeel"]["round"])
    theta = vector_of(setup, message.content.array_records["arrays"])
    learn = setup.scheme.learn
    dice = setup.streams.uniform("batch", t, device, learn.dice)
    state = State.bare(theta, setup.world.devices, t - 1)
    delta, loss = learn(Turn(setup.world, state, setup.streams), device, dice)
    samples = len(setup.world.shards[device[0]])
    metrics = MetricRecord({"num-examples": samples, "train-loss": float(loss[0])})
    content = RecordDict({"delta": arrays_of(setup, delta[0]), "metrics": metrics})
    return Message(content, reply_to=message)

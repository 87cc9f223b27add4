"""The base station: FedAvg, with the radio of airfeel around it."""

import csv
import time
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from airfeel.flower import AirStrategy
from airfeel_app.task import arrays_of, setup_of, vector_of

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Wait for the devices, train, and write down what it took."""
    config = context.run_config
    setup = setup_of(config)
    least = int(config["least"])
    strategy = AirStrategy(
        FedAvg(fraction_evaluate=0.0, min_train_nodes=least, min_available_nodes=least),
        setup,
        patience=float(config["timeout"]),
        authenticated=True,  # the SuperLink was started with --enable-supernode-auth
        folder=str(config["state"]) or None,
    )
    wait_for(grid, setup.world.devices, float(config["wait"]))

    def look(number: int, arrays: ArrayRecord) -> MetricRecord:
        model, data = setup.world.model, setup.world.data
        accuracy, loss = model.evaluate(data, vector_of(setup, arrays), map)
        return MetricRecord({"accuracy": accuracy, "loss": loss})

    result = strategy.start(
        grid=grid,
        initial_arrays=arrays_of(setup, setup.world.model.initial()),
        num_rounds=int(config["training.rounds"]) + 1,  # the first is the uncompressed start
        timeout=float(config["timeout"]),
        evaluate_fn=look,
    )
    print(strategy.books.told(), flush=True)
    if config["out"]:
        keep(Path(str(config["out"])), strategy, result.evaluate_metrics_serverapp)


def wait_for(grid: Grid, devices: int, seconds: float) -> None:
    """Until all devices are there, or the time is up: round 0 is better with all of them."""
    end = time.monotonic() + seconds
    while len(list(grid.get_node_ids())) < devices and time.monotonic() < end:
        time.sleep(0.5)


def keep(folder: Path, strategy: AirStrategy, looks: dict[int, MetricRecord]) -> None:
    """The books, the accuracy after each of Flower's rounds, and the model as one vector."""
    strategy.books.write(folder)
    with (folder / "accuracy.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["flower_round", "accuracy", "loss"])
        out.writerows([n, look["accuracy"], look["loss"]] for n, look in looks.items())
    if strategy.state is not None:
        np.save(folder / "model.npy", strategy.state.theta.numpy())

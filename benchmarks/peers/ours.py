"""A whole TCS-H round of ours: local training, compression, radio and accounting."""

import argparse
import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from turns import Turns, arguments

from airfeel.build.setup import Setup, build
from airfeel.catalogues import BACKENDS
from airfeel.engines.threads import Threads
from airfeel.round import play_round, start
from airfeel.settings.load import experiment
from airfeel.training.local_sgd import LocalSGD
from airfeel.types import State, Turn


def made(args: argparse.Namespace) -> tuple[Setup, torch.Tensor | None]:
    """The experiment on the given samples, and the weights to start from.

    Power is ample, so that every device speaks: the most work that a round can be.
    """
    stored = np.load(args.work)
    table: dict[str, dict[str, Any]] = {
        "data": {"dataset": "synthetic", "shape": list(stored["x"].shape[1:])},
        "model": {"name": args.model, "hidden": args.hidden},
        "training": {
            "devices": args.devices,
            "local_steps": args.steps,
            "batch_size": args.batch,
            "learning_rate": args.rate,
            "backend": args.backend,
        },
        "radio": {"power": 1e6, "noise": 1e-12},
    }
    setup = build(experiment(table))
    x, y, shift, scale = (torch.from_numpy(stored[k]) for k in ("x", "y", "shift", "scale"))
    parts = {"train_x": x, "train_y": y, "test_x": x[:10000], "test_y": y[:10000]}
    data = dataclasses.replace(setup.world.data, **parts, shift=shift, scale=scale)
    shards = tuple(np.array_split(np.arange(len(y)), min(args.devices, len(y))))
    shards = tuple(shards[n % len(shards)] for n in range(args.devices))
    world = dataclasses.replace(setup.world, data=data, shards=shards)
    backend = BACKENDS.make(args.backend, model=world.model, data=data)
    learn = LocalSGD(backend, args.steps, args.batch, args.rate)
    scheme = dataclasses.replace(setup.scheme, learn=learn)
    theta = torch.from_numpy(stored["theta"]) if "theta" in stored else None
    return dataclasses.replace(setup, world=world, scheme=scheme), theta


def first_state(setup: Setup, engine: Threads, theta: torch.Tensor | None) -> State:
    state = start(setup.scheme, setup.world, setup.streams, engine)
    return state if theta is None else dataclasses.replace(state, theta=theta)


def whole(args: argparse.Namespace) -> Callable[[], None]:
    """Rounds as the runner plays them."""
    setup, theta = made(args)
    engine = Threads(setup.world, args.threads)
    state = first_state(setup, engine, theta)

    def round() -> None:
        nonlocal state
        turn = Turn(setup.world, state, setup.streams)
        state, report = play_round(setup.scheme, turn, engine, measure=False)
        assert report is not None
        assert report.plan.active.all()

    return round


def bare(args: argparse.Namespace) -> Callable[[], None]:
    """Local training alone, on the same threads."""
    setup, theta = made(args)
    learn, world = setup.scheme.learn, setup.world
    theta = world.model.initial() if theta is None else theta
    state = State(0, theta, theta, torch.zeros(0).long(), np.zeros(world.devices))
    turn = Turn(world, state, setup.streams)
    torch.set_num_threads(1)
    pool = ThreadPoolExecutor(args.threads, initializer=torch.set_flush_denormal, initargs=(True,))
    turns = -(-args.devices // (args.threads * learn.block))
    size = -(-args.devices // (args.threads * turns))
    devices = np.arange(args.devices)

    def work(first: int) -> None:
        part = devices[first : first + size]
        dice = setup.streams.uniform("batch", 1, part, learn.dice)
        learn(turn, part, dice)

    def round() -> None:
        list(pool.map(work, range(0, args.devices, size)))

    return round


def main() -> None:
    args = arguments()
    Turns().play((bare if args.bare else whole)(args))


if __name__ == "__main__":
    main()

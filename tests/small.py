"""A small experiment that plays a round in milliseconds, and a door to change it."""

from typing import Any

import numpy as np

from airfeel.build.setup import Setup, build
from airfeel.engines.threads import Threads
from airfeel.round import play_round, start
from airfeel.settings.config import Experiment
from airfeel.settings.load import experiment
from airfeel.types import State, Turn

BASE: dict[str, dict[str, Any]] = {
    "data": {"dataset": "synthetic", "shape": [1, 3, 3], "classes": 4, "samples": 200},
    "model": {"name": "mlp", "hidden": 7},
    "training": {
        "devices": 6,
        "local_steps": 3,
        "batch_size": 8,
        "learning_rate": 0.1,
        "rounds": 12,
        "dtype": "float64",
    },
    "scheme": {"bits": 6, "scheduled": 4, "global_sparsity": 0.3, "local_sparsity": 0.1},
    "radio": {"subchannels": 8, "power_scalar": 1.0},
    "run": {"seed": 3},
}


def small(scheme: str = "tcs-h", /, **changes: dict[str, Any]) -> Experiment:
    """The small experiment with some sections' keys changed."""
    table = {section: dict(keys) for section, keys in BASE.items()}
    table["scheme"]["name"] = scheme
    for section, keys in changes.items():
        table.setdefault(section, {}).update(keys)
    return experiment(table)


def play(setup: Setup, rounds: int, threads: int = 1) -> list[Any]:
    """(state before, state after, report, memory after) of each round that was played."""
    engine = Threads(setup.world, threads, buffers=setup.scheme.codec.memory.buffers)
    nothing = setup.world.model.initial().new_zeros((setup.world.devices, 0))
    try:
        state = start(setup.scheme, setup.world, setup.streams, engine)
        played = []
        while state.round < rounds:
            turn = Turn(setup.world, state, setup.streams)
            after, report = play_round(setup.scheme, turn, engine)
            if report is None:
                break
            memory = engine.buffers().get("memory", nothing)
            played.append((state, after, report, memory.clone()))
            state = after
        return played
    finally:
        engine.close()


def turn_at(setup: Setup, round: int) -> Turn:
    """The context of a round, whatever came before it."""
    theta = setup.world.model.initial()
    spent = np.zeros(setup.world.devices)
    state = State(round - 1, theta, theta, theta[:0].long(), spent)
    return Turn(setup.world, state, setup.streams)


def play_small(scheme: str = "tcs-h", rounds: int = 12, /, **changes: dict[str, Any]) -> list[Any]:
    return play(build(small(scheme, **changes)), rounds)

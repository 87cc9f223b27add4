"""What a round of backlog costs beside local training, against one of TCS-H at (0.2, 0.05).

The paper's network (258 898 numbers), 20 devices, 25 sub-channels. Devices are handed updates
instead of training. Processor time of the whole process is counted, which other processes hardly
disturb; the schemes take turns, and the median and the range over turns are given.

    python benchmarks/backlog.py [--turns 7] [--rounds 5] [--out FILE]
"""

import argparse
import dataclasses
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from airfeel.build.setup import Setup, build
from airfeel.engines.threads import Threads
from airfeel.round import play_round, start
from airfeel.settings.load import experiment
from airfeel.types import Turn

LINES: dict[str, tuple[str, dict[str, object]]] = {
    "tcs-h, φ = (0.2, 0.05)": ("tcs-h", {}),
    "backlog, K = 0.2·D": ("backlog", {}),
    "backlog, K = 500": ("backlog", {"options": {"k": 500}}),
    "backlog, K = 500, reports charged": ("backlog", {"options": {"k": 500}, "strict_bits": True}),
}


class Given:
    """Updates of the size of the network's, made once: what training would have given."""

    dice, block = 0, 20

    def __init__(self, devices: int, dim: int) -> None:
        rng = np.random.default_rng(0)
        scale = 10.0 ** rng.uniform(-6, -3, dim)  # entries of a network differ as much
        self._delta = torch.from_numpy((scale * rng.standard_normal((devices, dim))).astype("f4"))

    def __call__(
        self, turn: Turn, devices: np.ndarray, dice: np.ndarray
    ) -> tuple[torch.Tensor, np.ndarray]:
        return self._delta[torch.from_numpy(devices)], np.zeros(len(devices))


def made(name: str, scheme: dict[str, object], learn: Given) -> Setup:
    """The paper's run on noise of CIFAR-10's shape, without training."""
    table = {
        "data": {"dataset": "synthetic", "shape": [3, 32, 32], "samples": 200},
        "model": {"name": "paper-cnn"},
        "scheme": {"name": name, **scheme},
        "run": {"threads": 1},
    }
    setup = build(experiment(table))
    return dataclasses.replace(setup, scheme=dataclasses.replace(setup.scheme, learn=learn))


def player(setup: Setup) -> tuple[Callable[[int], float], Threads]:
    """What plays some rounds and tells the processor milliseconds of one."""
    engine = Threads(setup.world, 1, buffers=setup.scheme.codec.memory.buffers)
    state = start(setup.scheme, setup.world, setup.streams, engine)

    def play(rounds: int) -> float:
        nonlocal state
        began = time.process_time()
        for _ in range(rounds):
            turn = Turn(setup.world, state, setup.streams)
            state, report = play_round(setup.scheme, turn, engine)
            assert report is not None
            assert report.plan.active.any()
        return 1e3 * (time.process_time() - began) / rounds

    return play, engine


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--turns", type=int, default=7)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--out", type=Path)
    given = arguments.parse_args()
    learn = Given(20, 258_898)
    players = {label: player(made(name, scheme, learn)) for label, (name, scheme) in LINES.items()}
    for play, _ in players.values():
        play(2)  # kernels are compiled, buffers are there
    spent = {label: [] for label in players}
    for _ in range(given.turns):
        for label, (play, _) in players.items():
            spent[label].append(play(given.rounds))
    for _, engine in players.values():
        engine.close()
    text = [
        f"{given.turns} turns of {given.rounds} rounds; {platform.machine()}, Python "
        f"{platform.python_version()}",
        "",
        "| scheme | processor ms per round, without training |",
        "|---|---:|",
    ]
    for label, times in spent.items():
        text.append(f"| {label} | {np.median(times):.1f} ({min(times):.1f}–{max(times):.1f}) |")
    print("\n".join(text))
    if given.out:
        given.out.write_text("\n".join(text) + "\n", "utf-8")


if __name__ == "__main__":
    main()

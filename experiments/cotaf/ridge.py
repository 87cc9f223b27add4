"""COTAF on a ridge problem whose optimum is known: the gap to it under η_t ∝ 1/t.

python experiments/cotaf/ridge.py

Sery, Shlezinger, Cohen, Eldar 2021 (arXiv:2009.12787): louder as updates shrink, the gap falls like
1/t; with the first round's σ_t for ever, noise that does not shrink leaves it at a floor, or above.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from airfeel.engines.threads import Threads
from airfeel.parts import Constant, Paper, Settings, Sky, Streams, Turn
from airfeel.radio.power_control.amplitude import Truncated
from airfeel.round import play_round, start
from airfeel.schemes.cotaf import cotaf
from airfeel.training.backends import Torch
from airfeel.training.local_sgd import LocalSGD
from ridge import Case, Ridge, unchecked  # the problem of the tests

ROUNDS, SEEDS, NOISE = 1000, (0, 1, 2), 1e-3
LOOKS = (10, 30, 100, 300, 1000)


def gaps(seed: int, frozen: float | None = None) -> tuple[np.ndarray, float]:
    """F(w_t) − F* after each round, and the σ_t of the first."""
    case = Case(devices=5, local_steps=2, k_global=0, k_local=0, bits=32)
    problem = Ridge(case, seed)
    world, mu = problem.world(), problem.convexity
    rates = tuple(1.0 / (mu * (t + 2 * problem.smoothness / mu)) for t in range(1, ROUNDS + 1))
    learn = LocalSGD(Torch(world.model, world.data), case.local_steps, case.batch_size, rates)
    sky = Sky(noise=NOISE, draw=Constant())
    scheme = cotaf(Settings(case.dim, 0, 0, 32, case.devices, sky, learn, Paper()))
    if frozen is not None:
        plan = replace(scheme.plan, amplitude=Truncated(0.0, frozen))
        scheme = replace(scheme, plan=plan)
    engine, streams, found, first = Threads(world, 1, buffers=()), Streams(seed), [], 0.0
    try:
        state = start(scheme, world, streams, engine)
        for _ in range(ROUNDS):
            state, report = play_round(scheme, Turn(world, state, streams), engine, measure=False)
            first = first or report.plan.scalar
            found.append(problem.loss(state.theta.numpy()) - problem.loss(problem.optimum))
    finally:
        engine.close()
    return np.array(found), first


def main() -> None:
    """A table in Markdown: means over seeds, and the slope in t from round 100 on."""
    with unchecked():
        loud = [gaps(seed) for seed in SEEDS]
        still = [gaps(seed, first)[0] for seed, (_, first) in zip(SEEDS, loud, strict=True)]
    print(f"| F − F* after round | {' | '.join(map(str, LOOKS))} | slope |")
    print("|---" * (len(LOOKS) + 2) + "|")
    for name, runs in (("COTAF", [found for found, _ in loud]), ("σ_t of round 1", still)):
        mean = np.mean(runs, axis=0)
        late = np.arange(100, ROUNDS + 1)
        slope = np.polyfit(np.log(late), np.log(mean[99:]), 1)[0]
        print(f"| {name} | {' | '.join(f'{mean[t - 1]:.1e}' for t in LOOKS)} | {slope:.2f} |")


if __name__ == "__main__":
    main()

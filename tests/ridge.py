"""Ridge regressions with a known optimum, trained by TCS-H under Theorem 1's schedules."""

import math
from contextlib import contextmanager
from dataclasses import dataclass

import jaxtyping
import numpy as np
import torch
from torch import nn

from airfeel.compression.codecs import TimeCorrelated
from airfeel.engines.threads import Threads
from airfeel.radio.allocation.allocators.paper import Paper
from airfeel.radio.channel.fading import Sky
from airfeel.round import play_round, start
from airfeel.schemes import Settings
from airfeel.schemes.tcs_h import tcs_h
from airfeel.streams import Streams
from airfeel.theory import contraction, learning_rate, power_scalar, smallest_a
from airfeel.training.backends import Torch
from airfeel.training.flat import FlatModel
from airfeel.training.local_sgd import LocalSGD, draw_batches
from airfeel.types import Dataset, Turn, World

SAMPLES = 48  # of a device


@dataclass(frozen=True)
class Case:
    """A problem's sizes, and the settings under which it is trained."""

    devices: int
    local_steps: int
    k_global: int
    k_local: int
    bits: int
    noise: float = 1e-6
    dim: int = 12
    ridge: float = 60.0
    batch_size: int = 8
    rounds: int = 100

    @property
    def codec(self):
        return TimeCorrelated(self.dim, self.k_global, self.k_local, self.bits)


class Ridge:
    """Least squares on each device; the penalty is one more row √ridge·e_j with target 0 for each
    parameter, so that a batch is unbiased for the whole local loss, which is
    (‖Xw − y‖² + ridge·‖w‖²)/(2·rows)."""

    def __init__(self, case, seed):
        rng = np.random.default_rng(seed)
        n, d = case.devices, case.dim
        x = rng.standard_normal((n, SAMPLES, d))
        truth = rng.standard_normal(d) + 0.3 * rng.standard_normal((n, 1, d))  # differs by device
        y = (x * truth).sum(-1) + 0.1 * rng.standard_normal((n, SAMPLES))
        penalty = np.broadcast_to(math.sqrt(case.ridge) * np.eye(d), (n, d, d))
        self.x = np.concatenate([x, penalty], axis=1)  # [N rows D]
        self.y = np.concatenate([y, np.zeros((n, d))], axis=1)
        hessian = np.einsum("nsi,nsj->nij", self.x, self.x) / self.x.shape[1]
        curvature = np.linalg.eigvalsh(hessian)
        self.convexity, self.smoothness = float(curvature.min()), float(curvature.max())
        slope = np.einsum("nsi,ns->i", self.x, self.y) / self.y.size
        self.optimum = np.linalg.solve(hessian.mean(0), slope)

    def loss(self, w):
        return 0.5 * float(np.square(self.x @ w - self.y).mean())

    def world(self):
        n, s, d = self.x.shape
        x, y = torch.from_numpy(self.x.reshape(-1, 1, 1, d)), torch.from_numpy(self.y.reshape(-1))
        one = torch.ones(1, dtype=torch.float64)
        net = nn.Sequential(nn.Flatten(), nn.Linear(d, 1, bias=False))
        nn.init.zeros_(net[1].weight)
        return World(
            model=FlatModel(net, classes=0, dtype=torch.float64),
            data=Dataset("ridge", x, y, x, y, 0, 0 * one, one),
            shards=tuple(np.arange(n * s).reshape(n, s)),
            subchannels=8,
            power=np.ones(n),  # the air takes what it needs: everyone is scheduled
        )

    def local_steps(self, theta, batches, rate):
        """G², the largest mean of ‖∇F_n(w; x)‖² over a device's samples x on the way of the local
        steps from one global model, and where the steps end [N D]; made anew, in NumPy."""
        w, worst = np.tile(theta, (len(self.x), 1)), 0.0
        for rows in np.moveaxis(batches, 1, 0) % self.x.shape[1]:
            error = np.einsum("nsi,ni->ns", self.x, w) - self.y
            worst = max(worst, (np.square(error) * np.square(self.x).sum(-1)).mean(1).max())
            x = np.take_along_axis(self.x, rows[..., None], axis=1)
            batch_error = np.take_along_axis(error, rows, axis=1)
            w -= rate * np.einsum("nb,nbi->ni", batch_error, x) / rows.shape[1]
        return float(worst), w


@dataclass(frozen=True)
class Path:
    """What Theorem 1 speaks of, along one training."""

    problem: Ridge
    gamma: float
    a: float
    gradient2: float  # G²
    models: np.ndarray  # [T D], w_0 to w_{T−1}
    compressed: list  # (x, global mask) of every device in every round
    everyone: bool  # took part in every round

    def error_after(self, rounds):
        """F(w̄_T) − F* with the weights ω_t = (a+t)²."""
        weight = (self.a + np.arange(1, rounds + 1)) ** 2
        mean = weight @ self.models[:rounds] / weight.sum()
        return self.problem.loss(mean) - self.problem.loss(self.problem.optimum)


@contextmanager
def unchecked():
    """No type checks at run time: hundreds of rounds in half the time; shorter runs check types."""
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


def journey(case, seed):
    """Train TCS-H as it is, through the library, under the theorem's schedules."""
    problem = Ridge(case, seed)
    world = problem.world()
    gamma = contraction(case.k_global, case.k_local, case.bits, case.dim)
    known = {"convexity": problem.convexity, "local_steps": case.local_steps}
    a = 1.1 * smallest_a(gamma=gamma, smoothness=problem.smoothness, **known)
    rounds = range(1, case.rounds + 1)
    rates = tuple(learning_rate(t, a=a, **known) for t in rounds)
    scheme = tcs_h(
        Settings(
            dim=case.dim,
            k_global=case.k_global,
            k_local=case.k_local,
            bits=case.bits,
            scheduled=case.devices,
            schedule="all",
            fade=Sky(noise=case.noise),
            learn=LocalSGD(
                Torch(world.model, world.data), case.local_steps, case.batch_size, rates
            ),
            allocate=Paper(),
            power_scalar=tuple(power_scalar(t, a) for t in rounds),
        )
    )
    assert scheme.codec == case.codec
    with unchecked():
        return Path(problem, gamma, a, *_play(problem, world, scheme, seed, rates))


class _Remembering(Threads):
    """Keeps the last mean that a round asked for."""

    def ideal(self, active):
        self.mean = super().ideal(active)
        return self.mean


def _play(problem, world, scheme, seed, rates):
    streams, learn = Streams(seed), scheme.learn
    ids = np.arange(world.devices)
    models, compressed, gradient2, everyone = [], [], 0.0, True
    engine = _Remembering(world, 1)
    try:
        state = start(scheme, world, streams, engine)
        for t, rate in enumerate(rates, 1):
            models.append(state.theta.numpy())
            dice = streams.uniform("batch", t, ids, learn.dice)
            batches = draw_batches(
                world.shards, dice[:, :-1].reshape(-1, learn.steps, learn.batch_size)
            )
            worst, ends = problem.local_steps(models[-1], batches, rate)
            gradient2 = max(gradient2, worst)
            turn = Turn(world, state, streams)
            mask = scheme.codec.agree(turn).support
            x = torch.from_numpy(ends - models[-1]) + engine.buffers()["memory"]
            compressed += [(row, mask) for row in x]
            state, report = play_round(scheme, turn, engine)
            everyone &= bool(report.plan.active.all())
            # the path on which G² and x were measured is the one that the library went
            assert torch.allclose(engine.mean, x.mean(0), 1e-9, 1e-12)
    finally:
        engine.close()
    return gradient2, np.array(models), compressed, everyone

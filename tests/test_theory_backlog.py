"""What is proven of `backlog`, against the mask rule alone and against training through it."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from airfeel.compression.mask_rules import expected_backlog
from airfeel.engines.threads import Threads
from airfeel.radio.allocation.allocators.paper import Paper
from airfeel.radio.channel.fading import Sky
from airfeel.round import play_round, start
from airfeel.schemes import Settings
from airfeel.schemes.backlog import backlog as made
from airfeel.streams import Streams
from airfeel.theory import (
    convex_bound,
    longest_wait,
    mean_loss_bound,
    memory_bound,
    smooth_bound,
)
from airfeel.training.backends import Torch
from airfeel.training.local_sgd import LocalSGD, draw_batches
from airfeel.types import BadInput, Turn
from ridge import Case, Ridge, unchecked

# The longest wait ---------------------------------------------------------------------------------


def waits(rate, k, floor, rounds, renew, idle=lambda t, score: False):
    """Every wait under the mask rule with the idle rounds in it, and the least factor of the mean
    rate in a wait.

    `renew(i, wait, t)` gives the new rates of what is sent in round t; `idle(t, score)` says
    whether nothing is sent in it.
    """
    rate, wait = np.array(rate, float), np.ones(len(rate))
    means, idles, seen, fall = [], [], set(), 1.0

    def note(some):
        seen.update((int(w), sum(idles[len(idles) - int(w) :])) for w in np.unique(some))

    for t in range(rounds):
        means.append(rate.mean())
        score = expected_backlog(torch.from_numpy(rate), torch.from_numpy(wait), floor).numpy()
        idles.append(bool(idle(t, score)))
        if not idles[-1]:
            sent = np.argsort(-score, kind="stable")[:k]
            note(wait[sent])
            fall = min(fall, *(means[-1] / max(means[-int(w) :]) for w in np.unique(wait[sent])))
            rate[sent] = renew(sent, wait[sent], t)
            wait[sent] = 0
        wait += 1
    note(wait - 1)  # of those that still wait
    return seen, fall


RENEWALS = {
    "fixed": lambda rng, first: lambda i, wait, t: first[i],
    "anew": lambda rng, first: lambda i, wait, t: rng.pareto(0.7, len(i)),
    "falling": lambda rng, first: lambda i, wait, t: first[i] * 0.97**t,
    "cruel": lambda rng, first: lambda i, wait, t: np.where(i < 9, 100.0, 1e-3),
    "geometric": lambda rng, first: lambda i, wait, t: np.where(i == 0, 0.0, 0.8**t),
}


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    name=st.sampled_from(sorted(RENEWALS)),
    dim=st.integers(5, 60),
    part=st.integers(2, 12),
    floor=st.sampled_from([0.02, 0.1, 0.5, 1.0]),
    idle=st.sampled_from([0.0, 0.2, 0.9]),
)
def test_no_entry_waits_longer_than_the_bound(seed, name, dim, part, floor, idle):
    rng = np.random.default_rng(seed)
    first = rng.pareto(0.5, dim) * (rng.random(dim) < 0.8) + 1e-12
    k, dice = max(1, dim // part), rng.random(300)
    renew = RENEWALS[name](rng, first)
    seen, fall = waits(first, k, floor, 300, renew, lambda t, score: dice[t] < idle)
    for wait, lost in seen:
        assert wait <= longest_wait(dim, k, floor, fall, lost)


def test_the_bound_on_the_wait_is_within_a_factor_of_five_of_a_cruel_case():
    """One entry never grows, and K others take the whole rate: f·K/D of it is the floor's share."""
    dim, k, floor = 200, 10, 0.1
    rate = np.full(dim, 1e-9)
    rate[1 : k + 1] = 1.0
    seen, fall = waits(rate, k, floor, 2000, lambda i, wait, t: rate[i])
    assert fall == pytest.approx(1.0)
    longest, _ = max(seen)
    assert longest_wait(dim, k, floor) / 5 < longest <= longest_wait(dim, k, floor)


def test_idle_rounds_let_loud_entries_come_again_and_again():
    """Rounds are idle until the K entries of rate 1 have waited long enough to win: beside the idle
    ones, the others are passed over in more rounds than the bound without idle ones allows."""
    dim, k, floor = 8, 2, 1.0
    rate = np.zeros(dim)
    rate[-k:] = 1.0

    def quiet_would_win(t, score):
        return t < 1500 and set(np.argsort(-score, kind="stable")[:k]) != {dim - 2, dim - 1}

    seen, fall = waits(rate, k, floor, 1600, lambda i, wait, t: rate[i], quiet_would_win)
    assert fall == 1.0
    wait, lost = max(seen)
    assert wait - lost > longest_wait(dim, k, floor)
    assert wait <= longest_wait(dim, k, floor, idle=lost)


# The memory and the model, by training ------------------------------------------------------------

CASES = {
    "whole": Case(devices=4, local_steps=1, k_global=4, k_local=0, bits=32, noise=1e-8),
    "shares": Case(devices=6, local_steps=1, k_global=4, k_local=0, bits=32, noise=1e-2),
    "all at once": Case(devices=4, local_steps=1, k_global=12, k_local=0, bits=32, noise=1e-4),
    "three steps": Case(devices=4, local_steps=3, k_global=4, k_local=0, bits=32, noise=1e-4),
}
ONE_STEP = [name for name, case in CASES.items() if case.local_steps == 1]
ROUNDS, SEEDS = 150, range(2)


class Trained:
    """A ridge problem trained by `backlog` at a fixed rate, and what the bounds speak of."""

    def __init__(self, case, seed):
        self.case, self.problem = case, Ridge(case, seed)
        world = self.problem.world()
        self.rate = 0.05 / (self.problem.smoothness * case.local_steps)
        scheme = made(
            Settings(
                dim=case.dim, k_global=case.k_global, k_local=0, bits=32, scheduled=case.devices,
                fade=Sky(noise=case.noise), allocate=Paper(),
                learn=LocalSGD(
                    Torch(world.model, world.data), case.local_steps, case.batch_size, self.rate
                ),
            )
        )  # fmt: skip
        self.virtual, self.models, self.mean, self.each, self.looks = [], [], [], [], []
        self.update = self.noise = self.longest = 0.0
        self.fall, self.least, means = 1.0, 1.0, []
        engine, streams = Threads(world, 1), Streams(seed)
        try:
            state = start(scheme, world, streams, engine)
            for _ in range(ROUNDS):
                memory = engine.buffers()["memory"].numpy().copy()
                self.mean.append(memory.mean(0))
                self.each.append(np.linalg.norm(memory, axis=1).max())
                self.models.append(state.theta.numpy())
                self.looks.append(self.gradients(world, streams, scheme.learn, state))
                self.virtual.append(state.theta.numpy() + self.mean[-1])
                means.append(float(torch.as_tensor(state.carry["rate"]).mean()))
                wait = torch.as_tensor(state.carry["wait"]).numpy()
                self.longest = max(self.longest, wait.max())
                self.fall = min(self.fall, means[-1] / max(means[-int(wait.max()) :]))
                state, report = play_round(scheme, Turn(world, state, streams), engine)
                plan = report.plan
                assert plan.active.all()
                scale = (plan.scalar * case.devices) ** 2
                self.noise = max(self.noise, case.k_global * case.noise / scale)
                used = plan.share[:, : min(case.k_global, world.subchannels)]
                self.least = min(self.least, used.min())
        finally:
            engine.close()

    def distance2(self, w):
        return float(np.square(w - self.problem.optimum).sum())

    def slope2(self, w):
        """‖∇F(w)‖² of the global loss."""
        x, error = self.problem.x, self.problem.x @ w - self.problem.y
        return float(np.square(np.einsum("nsi,ns->i", x, error) / error.size).sum())

    def gradients(self, world, streams, learn, state):
        """G² of a mini-batch, its mean ‖∇F_n(w; B)‖², and s², its variance: the largest of any
        device at any model that this round's local steps begin from."""
        size, problem, found = self.case.batch_size, self.problem, []
        dice = streams.uniform("batch", state.round + 1, np.arange(world.devices), learn.dice)
        batches = draw_batches(world.shards, dice[:, :-1].reshape(-1, learn.steps, size))
        for step in range(learn.steps):
            _, w = problem.local_steps(state.theta.numpy(), batches[:, :step], self.rate)
            single = (np.einsum("nsi,ni->ns", problem.x, w) - problem.y)[..., None] * problem.x
            mean = np.square(single.mean(1)).sum(-1)
            spread = (np.square(single).sum(-1).mean(1) - mean) / size
            found.append(((mean + spread).max(), spread.max()))
        return tuple(np.max(found, axis=0).tolist())


@pytest.fixture(scope="module", params=CASES)
def runs(request):
    with unchecked():
        return [Trained(CASES[request.param], seed) for seed in SEEDS]


def test_the_carried_wait_stays_below_the_bound(runs):
    for run in runs:
        allowed = longest_wait(run.case.dim, run.case.k_global, 0.1, run.fall)
        assert run.longest <= allowed


def test_the_memory_stays_below_its_bound(runs):
    for run in runs:
        largest = max(g2 for g2, _ in run.looks)
        step = run.rate * np.sqrt(run.case.batch_size * largest)  # of any single batch
        update = run.case.local_steps * step
        allowed = memory_bound(run.longest, 1.0 - run.least, update)
        assert max(run.each) <= allowed


@pytest.mark.parametrize("runs", ONE_STEP, indirect=True)
def test_the_virtual_model_stays_below_the_convex_bound_and_gets_near(runs):
    """In the mean over seeds, with the memory as it was."""
    for rounds in (20, 100, ROUNDS - 1):
        seen = np.mean([run.distance2(run.virtual[rounds]) for run in runs])
        allowed = np.mean(
            [
                convex_bound(
                    smoothness=run.problem.smoothness,
                    convexity=run.problem.convexity,
                    learning_rate=run.rate,
                    devices=run.case.devices,
                    rounds=rounds,
                    distance2=run.distance2(run.virtual[0]),
                    variance=max(s2 for _, s2 in run.looks[: rounds + 1]),
                    memory=max(float(np.linalg.norm(e)) for e in run.mean[: rounds + 1]),
                    noise=run.noise,
                )
                for run in runs
            ]
        )
        assert seen <= allowed
    first = np.mean([run.distance2(np.zeros(run.case.dim)) for run in runs])
    assert seen < 0.05 * first
    assert allowed < first  # the bound says something


@pytest.mark.parametrize("runs", ONE_STEP, indirect=True)
def test_the_mean_loss_stays_below_its_bound(runs):
    """In the mean over seeds; that the loss is strongly convex, too, is not made use of."""
    seen, allowed = [], []
    for run in runs:
        least = run.problem.loss(run.problem.optimum)
        seen.append(np.mean([run.problem.loss(w) - least for w in run.models]))
        allowed.append(
            mean_loss_bound(
                smoothness=run.problem.smoothness,
                learning_rate=run.rate,
                devices=run.case.devices,
                rounds=len(run.models),
                distance2=run.distance2(run.models[0]),
                variance=max(s2 for _, s2 in run.looks),
                memory=max(float(np.linalg.norm(e)) for e in run.mean),
                noise=run.noise,
            )
        )
    assert np.mean(seen) <= np.mean(allowed) < 10 * np.mean(seen)  # and it says something


def test_gradients_stay_below_the_smooth_bound(runs):
    seen, allowed = [], []
    for run in runs:
        seen.append(np.mean([run.slope2(w) for w in run.models]))
        gap = run.problem.loss(run.models[0]) - run.problem.loss(run.problem.optimum)
        allowed.append(
            smooth_bound(
                smoothness=run.problem.smoothness,
                learning_rate=run.rate,
                local_steps=run.case.local_steps,
                devices=run.case.devices,
                rounds=ROUNDS,
                gap=gap,
                variance=max(s2 for _, s2 in run.looks),
                gradient2=max(g2 for g2, _ in run.looks),
                memory=max(float(np.linalg.norm(e)) for e in run.mean),
                noise=run.noise,
            )
        )
    assert np.mean(seen) <= np.mean(allowed) < 10 * np.mean(seen)  # and it says something


# Arguments ----------------------------------------------------------------------------------------

SMOOTH = {
    "smoothness": 2.0, "learning_rate": 0.1, "local_steps": 2, "devices": 4, "rounds": 9,
    "gap": 1.0, "variance": 1.0, "gradient2": 1.0, "memory": 0.1, "noise": 0.0,
}  # fmt: skip
CONVEX = {
    "smoothness": 2.0, "convexity": 1.0, "learning_rate": 0.1, "devices": 4, "rounds": 9,
    "distance2": 1.0, "variance": 1.0, "memory": 0.1, "noise": 0.0,
}  # fmt: skip

PLAIN = {name: value for name, value in CONVEX.items() if name != "convexity"}


@pytest.mark.parametrize(
    ("bound", "known", "name", "value"),
    [
        (smooth_bound, SMOOTH, "learning_rate", 0.3),
        (smooth_bound, SMOOTH, "devices", 0),
        (smooth_bound, SMOOTH, "memory", -1.0),
        (convex_bound, CONVEX, "learning_rate", 0.3),
        (convex_bound, CONVEX, "smoothness", 0.5),
        (convex_bound, CONVEX, "noise", np.nan),
        (mean_loss_bound, PLAIN, "learning_rate", 0.3),
        (mean_loss_bound, PLAIN, "learning_rate", 0.25),
        (mean_loss_bound, PLAIN, "rounds", 0),
        (mean_loss_bound, PLAIN, "variance", -1.0),
        (longest_wait, {"dim": 9, "k": 3}, "k", 10),
        (longest_wait, {"dim": 9, "k": 3}, "floor", 0.0),
        (longest_wait, {"dim": 9, "k": 3}, "fall", 1.5),
        (longest_wait, {"dim": 9, "k": 3}, "idle", -1),
        (memory_bound, {"wait": 9.0, "withheld": 0.1, "update": 1.0}, "withheld", 1.0),
    ],
)
def test_illegal_arguments_are_named(bound, known, name, value):
    with pytest.raises(BadInput, match=f"^{name} = "):
        bound(**known | {name: value})


def test_bounds_grow_with_memory_and_noise():
    for bound, known in (
        (smooth_bound, SMOOTH),
        (convex_bound, CONVEX),
        (mean_loss_bound, PLAIN),
    ):
        for name in ("memory", "noise", "variance"):
            assert bound(**known | {name: known[name] + 1.0}) > bound(**known)


def test_everything_at_once_waits_for_idle_rounds_alone():
    assert longest_wait(9, 9) == 1.0
    assert longest_wait(9, 9, idle=4) == 5.0

"""Server optimisers: limits in which they are one another, and what they leave alone."""

import dataclasses

import numpy as np
import pytest
import torch

from airfeel.build.setup import build
from airfeel.catalogues import STEPS
from airfeel.server.adaptive import Adaptive
from airfeel.server.steps import FedAvgM
from airfeel.types import Decoded, Happened, Turn
from small import play_small, small, turn_at

SETUP = build(small())
RNG = np.random.default_rng(5)
UPDATES = [torch.from_numpy(RNG.standard_normal(SETUP.world.dim)) for _ in range(6)]
NAMES = ("fedavgm", "fedadam", "fedyogi")


def happened(decoded):
    """A round of which a step sees nothing but what was decoded."""
    all_ = object.__new__(Happened)
    object.__setattr__(all_, "decoded", decoded)
    return all_


def walk(step, decoded):
    """Moves of a step, one update after the other; None is an idle round."""
    turn = turn_at(SETUP, 1)
    carry, moves = step.begin(turn), []
    for each in decoded:
        turn = Turn(turn.world, dataclasses.replace(turn.state, carry=carry), turn.streams)
        moves.append(None if each is None else step(turn, each))
        carry = step.advance(turn, happened(each))
    return moves, carry


def plainly(step):
    return walk(step, [Decoded(g) for g in UPDATES])[0]


def test_without_momentum_the_model_moves_by_the_update_itself_to_the_bit():
    plain, same = (
        play_small("tcs-h", 5, scheme={"step": step})
        for step in ("add", {"name": "fedavgm", "beta": 0.0})
    )
    for (_, x, _, memory), (_, y, _, again) in zip(plain, same, strict=True):
        assert torch.equal(x.theta, y.theta)
        assert torch.equal(memory, again)


def test_momentum_adds_up_what_came_before():
    moves = plainly(FedAvgM(beta=0.5, rate=2.0))
    expected = sum(0.5 ** (5 - i) * g for i, g in enumerate(UPDATES))
    torch.testing.assert_close(moves[-1], 2.0 * expected)


def test_without_means_an_entry_moves_by_its_sign_as_far_as_tau_allows():
    step = Adaptive(rate=0.1, beta1=0.0, beta2=0.0, tau=0.5)
    for g, move in zip(UPDATES, plainly(step), strict=True):
        torch.testing.assert_close(move, 0.1 * g / (g.abs() + 0.5))


def test_with_bias_correction_it_is_adam():
    step = Adaptive(0.02, 0.9, 0.999, 1e-8, bias_correction=True)
    theta = torch.zeros_like(UPDATES[0], requires_grad=True)
    adam = torch.optim.Adam([theta], lr=0.02)
    for g, move in zip(UPDATES, plainly(step), strict=True):
        before, theta.grad = theta.detach().clone(), -g
        adam.step()
        torch.testing.assert_close(move, theta.detach() - before, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("second", ["adam", "yogi"])
def test_the_direction_does_not_depend_on_the_scale_of_updates(second):
    step = Adaptive(tau=1e-14, second=second)
    small_ones = walk(step, [Decoded(g) for g in UPDATES])[0]
    large_ones = walk(step, [Decoded(1e3 * g) for g in UPDATES])[0]
    for small_one, large_one in zip(small_ones, large_ones, strict=True):
        torch.testing.assert_close(small_one, large_one, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("second", ["adam", "yogi"])
def test_moments_are_those_of_a_plain_loop(second):
    step = Adaptive(0.3, 0.8, 0.9, 0.05, second=second)
    m, v = np.zeros(SETUP.world.dim), np.full(SETUP.world.dim, 0.05**2)
    for update, move in zip(UPDATES, plainly(step), strict=True):
        for i, g in enumerate(update.tolist()):
            m[i] = 0.8 * m[i] + 0.2 * g
            if second == "adam":
                v[i] = 0.9 * v[i] + 0.1 * g**2
            else:
                v[i] -= 0.1 * g**2 * np.sign(v[i] - g**2)
        np.testing.assert_allclose(move, 0.3 * m / (np.sqrt(v) + 0.05), rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_an_idle_round_changes_nothing(name):
    step, heard = STEPS.make(name), [Decoded(g) for g in UPDATES]
    straight = walk(step, heard)
    paused = walk(step, [*heard[:3], None, None, *heard[3:]])
    assert torch.equal(straight[0][-1], paused[0][-1])
    for key, value in straight[1].items():
        assert torch.equal(value, paused[1][key])


def test_lazy_leaves_entries_alone_that_did_not_come():
    some, others = torch.arange(0, 50), torch.arange(50, SETUP.world.dim)
    heard = [Decoded(g, (some,)) for g in UPDATES]
    moves, carry = walk(Adaptive(lazy=True), heard)
    dense, _ = walk(Adaptive(), heard)
    assert not moves[-1][others].any()
    assert torch.equal(moves[-1][some], dense[-1][some])
    assert not carry["momentum"][others].any()
    assert (carry["second"][others] == 1e-3**2).all()


def test_denoising_takes_the_noise_off_squares_that_came_by_air_and_off_no_others():
    air, packets = torch.arange(0, 50), torch.arange(50, SETUP.world.dim)
    heard = [Decoded(UPDATES[0], (air, packets), noise=0.25)]
    _, carry = walk(Adaptive(beta2=0.0, denoise=True), heard)
    square = UPDATES[0] ** 2
    torch.testing.assert_close(carry["second"][air], (square[air] - 0.25).clamp(min=0.0))
    assert torch.equal(carry["second"][packets], square[packets])
    assert torch.equal(walk(Adaptive(beta2=0.0), heard)[1]["second"], square)

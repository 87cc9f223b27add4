"""What a device says arrives bit by bit, whatever its update is."""

import contextlib

import numpy as np
import pytest
import torch

pytest.importorskip("flwr", reason='flwr is not installed: pip install "airfeel[flower]"')

from airfeel.compression.codecs import TimeCorrelated, TopK, Whole
from airfeel.compression.memory import residual
from airfeel.flower.agreement import node_turn
from airfeel.flower.speech import hear, speak

DIM = 40
CODECS = [
    TimeCorrelated(DIM, 10, 5, 6),
    TimeCorrelated(DIM, 10, 5, 24, analog=False),
    TimeCorrelated(DIM, 0, 7, 32),
    TopK(DIM, 9, 3),
    TopK(DIM, 0, 3),
    TopK(DIM, DIM, 6),
    Whole(),
]
UPDATES = {
    "usual": lambda x: x,
    "zero": lambda x: x * 0.0,  # half of them negative zeros
    "one": lambda x: x * (np.arange(DIM) == 7),
    "huge": lambda x: x * 1e30,
    "tiny": lambda x: x * 1e-30,
    "tiniest": lambda x: x * 3e-38,  # some of its levels are flushed to zero
}


@contextlib.contextmanager
def flushed():
    """As the engine's workers compute."""
    torch.set_flush_denormal(True)
    yield
    torch.set_flush_denormal(False)


@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("kind", UPDATES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_the_server_hears_what_was_said(codec, kind, dtype):
    rng = np.random.default_rng(5)
    theta, update, delta, memory = torch.tensor(rng.standard_normal((4, DIM))).to(dtype)
    delta, memory = (torch.tensor(UPDATES[kind](v.numpy())).to(dtype) for v in (delta, memory))
    turn = node_turn(theta, update, 3, seed=1, device=2, subchannels=4)
    speech = speak(codec, turn, codec.agree(turn), delta, memory)
    support, said = speech.said.agreed.support, speech.said
    _, words = hear(speech.payload, theta, len(support), codec.spelling)
    for found, there in zip(
        (words.common, words.index, words.value), (said.common, said.index, said.value), strict=True
    ):
        assert found.numpy().tobytes() == there[0].numpy().tobytes()
    assert words.bits == said.bits[0]
    left = memory
    if codec.memory.buffers:
        with flushed():
            x = delta + memory
            left = residual(x, support, said.common[0], said.index[0], said.value[0])
    assert torch.equal(speech.memory, left)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_an_update_that_is_not_finite_is_not_said(wrong):
    theta = torch.zeros(DIM)
    turn, delta = node_turn(theta, theta, 1, seed=1), torch.ones(DIM)
    delta[3] = wrong
    assert speak(CODECS[0], turn, CODECS[0].agree(turn), delta, theta) is None

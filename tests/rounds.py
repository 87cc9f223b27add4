"""Rounds for parts of the radio alone, and rounds in which dice or updates are other ones."""

import dataclasses
from dataclasses import dataclass
from functools import cache

import numpy as np

from airfeel.build.setup import build
from airfeel.streams import Streams
from airfeel.types import Dice
from small import small, turn_at


@cache
def _setup(n, m, seed):
    made = build(small())
    shards = (np.zeros(1, dtype=np.int64),) * n
    power = np.full(n, 5e-3)
    world = dataclasses.replace(made.world, shards=shards, subchannels=m, power=power)
    return dataclasses.replace(made, world=world, streams=Streams(seed))


def turn(n=6, m=8, round=1, seed=0):
    """A round of n devices on m sub-channels."""
    return turn_at(_setup(n, m, seed), round)


@dataclass(frozen=True)
class OtherNoise:
    """The same dice but for those of the air."""

    dice: Dice
    seed: int

    def rng(self, room, round=0):
        dice = Streams(self.seed) if room == "air" else self.dice
        return dice.rng(room, round)

    def uniform(self, room, round, devices, width):
        return self.dice.uniform(room, round, devices, width)


def noises(turn, count):
    """The same round again and again, each time with noise of its own."""
    for seed in range(count):
        yield dataclasses.replace(turn, streams=OtherNoise(turn.streams, seed))


@dataclass(frozen=True)
class Learning:
    """Local training whose updates are changed before anybody sees them."""

    learn: object
    change: object  # (turn, devices, delta) → delta

    @property
    def dice(self):
        return self.learn.dice

    @property
    def block(self):
        return self.learn.block

    def __call__(self, turn, devices, dice):
        delta, loss = self.learn(turn, devices, dice)
        return self.change(turn, devices, delta), loss

"""Numbers that change over the rounds, by name: a learning rate, or a power scalar."""

import math
from dataclasses import dataclass
from typing import Annotated

from airfeel.ranges import Count, NotNegative, Positive, about

_Start = Annotated[Positive, about("value in round 1")]


@dataclass(frozen=True)
class Cosine:
    """From `start` in round 1 to `end` in round `rounds` along half a cosine, then constant.

    >>> [round(Cosine(1.0, 5, 0.0)(t), 3) for t in (1, 3, 5, 9)]
    [1.0, 0.5, 0.0, 0.0]
    """

    start: _Start
    rounds: Annotated[Count, about("round in which the end is reached")]
    end: Annotated[NotNegative, about("value from then on")] = 0.0

    def __call__(self, round: int) -> float:
        done = min((round - 1) / max(self.rounds - 1, 1), 1.0)
        return self.end + (self.start - self.end) * (1.0 + math.cos(math.pi * done)) / 2.0


@dataclass(frozen=True)
class Stairs:
    """`start`, times `factor` after every `every` rounds.

    >>> [Stairs(1.0, 10, 0.5)(t) for t in (1, 10, 11, 21)]
    [1.0, 1.0, 0.5, 0.25]
    """

    start: _Start
    every: Annotated[Count, about("rounds between two changes")]
    factor: Annotated[Positive, about("what the value is multiplied by")] = 0.1

    def __call__(self, round: int) -> float:
        return float(self.start * self.factor ** ((round - 1) // self.every))


@dataclass(frozen=True)
class Inverse:
    """start·(1 + offset)/(t + offset): falls like 1/t, as Theorem 1 asks.

    >>> [Inverse(1.0)(t) for t in (1, 2, 4)]
    [1.0, 0.5, 0.25]
    """

    start: _Start
    offset: Annotated[NotNegative, about("rounds by which the fall is delayed")] = 0.0

    def __call__(self, round: int) -> float:
        return self.start * (1.0 + self.offset) / (round + self.offset)

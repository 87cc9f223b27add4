"""Streams of random numbers named by (seed, room, round, device): the only place that seeds.

A stream does not depend on the algorithm, so that all schemes meet the same sky and the same
batches; a resumed run needs no saved generator; one more device does not reshuffle the others.
"""

import zlib
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from jaxtyping import Float64, Int64

_WORDS = 4  # a Philox counter step gives four doubles


@lru_cache(maxsize=64)
def _key(seed: int, room: str) -> tuple[int, int]:
    a, b = np.random.SeedSequence([seed, zlib.crc32(room.encode())]).generate_state(2, np.uint64)
    return int(a), int(b)


@dataclass(frozen=True)
class Streams:
    """The dice of a run, made from its seed alone.

    seed: of the run, a whole number. A room is the name of a use ("fading", "batch").

    >>> a = Streams(7).uniform("batch", 3, np.array([4]), 2)
    >>> b = Streams(7).uniform("batch", 3, np.array([2, 4, 5]), 2)
    >>> bool((a[0] == b[1]).all())
    True
    """

    seed: int

    def rng(self, room: str, round: int = 0) -> np.random.Generator:
        """The generator of one room in one round."""
        return self._at(room, round, 0, step=0)

    def uniform(
        self, room: str, round: int, devices: Int64[np.ndarray, "n"], width: int
    ) -> Float64[np.ndarray, "n {width}"]:
        """`width` uniforms in [0, 1) for each device, whoever else is asked for.

        Devices with consecutive ids share one call of the generator.
        """
        steps = -(-width // _WORDS)
        out = np.empty((len(devices), steps * _WORDS))
        starts = np.flatnonzero(np.diff(devices, prepend=-2) != 1)
        for first, last in pairwise([*starts, len(devices)]):
            rng = self._at(room, round, 1, step=int(devices[first]) * steps)
            rng.random(out=out[first:last])
        return out[:, :width]

    def _at(self, room: str, round: int, use: int, step: int) -> np.random.Generator:
        counter = np.array([step, 0, round, use], dtype=np.uint64)
        key = np.array(_key(self.seed, room), dtype=np.uint64)
        return np.random.Generator(np.random.Philox(counter=counter, key=key))

"""A channel with memory: gains that drift from round to round (Gauss–Markov).

airfeel run digits-tcs-h --set radio.fading=markov:GaussMarkov --set radio.fading.memory=0.95
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from airfeel.parts import Positive, Share, about, shape_of


@dataclass(frozen=True)
class GaussMarkov:
    """h_t = ρ h_{t−1} + √(1 − ρ²) w_t, w_t ~ CN(0, 2): Rayleigh in every round, E|h|² = 2s².

    Carried as `sky` [N M 2], real and imaginary parts.
    """

    memory: Annotated[Share, about("ρ, correlation of two rounds")] = 0.9
    scale: Annotated[Positive, about("s, factor on |h|")] = 1.0

    def __call__(self, turn):
        return self.scale * np.hypot(*np.moveaxis(self.now(turn), -1, 0))

    def now(self, turn):
        """The sky of this round: the same numbers however often it is asked for."""
        fresh = turn.rng("fading").standard_normal((*shape_of(turn), 2))
        return self.memory * turn.state_of(self)["sky"] + np.sqrt(1.0 - self.memory**2) * fresh

    def begin(self, turn):
        return {"sky": turn.streams.rng("fading", 0).standard_normal((*shape_of(turn), 2))}

    def advance(self, turn, happened):
        return {"sky": self.now(turn)}

"""A plan that is silent on weak sub-channels: truncated channel inversion (Zhu et al. 2020).

What a device does not send stays in its memory. An entry's mean is over those who were heard there.

    airfeel run digits-tcs-h --set scheme.plan=truncation:Truncated --set scheme.plan.weakest=0.5 \
        --set scheme.codec=time-correlated --set scheme.codec.divide=heard
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from airfeel.parts import (
    Allocator,
    Analog,
    Planner,
    Positive,
    Reason,
    Series,
    about,
    air_slots,
    allowed_energy,
    at_round,
    first_reasons,
    power_left,
    spent_energy,
)


@dataclass(frozen=True)
class Truncated:
    """Inversion b = σ_t/h where |h| ≥ `weakest`, else 0; who cannot afford that keeps silent."""

    allocate: Allocator
    power_scalar: Series
    alpha: float | tuple[float, ...]
    weakest: Annotated[Positive, about("smallest |h| that is inverted")] = 0.3

    def __call__(self, turn, said, fading):
        world, gain, power = turn.world, fading.gain, power_left(turn)
        scalar = at_round(self.power_scalar, turn.round)
        strong = gain >= self.weakest
        amplitude = np.divide(scalar, gain, out=np.zeros_like(gain), where=strong)
        needed = np.full(world.devices, np.nan)
        needed[said.devices] = spent_energy(said.energy, amplitude[said.devices])
        budget = allowed_energy(
            self.alpha, power, air_slots(said.symbols.shape[1], world.subchannels)
        )
        reason = first_reasons(said, power)
        candidate = reason == Reason.SCHEDULED
        reason[candidate & ~(needed <= budget)] = Reason.TOO_LOUD
        reason[candidate & ~strong.any(axis=1)] = Reason.NO_CHANNEL
        analog = Analog(scalar, needed, budget, amplitude)
        return Planner(turn, said, fading, self.allocate, analog).plan(reason)

"""A whole scheme: TCS in the air alone, of the devices that hear best.

    airfeel run digits-tcs-h --set scheme.name=air_only:build --set scheme.options.count=5

The part `BestWorst` is new; everything else is named from the library. A scheme that takes `mask`,
`memory`, `step` and `meters` from the settings lets these be chosen there, too.
"""

from dataclasses import dataclass

import numpy as np

from airfeel.parts import (
    Fading,
    Hybrid,
    HybridPlan,
    Invited,
    Scheme,
    Settings,
    TimeCorrelated,
    Turn,
)


@dataclass(frozen=True)
class BestWorst:
    """Invites the `count` devices whose worst sub-channel is best: they pay least for the air."""

    count: int

    def __call__(self, turn: Turn, fading: Fading) -> Invited:
        who = np.zeros(turn.world.devices, dtype=bool)
        who[np.argsort(-fading.gain.min(axis=1), kind="stable")[: self.count]] = True
        return Invited(who)


def build(s: Settings) -> Scheme:
    """The global mask by air, nothing digital."""
    return Scheme(
        name="air-only",
        fade=s.fade,
        invite=BestWorst(s.options.get("count", s.scheduled)),
        learn=s.learn,
        codec=TimeCorrelated(s.dim, s.k_global, 0, s.bits, mask=s.mask, memory=s.memory),
        plan=HybridPlan(s.allocate, s.power_scalar, s.alpha),
        transmit=Hybrid(),
        step=s.step,
        meters=s.meters,
    )

"""A scheme of one's own in one file: TCS in the air alone, with the devices that hear best.

Run it from this folder:

    airfeel run digits-tcs-h --set scheme.name=own_scheme:build

The part `BestChannels` is new; everything else is named from the library. `scheme.options` of the
settings arrive as `s.options`.
"""

from dataclasses import dataclass

import numpy as np
from airfeel.compress.parts import TimeCorrelated
from airfeel.server.aggregate import Average

from airfeel import Fading, Scheme, Settings, State, World
from airfeel.radio.air import Hybrid
from airfeel.radio.plan import HybridPlan


@dataclass(frozen=True)
class BestChannels:
    """Invites the `count` devices whose worst sub-channel is best: they pay least for the air."""

    count: int

    def __call__(
        self, world: World, state: State, fading: Fading, *, rng: np.random.Generator
    ) -> np.ndarray:
        invited = np.zeros(world.devices, dtype=bool)
        invited[np.argsort(-fading.gain.min(axis=1), kind="stable")[: self.count]] = True
        return invited


def build(s: Settings) -> Scheme:
    """The global mask by air, nothing digital."""
    return Scheme(
        name="air-only",
        fade=s.fade,
        invite=BestChannels(s.options.get("count", s.scheduled)),
        learn=s.learn,
        compress=TimeCorrelated(s.dim, s.k_global, 0, s.bits),
        plan=HybridPlan(s.allocate, s.power_scalar, s.alpha),
        transmit=Hybrid(),
        aggregate=Average(),
    )

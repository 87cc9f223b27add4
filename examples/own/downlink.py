"""A meter that charges the downlink: its slots count against the budget, in a column of their own.

airfeel run digits-tcs-h --set 'radio.meters=[{name="downlink:Broadcast", power=1.0}]'
"""

import math
from dataclasses import dataclass
from typing import Annotated

from airfeel.parts import Count, Positive, Reading, about, capacity


@dataclass(frozen=True)
class Broadcast:
    """Before a round the model goes to all who train, at the rate of the weakest of them.

    slots = ⌈D·bits/min_n R_n⌉, R_n = Σ_m log2(1 + P|h|²/(M σ0²)): the sky of the uplink.
    """

    power: Annotated[Positive, about("of the base station", "W")] = 1.0
    bits: Annotated[Count, about("per entry of the model")] = 32

    columns = ("slots_downlink",)

    def __call__(self, turn, said, fading, plan, delivery):
        slots = 0
        if len(said.devices):
            rate = capacity(self.power + 0.0 * turn.world.power, fading)[said.devices]
            slots = math.ceil(turn.world.dim * self.bits / rate.min())
        return Reading({"slots_downlink": slots}, slots=slots)

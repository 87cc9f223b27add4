"""The channel of measurements: own entries stay at home, a pilot tells whether any was heard."""

from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

import numpy as np

from airfeel.radio.transmission.air import Hybrid
from airfeel.ranges import about
from airfeel.types import (
    BadInput,
    Delivery,
    Fading,
    Plan,
    Received,
    Said,
    Transmit,
    Turn,
)

_SURE = 3.0  # standard deviations of noise above which a pilot is believed


@dataclass(frozen=True)
class Measured:
    """The symbols by air alone; what a device names itself is for its own memory.

    A device that spoke anywhere has said all of its own entries. With a pilot, the last symbol, a
    round whose pilot is received within 3σ0 of nothing is one in which nobody was heard: it costs
    what it costs, and the memories keep everything.

    transmit: the channel.
    """

    transmit: Transmit = field(default_factory=Hybrid)
    pilot: Annotated[bool, about("whether the last symbol is a pilot, the same on all")] = True
    air: ClassVar[bool] = True  # whether values are summed in the air

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, plan: Plan
    ) -> tuple[Received, Delivery]:
        if self.pilot and not said.symbols.shape[1]:
            raise BadInput(
                "scheme.transmit = 'measured': its pilot is the last symbol sent over the air, and "
                "this scheme sends none; must be 'digital' or 'hybrid', or have pilot = false"
            )
        signals = replace(said, index=said.index[:, :0], value=said.value[:, :0])
        received, delivery = self.transmit(turn, signals, fading, plan)
        if not self.pilot or abs(float(received.signal[-1])) > _SURE * received.noise**0.5:
            own = delivery if said.signal is None else Delivery(delivery.spoke)
            return received, own
        n, m = said.energy.shape
        return received, Delivery(delivery.spoke, np.zeros((n, m)), np.zeros(n, dtype=bool))

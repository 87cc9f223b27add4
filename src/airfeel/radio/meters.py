"""Costs beside slots, bits and joules of the uplink."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from airfeel.ranges import NotNegative, Positive, about
from airfeel.types import Delivery, Fading, Plan, Reading, Said, Turn


@dataclass(frozen=True)
class Latency:
    """Column `latency`: seconds that the uplink of a round takes, slots times their length."""

    symbol_seconds: Annotated[Positive, about("length of a slot", "s")] = 1e-6

    @property
    def columns(self) -> tuple[str, ...]:
        return ("latency",)

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, plan: Plan, delivery: Delivery
    ) -> Reading:
        return Reading({"latency": plan.slots * self.symbol_seconds})


@dataclass(frozen=True)
class Compute:
    """Column `energy_compute`: what training costs [W·slots], of each device that trained alike."""

    compute: Annotated[NotNegative, about("energy of a device's training per round", "W·slots")]

    @property
    def columns(self) -> tuple[str, ...]:
        return ("energy_compute",)

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, plan: Plan, delivery: Delivery
    ) -> Reading:
        energy = np.zeros(turn.world.devices)
        energy[said.devices] = self.compute
        return Reading({"energy_compute": float(energy.sum())}, energy=energy)

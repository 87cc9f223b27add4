"""Costs beside slots, bits and joules of the uplink."""

from dataclasses import dataclass
from typing import Annotated

from airfeel.ranges import Positive, about
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

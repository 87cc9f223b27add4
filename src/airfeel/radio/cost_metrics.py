"""Costs beside slots, bits and joules of the uplink."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from airfeel.radio.channel.doppler import jakes
from airfeel.radio.impairments.real_plan import round_slots
from airfeel.ranges import NotNegative, Positive, about
from airfeel.types import Delivery, Fading, Happened, Plan, Reading, Said, Turn


@dataclass(frozen=True)
class Latency:
    """Column `latency`: seconds that the uplink of a round takes, slots times their length.

    Of a real radio pilots, re-alignments and every try of a packet count.
    """

    symbol_seconds: Annotated[Positive, about("length of a slot", "s")] = 1e-6

    @property
    def columns(self) -> tuple[str, ...]:
        return ("latency",)

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, plan: Plan, delivery: Delivery
    ) -> Reading:
        return Reading({"latency": round_slots(turn, said, fading, plan) * self.symbol_seconds})


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


@dataclass(frozen=True)
class Coherence:
    """Column `coherence`: J0(2πf_D·U_t·T_s), how alike channels are after all slots of a round.

    Block fading takes it as 1 (Clarke, Jakes).
    """

    doppler: Annotated[NotNegative, about("f_D, largest Doppler shift", "Hz")]
    symbol_seconds: Annotated[Positive, about("T_s, length of a slot", "s")] = 1e-6

    @property
    def columns(self) -> tuple[str, ...]:
        return ("coherence",)

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, plan: Plan, delivery: Delivery
    ) -> Reading:
        seconds = round_slots(turn, said, fading, plan) * self.symbol_seconds
        return Reading({"coherence": jakes(self.doppler, seconds)})


@dataclass(frozen=True)
class Heard:
    """Carries `heard`: in how many rounds each device spoke. No column, no cost."""

    columns: ClassVar[tuple[str, ...]] = ()

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, plan: Plan, delivery: Delivery
    ) -> Reading:
        return Reading({})

    def begin(self, turn: Turn) -> Mapping[str, np.ndarray]:
        """Nobody has spoken."""
        return {"heard": np.zeros(turn.world.devices, dtype=np.int64)}

    def advance(self, turn: Turn, happened: Happened) -> Mapping[str, np.ndarray]:
        """One more of those who speak in this round."""
        return {"heard": turn.state_of(self)["heard"] + happened.plan.active}

"""A plan for the air: who is kept, how loud each is, and own entries digitally."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from airfeel.radio.energy import needed_energy, spent_energy
from airfeel.radio.power_budget import allowed_energy, power_left
from airfeel.radio.power_control.amplitude import Inversion, PowerScalar
from airfeel.radio.power_control.power_context import Ask, Loud, Policy
from airfeel.radio.scheduling.planner import Analog, Bounded, Planner, first_reasons, keep
from airfeel.radio.side_information import Norms, Strict, charged, numbers
from airfeel.ranges import Each, about
from airfeel.ranges import Whole as WholeNumber
from airfeel.segments import air_slots
from airfeel.types import Fading, Plan, Reason, Said, Screen, Turn


@dataclass(frozen=True)
class AirPlan(Bounded):
    """A screen keeps some of those who trained; a policy says how loud each is, and who is out.

    The energy of a round must fit into what is left of C·P̄_n; the policy sees to α·P̄_{t,n}·U.
    With `strict` each number that devices report for the screen, the policy, or others (`reports`,
    `norms`) costs 32 bits, sent digitally, also of who is silent then. Whom the screen drops, the
    policy asks nothing.

    allocate: shares the sub-channels of the digital part out. amplitude: how loud each is; None
    for inversion at σ_t. screen: who is kept; None for all.
    """

    amplitude: Policy | None = None
    screen: Screen | None = None
    alpha: Annotated[Each, about("aggressiveness, one or one for each device")] = 1.0
    power_scalar: PowerScalar = 5.0
    strict: Strict = False
    reports: Annotated[WholeNumber, about("numbers that devices report beside the policy's")] = 0
    norms: Norms = False
    partial: ClassVar[bool] = True  # devices may be silent on some sub-channels

    def __call__(self, turn: Turn, said: Said, fading: Fading) -> Plan:
        policy = Inversion(self.power_scalar) if self.amplitude is None else self.amplitude
        left = power_left(turn)
        reason = first_reasons(said, left)
        trained = np.asarray(reason == Reason.SCHEDULED, dtype=bool)
        keep(reason, self.screen, turn, said, fading)
        able = np.asarray(reason == Reason.SCHEDULED, dtype=bool)
        slots = air_slots(said.symbols.shape[1], turn.world.subchannels, said.lanes)
        power, budget = (allowed_energy(self.alpha, left, u) for u in (1, slots))
        ask = Ask(turn, said, fading, able, power, budget)
        if ask.mute:
            reason[able] = Reason.DROPPED
        loud = policy(ask)
        for why, who in loud.out.items():
            reason[(reason == Reason.SCHEDULED) & who] = why
        norms = np.maximum(trained * int(self.norms), able * policy.reports)
        told = numbers(self.screen, turn, said, fading, trained, norms) + trained * self.reports
        needed = np.full(len(left), np.nan)
        needed[said.devices] = _needed(said, fading, loud)
        analog = Analog(loud.scalar, needed, budget, loud.amplitude)
        tells = charged(self.strict, told)
        return Planner(turn, said, fading, self.allocate, analog, tells).plan(reason)


def _needed(said: Said, fading: Fading, loud: Loud) -> np.ndarray:
    """Energy that each of the n devices would spend [W·slots]."""
    if loud.amplitude is None:
        return needed_energy(said.energy, fading.air_gain2[said.devices], loud.scalar)
    return spent_energy(said.energy, loud.amplitude[said.devices])

"""Around any scheme's parts: who can pay for pilots, silence and tries, and what that costs."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool

from airfeel.radio.allocation.rounding import FITS
from airfeel.radio.impairments.front_end import arrived_and_meant
from airfeel.radio.impairments.packets import attempts, digital_slots, first_slots
from airfeel.radio.power_budget import power_left
from airfeel.types import (
    Delivery,
    Fading,
    Invite,
    Invited,
    MakePlan,
    Plan,
    Reading,
    Reason,
    Said,
    Turn,
)

_NAN = float("nan")


@dataclass(frozen=True)
class Sounded:
    """Of those whom another part invites, who can pay for its pilots.

    invite: the other part.
    """

    invite: Invite

    def __call__(self, turn: Turn, fading: Fading) -> Invited:
        invited = self.invite(turn, fading)
        return replace(invited, who=invited.who & pays_pilots(turn, fading))


@dataclass(frozen=True)
class RealPlan:
    """A plan under a real radio: silent where devices do not invert, tries that can be paid.

    A silent segment costs nothing, and the power rule of the plan sees the rest.

    plan: any other.
    """

    plan: MakePlan

    def __call__(self, turn: Turn, said: Said, fading: Fading) -> Plan:
        spoken = said
        if fading.silent is not None:
            quiet = fading.silent[said.devices]
            spoken = replace(said, energy=np.where(quiet, 0.0, said.energy))
        plan = self.plan(turn, spoken, fading)
        if fading.silent is not None and plan.scalar > 0.0:
            plan = hushed(plan, ~fading.silent)
        poor = ~pays_pilots(turn, fading)
        if poor.any():
            why = (
                Reason.NO_POWER if p and r == Reason.NOT_INVITED else r
                for p, r in zip(poor, plan.reason, strict=True)
            )
            plan = replace(plan, reason=tuple(why))
        return replace(plan, most_tries=affordable_tries(turn, said, fading, plan))


@dataclass(frozen=True)
class RealCosts:
    """Pilots and re-alignments, packets that are lost, and how far the air is from what was meant.

    Columns: `slots_pilot` and `slots_sync`, which count; `lost` packets; `misalignment`,
    ‖Σ(r − 1)x‖²/‖Σx‖² of the sum before noise; where channels are fed back `bits_feedback`, which
    the downlink carries for nothing.

    feedback: bits of a fed back channel, of one device on one sub-channel.
    """

    feedback: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        always = ("slots_pilot", "slots_sync", "lost", "misalignment")
        return (*always, "bits_feedback") if self.feedback else always

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, plan: Plan, delivery: Delivery
    ) -> Reading:
        who, (pilots, sync) = sounded(turn, said, fading), upkeep_slots(turn, said, fading, plan)
        energy = np.zeros(turn.world.devices)
        if fading.upkeep is not None:
            energy += fading.upkeep.energy * (fading.upkeep.pilots * who + sync * plan.active)
        columns: dict[str, float] = {
            "slots_pilot": pilots,
            "slots_sync": sync,
            "lost": int((attempts(fading, plan)[1] & plan.active).sum()),
            "misalignment": misalignment(said, fading, plan),
        }
        if self.feedback:
            columns["bits_feedback"] = fading.gain.size * self.feedback
        return Reading(columns, slots=pilots + sync, energy=energy)


def round_slots(turn: Turn, said: Said, fading: Fading, plan: Plan) -> int:
    """U_t = U[p] + U[s] + U[g] + U[l]: pilots, re-alignments, air, and packets with all tries."""
    upkeep = sum(upkeep_slots(turn, said, fading, plan))
    return upkeep + plan.slots_air + digital_slots(said, fading, plan)


def upkeep_slots(turn: Turn, said: Said, fading: Fading, plan: Plan) -> tuple[int, int]:
    """U[p] and U[s], slots of pilots and of re-alignments."""
    if fading.upkeep is None:
        return 0, 0
    pilots = fading.upkeep.pilots * int(sounded(turn, said, fading).sum())
    return pilots, fading.upkeep.alignments(plan.slots_air)


def sounded(turn: Turn, said: Said, fading: Fading) -> Bool[np.ndarray, "N"]:
    """Whose channel is estimated: who was invited, or everyone who can pay for it."""
    who = np.zeros(turn.world.devices, dtype=bool)
    who[said.devices] = True
    if fading.upkeep is not None and fading.upkeep.everyone:
        who |= (power_left(turn) > 0.0) & pays_pilots(turn, fading)
    return who


def hushed(plan: Plan, speaks: Bool[np.ndarray, "N M"]) -> Plan:
    """The plan with silence where devices do not speak.

    Args:
        plan: any.
        speaks: which device does on which sub-channel of the air.
    """
    part = speaks.astype(np.float64)
    if plan.amplitude is None:
        return replace(plan, share=part if plan.share is None else plan.share * part)
    share = None if plan.share is None else plan.share * part
    return replace(plan, amplitude=plan.amplitude * part, share=share)


def pays_pilots(turn: Turn, fading: Fading) -> Bool[np.ndarray, "N"]:
    """Who has the energy left that its pilots take."""
    world = turn.world
    if fading.upkeep is None or np.isinf(world.slots):
        return np.ones(world.devices, dtype=bool)
    cost = fading.upkeep.energy * fading.upkeep.pilots
    return np.asarray(turn.state.spent + cost <= world.slots * world.power * FITS)


def affordable_tries(turn: Turn, said: Said, fading: Fading, plan: Plan) -> np.ndarray | None:
    """How often each device can pay for its packet, within C·P̄_n; None where that is no limit.

    Args:
        turn: the round, with what was spent before it.
        said: bits of the n devices.
        fading: the sky, with the link's most tries.
        plan: digital powers, and analog energies.
    """
    world = turn.world
    if fading.link is None or fading.link.transmissions == 1 or np.isinf(world.slots):
        return None
    other = np.nan_to_num(plan.needed) * plan.active
    if fading.upkeep is not None:
        other = other + fading.upkeep.own_energy(plan.slots_air)
    left = world.slots * world.power * FITS - turn.state.spent - other
    once = first_slots(said, fading, plan) * plan.power.sum(axis=1)
    most = np.divide(left, once, out=np.full(len(left), np.inf), where=once > 0.0)
    return np.clip(np.floor(most), 1, fading.link.transmissions).astype(np.int64)


def misalignment(said: Said, fading: Fading, plan: Plan) -> float:
    """‖Σ(r − 1)x‖²/‖Σx‖² over what is sent by air; NaN where nothing is."""
    if plan.scalar <= 0.0 or not plan.active.any() or said.symbols.shape[1] == 0:
        return _NAN
    if fading.residual is None and fading.spin is None:
        return 0.0
    arrived, meant = arrived_and_meant(said, fading, plan)
    error = arrived - meant
    whole = float(meant @ meant)
    return float(error @ error) / whole if whole > 0.0 else _NAN

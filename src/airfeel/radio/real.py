"""Around any scheme's parts: who can pay for pilots, silence and tries, and what that costs."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float64

from airfeel.radio.front import superposed
from airfeel.radio.packets import attempts, first_slots
from airfeel.radio.remaining import power_left
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

_ROUNDING = 1.0 + 1e-12  # an energy that is equal but for rounding fits
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
    ‖Σ(r − 1)x‖²/‖Σx‖² of the sum before noise.
    """

    columns: ClassVar[tuple[str, ...]] = ("slots_pilot", "slots_sync", "lost", "misalignment")

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, plan: Plan, delivery: Delivery
    ) -> Reading:
        energy, pilots, sync = np.zeros(turn.world.devices), 0, 0
        if fading.upkeep is not None:
            who = np.zeros(turn.world.devices, dtype=bool)
            who[said.devices] = True
            if fading.upkeep.everyone:
                who |= (power_left(turn) > 0.0) & pays_pilots(turn, fading)
            pilots = fading.upkeep.pilots * int(who.sum())
            sync = fading.upkeep.alignments(plan.slots_air)
            energy += fading.upkeep.energy * (fading.upkeep.pilots * who + sync * plan.active)
        columns = {
            "slots_pilot": pilots,
            "slots_sync": sync,
            "lost": int((attempts(fading, plan)[1] & plan.active).sum()),
            "misalignment": misalignment(said, fading, plan),
        }
        return Reading(columns, slots=pilots + sync, energy=energy)


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
    return np.asarray(turn.state.spent + cost <= world.slots * world.power * _ROUNDING)


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
    left = world.slots * world.power * _ROUNDING - turn.state.spent - other
    once = first_slots(said, fading, plan) * plan.power.sum(axis=1)
    most = np.divide(left, once, out=np.full(len(left), np.inf), where=once > 0.0)
    return np.clip(np.floor(most), 1, fading.link.transmissions).astype(np.int64)


def misalignment(said: Said, fading: Fading, plan: Plan) -> float:
    """‖Σ(r − 1)x‖²/‖Σx‖² over what is sent by air; NaN where nothing is."""
    if plan.scalar <= 0.0 or not plan.active.any() or said.symbols.shape[1] == 0:
        return _NAN
    if fading.residual is None and fading.spin is None:
        return 0.0
    meant: Float64[np.ndarray, "S"] = superposed(said, fading, plan, exact=True)
    error = superposed(said, fading, plan) - meant
    whole = float(meant @ meant)
    return float(error @ error) / whole if whole > 0.0 else _NAN

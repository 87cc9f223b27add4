"""The plan of a digital phase of a fixed length, that was shared out before anybody trained."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64

from airfeel.radio.impairments.packets import first_slots
from airfeel.radio.power_budget import power_left
from airfeel.radio.scheduling.planner import Bounded, Planner, first_reasons, keep, lay_out
from airfeel.radio.selection.payload_budget import Entries, Shared, Window, share_out
from airfeel.radio.side_information import REAL_BITS, Strict, reporters
from airfeel.radio.transmission.digital import Division
from airfeel.types import Fading, Plan, Reason, Said, Screen, Turn


@dataclass(frozen=True)
class WindowPlan(Bounded):
    """Whoever was granted something speaks, within a digital phase of a fixed length.

    Sub-channels are those of the grants: shared out over all who were invited, and left empty by
    those who drop out. The phase lasts `window` slots; a device pays ⌈Q_n/R_n⌉ of them. One that
    does not fit into the budget is returned as it is, to be discarded. With `strict` a norm that
    devices report, for grants or for the screen, costs 32 bits within the phase, also of who is
    silent then; who has no room for it is neither kept nor known.

    allocate: shares the sub-channels out. screen: who is kept; None for all.
    """

    window: Window = 1
    screen: Screen | None = None
    entries: Entries = "equal"
    strict: Strict = False

    def __call__(self, turn: Turn, said: Said, fading: Fading) -> Plan:
        reason = first_reasons(said, power_left(turn))
        who = np.isin(np.arange(len(reason)), said.devices)
        shared = share_out(turn, fading, who, self.allocate, self.window, self.entries)
        side = self._side(turn, fading, reason)
        tells = (side > 0.0) & (shared.bits >= side)
        reason[(side > 0.0) & ~tells] = Reason.NO_CHANNEL
        keep(reason, self.screen, turn, said, fading)
        bits = np.zeros(len(reason))
        bits[said.devices] = said.bits
        reason[(reason == Reason.SCHEDULED) & (bits <= 0.0)] = Reason.NO_CHANNEL
        planner = Planner(turn, said, fading, self.allocate)
        while True:
            plan, division = _laid_out(said, fading, shared, reason, side, tells)
            over = (plan.active | tells) & planner.too_dear(plan, division)
            if turn.state.slots + plan.slots > turn.world.slots or not over.any():
                return plan
            tells = tells & ~(over & ~plan.active)
            reason[over & plan.active] = Reason.NO_ENERGY

    def _side(self, turn: Turn, fading: Fading, reason: np.ndarray) -> Float64[np.ndarray, "N"]:
        """Bits of what each device reports: its norm, where grants or the screen go by it."""
        able = np.asarray(reason == Reason.SCHEDULED, dtype=bool)
        asked = able if self.entries == "norm" else reporters(self.screen, turn, fading, able)
        return REAL_BITS * (asked & self.strict).astype(np.float64)


def _laid_out(
    said: Said,
    fading: Fading,
    shared: Shared,
    reason: np.ndarray,
    side: Float64[np.ndarray, "N"],
    tells: Bool[np.ndarray, "N"],
) -> tuple[Plan, Division]:
    """The plan of those who are still to be scheduled, or report; others leave what was theirs."""
    speaks = (reason == Reason.SCHEDULED).astype(bool)
    talks = speaks | tells
    whole, owner = shared.division, shared.division.owner
    division = replace(
        whole,
        batch=np.where(talks, whole.batch, -1),
        owner=np.where((owner >= 0) & talks[owner], owner, -1),
        power=whole.power * talks[:, None],
        rate=whole.rate * talks,
        slots=shared.slots if talks.any() else 0,
    )
    plan = replace(lay_out(reason, division, 0, None), window=division.slots)
    if side.any():
        plan = replace(plan, side=side, reporting=tells & ~speaks)
    return plan, replace(division, own_slots=first_slots(said, fading, plan))

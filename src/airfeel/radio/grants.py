"""Capacity first: a fixed digital phase, and what each device may send in it."""

from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np
from jaxtyping import Bool, Float64

from airfeel.bits import place_bits
from airfeel.radio.allocators.paper import Paper
from airfeel.radio.digital import Division, divide
from airfeel.radio.invite import capacity, lowest
from airfeel.radio.links import Allocator
from airfeel.radio.packets import first_slots
from airfeel.radio.plan import Bounded, Planner, first_reasons, lay_out
from airfeel.radio.remaining import power_left
from airfeel.ranges import Count, about
from airfeel.types import Fade, Fading, Invite, Invited, Link, Plan, Reason, Said, Screen, Turn

_MEAN_BITS = 33  # a mean and its sign

Window = Annotated[Count, about("slots of the digital phase of every round")]


def most_entries(dim: int, bits: float) -> int:
    """max{q ≤ D/2 : log2 C(D, q) + 33 ≤ bits}, 0 where there is none (Amiri, Gündüz 2020).

    Args:
        dim: D.
        bits: B, that may be sent.

    >>> most_entries(7850, 3925 / 50 * np.log2(1 + 25 * 500 / 3925)), most_entries(100, 20.0)
    (12, 0)
    """
    low, high = 0, dim // 2
    while low < high:
        q = (low + high + 1) // 2
        low, high = (q, high) if place_bits(dim, q) + _MEAN_BITS <= bits else (low, q - 1)
    return low


def share_out(
    turn: Turn, fading: Fading, who: Bool[np.ndarray, "N"], allocate: Allocator
) -> Division:
    """Sub-channels and powers of some devices that have equally much to say (Algorithm 2)."""
    return divide(np.flatnonzero(who), power_left(turn), fading, np.ones(len(who)), allocate)


def allowed_bits(division: Division, window: int) -> Float64[np.ndarray, "N"]:
    """B_n = R_n times the slots of its batch [bits]; batches share the window evenly."""
    return division.rate * (window // max(len(division.owner), 1))


@dataclass(frozen=True)
class Granted:
    """Tells each invited device how many entries the round's digital phase has room for.

    dim: d. invite: who is asked. allocate: shares the sub-channels out, as the plan does.
    """

    invite: Invite
    dim: Annotated[Count, about("d, numbers in the model")]
    window: Window
    best: Annotated[bool, about("invite the one of largest capacity alone")] = False
    allocate: Allocator = field(default_factory=Paper)

    def __call__(self, turn: Turn, fading: Fading) -> Invited:
        who = self.invite(turn, fading).who
        if self.best:
            power = power_left(turn)
            who = lowest(-capacity(power, fading), 1, np.where(who, power, 0.0))
        bits = allowed_bits(share_out(turn, fading, who, self.allocate), self.window)
        return Invited(who, np.array([float(most_entries(self.dim, b)) for b in bits]))


@dataclass(frozen=True)
class WindowPlan(Bounded):
    """Whoever was granted something speaks, within a digital phase of a fixed length.

    Sub-channels are those of the grants: shared out over all who were invited, and left empty by
    those who drop out. The phase lasts `window` slots; a device pays ⌈Q_n/R_n⌉ of them.

    allocate: shares the sub-channels out. screen: who is kept; None for all.
    """

    window: Window = 1
    screen: Screen | None = None

    def __call__(self, turn: Turn, said: Said, fading: Fading) -> Plan:
        reason = first_reasons(said, power_left(turn))
        who, able = np.isin(np.arange(len(reason)), said.devices), reason == Reason.SCHEDULED
        if self.screen is not None:
            reason[able & ~self.screen(turn, said, fading, able)] = Reason.DROPPED
        bits = np.zeros(len(reason))
        bits[said.devices] = said.bits
        reason[(reason == Reason.SCHEDULED) & (bits <= 0.0)] = Reason.NO_CHANNEL
        shared = share_out(turn, fading, who, self.allocate)
        planner = Planner(turn, said, fading, self.allocate)
        while True:
            plan, division = self._laid_out(said, fading, shared, reason)
            over = plan.active & planner.too_dear(plan, division)
            if not over.any():
                return plan
            reason[over] = Reason.NO_ENERGY

    def _laid_out(
        self, said: Said, fading: Fading, shared: Division, reason: np.ndarray
    ) -> tuple[Plan, Division]:
        """The plan of those who are still to be scheduled; others leave what was theirs."""
        speaks = (reason == Reason.SCHEDULED).astype(bool)
        owner = shared.owner
        division = replace(
            shared,
            batch=np.where(speaks, shared.batch, -1),
            owner=np.where((owner >= 0) & speaks[owner], owner, -1),
            power=shared.power * speaks[:, None],
            rate=shared.rate * speaks,
            slots=self.window if speaks.any() else 0,
        )
        plan = replace(lay_out(reason, division, 0, None), window=division.slots)
        return plan, replace(division, own_slots=first_slots(said, fading, plan))


@dataclass(frozen=True)
class RealRates:
    """One quadrature carries bits: ½·log2(1 + SNR) per sub-channel and slot.

    fade: the sky.
    """

    fade: Fade

    def __call__(self, turn: Turn) -> Fading:
        fading = self.fade(turn)
        return replace(fading, link=replace(fading.link or Link(), quadratures=1))

"""What plans share: who may speak, sub-channels for the digital part, and who can afford them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
from jaxtyping import Bool, Float64

from airfeel.radio.allocation.allocators.paper import Paper
from airfeel.radio.allocation.links import Allocator
from airfeel.radio.allocation.rounding import FITS
from airfeel.radio.power_budget import power_left
from airfeel.radio.transmission.digital import Division, divide, in_turn
from airfeel.segments import air_slots
from airfeel.types import Fading, Happened, Plan, Reason, Said, Screen, Turn


@dataclass(frozen=True)
class Analog:
    """The analog part of a plan: how loud, at what energy [W·slots], and within which limit."""

    scalar: float  # σ_t, what the receiver divides by
    needed: Float64[np.ndarray, "N"]  # energy asked for [W·slots]; NaN where unknown
    budget: Float64[np.ndarray, "N"]  # energy allowed [W·slots]
    amplitude: Float64[np.ndarray, "N M"] | None = None  # b, of symbols; None: inversion, σ_t/h
    share: Float64[np.ndarray, "N M"] | None = None  # of a segment that is sent; None: all or 0


@dataclass(frozen=True)
class Bounded:
    """Carries `gap`: the largest distance to a proven bound that the allocator ever left.

    allocate: shares the sub-channels out.
    """

    allocate: Allocator = field(default_factory=Paper)

    def begin(self, turn: Turn) -> Mapping[str, np.ndarray]:
        """No gap is known."""
        return {"gap": np.array(np.nan)}

    def advance(self, turn: Turn, happened: Happened) -> Mapping[str, np.ndarray]:
        """The larger of the gap so far and this round's."""
        return {"gap": np.asarray(np.fmax(turn.state_of(self)["gap"], happened.plan.gap))}


def first_reasons(said: Said, power: Float64[np.ndarray, "N"]) -> np.ndarray:
    """A Reason for each device: who is out before anything is computed, all others scheduled.

    Args:
        said: names the n invited devices, and whose update is finite [n].
        power: remaining average power of each device [W]; who has none does not speak.
    """
    reason = np.full(len(power), Reason.NOT_INVITED, dtype=object)
    reason[said.devices] = np.where(said.finite, Reason.SCHEDULED, Reason.NOT_FINITE)
    reason[power <= 0.0] = Reason.NO_POWER
    return reason


def keep(reason: np.ndarray, screen: Screen | None, turn: Turn, said: Said, fading: Fading) -> None:
    """Drop, in place, those of the scheduled whom a screen does not keep.

    Args:
        reason: of each of the N devices.
        screen: says who is kept; None for all.
        turn: the round.
        said: what the invited devices would say.
        fading: the sky, as it is believed.
    """
    if screen is not None:
        able = np.asarray(reason == Reason.SCHEDULED, dtype=bool)
        reason[able & ~screen(turn, said, fading, able)] = Reason.DROPPED


@dataclass(frozen=True)
class Planner:
    """What stays the same while a round is planned."""

    turn: Turn  # the round
    said: Said  # what the invited devices would say
    fading: Fading  # the sky, as it is believed
    allocate: Allocator  # shares the sub-channels of the digital part out
    analog: Analog | None = None  # the analog part; None where all is digital
    tells: Float64[np.ndarray, "N"] | None = None  # bits of what each reports; None for nothing

    def plan(self, reason: np.ndarray, thrifty: bool = False) -> Plan:
        """The plan for the devices whose reason is to be scheduled."""
        plan = self.affordable(reason)
        return self.fewer(plan) if thrifty else plan

    def affordable(self, reason: np.ndarray) -> Plan:
        """Allocate; drop who cannot be served or cannot afford it; until all can.

        Who has reported and is silent then is served, too, while it can afford that. A round whose
        slots do not fit into the budget is returned as it is, to be discarded.
        """
        turn, bits = self.turn, np.zeros(self.turn.world.devices)
        side = np.zeros_like(bits) if self.tells is None else self.tells
        bits[self.said.devices] = self.said.bits
        tells = side > 0.0
        while True:
            speaks = np.asarray(reason == Reason.SCHEDULED, dtype=bool)
            told = tells & ~speaks
            division = self._divide(speaks, told, np.where(speaks, bits + side, side))
            reason[division.dropped[speaks[division.dropped]]] = Reason.NO_CHANNEL
            plan = lay_out(reason, division, self.slots_air, self.analog)
            told &= plan.batch >= 0
            plan = plan if self.tells is None else replace(plan, side=side, reporting=told)
            over = (plan.active | told) & self.too_dear(plan, division)
            if turn.state.slots + plan.slots > turn.world.slots or not over.any():
                return plan
            reason[over & plan.active] = Reason.NO_ENERGY
            tells = tells & ~(over & told)

    def _divide(
        self,
        speaks: Bool[np.ndarray, "N"],
        told: Bool[np.ndarray, "N"],
        bits: Float64[np.ndarray, "N"],
    ) -> Division:
        """Sub-channels of who speaks and of who reports alone.

        All share them where all have as much to send; else reports alone come after, so that
        32 bits do not take sub-channels from whole packets.
        """
        alike = not told.any() or len(np.unique(bits[speaks | told])) == 1
        power, groups = power_left(self.turn), (speaks | told,) if alike else (speaks, told)
        parts = (divide(np.flatnonzero(g), power, self.fading, bits, self.allocate) for g in groups)
        return reduce(in_turn, parts)

    def fewer(self, plan: Plan) -> Plan:
        """The thrifty rule: drop the slowest devices while more devices are heard per slot.

        With one device more than half the sub-channels somebody has only one of them, and the
        digital phase nearly doubles. All devices count the same in the mean, so that the worth of
        a round is how many are heard, and its price is its slots. Devices leave one by one, the
        one of smallest rate first (ties: the higher index), down to half; of all the plans on the
        way the one with most devices per slot is taken, the larger one among equals.
        """
        best = now = plan
        while now.slots_digital > 0 and 2 * (now.active.sum() - 1) >= plan.active.sum():
            active = np.flatnonzero(now.active)
            slowest = active[::-1][int(np.argmin(now.rate[active][::-1]))]
            reason = np.array(now.reason, dtype=object)
            reason[slowest] = Reason.DROPPED
            now = self.affordable(reason)
            if now.active.sum() * best.slots > best.active.sum() * now.slots:
                best = now
        return best

    @property
    def slots_air(self) -> int:
        """U[g], 0 where nothing is analog."""
        if self.analog is None:
            return 0
        said = self.said
        return air_slots(said.symbols.shape[1], self.turn.world.subchannels, said.lanes)

    def too_dear(self, plan: Plan, division: Division) -> Bool[np.ndarray, "N"]:
        """Whose round would take more energy than is left of C·P̄_n."""
        world, spent = self.turn.world, self.turn.state.spent
        if np.isinf(world.slots):
            return np.zeros(world.devices, dtype=bool)
        needed = np.where(plan.active, np.nan_to_num(plan.needed), 0.0)
        energy = needed + division.own_slots * division.power.sum(axis=1)
        if self.fading.upkeep is not None:
            energy += self.fading.upkeep.own_energy(plan.slots_air)
        return np.asarray(spent + energy > world.slots * world.power * FITS)


def lay_out(reason: np.ndarray, division: Division, slots_air: int, analog: Analog | None) -> Plan:
    """The plan in which those speak whose reason is to be scheduled.

    Args:
        reason: of each of the N devices.
        division: sub-channels, powers [W] and rates [bits/slot] of the digital phase.
        slots_air: U[g], slots of the analog part.
        analog: σ_t, energies [W·slots] and shares; None where nothing is analog.
    """
    active = (reason == Reason.SCHEDULED).astype(bool)
    unknown = np.full(len(active), np.nan)
    analog = analog or Analog(0.0, unknown, unknown)
    return Plan(
        active=active,
        reason=tuple(Reason(r) for r in reason),
        batch=division.batch,
        owner=division.owner,
        power=division.power,
        rate=division.rate,
        slots_air=slots_air if active.any() else 0,
        slots_digital=division.slots,
        scalar=analog.scalar,
        needed=analog.needed,
        budget=analog.budget,
        gap=division.gap,
        amplitude=analog.amplitude,
        share=analog.share,
    )

"""Algorithm 2: from what the devices would say and the sky to who speaks, where and how loud."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float64

from airfeel.radio.allocators.paper import Paper
from airfeel.radio.digital import Division, divide, silence
from airfeel.radio.limit import Limit
from airfeel.radio.links import Allocator
from airfeel.radio.remaining import allowed_energy, power_left
from airfeel.radio.rounding import FITS
from airfeel.ranges import Each, about
from airfeel.segments import air_slots
from airfeel.types import (
    BadInput,
    Fading,
    Happened,
    Plan,
    Reason,
    Said,
    Screen,
    Series,
    Turn,
    at_round,
)

Schedule = Annotated[
    Literal["power", "thrifty", "all"],
    about(
        "who speaks: who can afford the air (power), of these fewer while more are heard per slot "
        "(thrifty), or everyone whatever it costs (all, for theory)"
    ),
]


@dataclass(frozen=True)
class Analog:
    """The analog part of a plan: how loud, at what energy [W·slots], and within which limit."""

    scalar: float  # σ_t, what the receiver divides by
    needed: Float64[np.ndarray, "N"]  # energy asked for [W·slots]; NaN where unknown
    budget: Float64[np.ndarray, "N"]  # energy allowed [W·slots]
    amplitude: Float64[np.ndarray, "N M"] | None = None  # b, of symbols; None: inversion, σ_t/h
    share: Float64[np.ndarray, "N M"] | None = None  # of a segment that is sent; None: all or 0
    side: float = 0.0  # bits of side information of each speaker
    reporting: Bool[np.ndarray, "N"] | None = None  # who sends these; None: speakers


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
        return {"gap": np.asarray(np.fmax(turn.state.carry["gap"], happened.plan.gap))}


@dataclass(frozen=True)
class HybridPlan(Bounded):
    """The power rule for the analog part, then sub-channels and powers for the digital part.

    Device n is scheduled iff P[g]_n ≤ α_n·P̄_{t,n}·U[g], and the round's energy fits into what is
    left of C·P̄_n. With α > 1 the latter is only known after the allocation: devices over it are
    dropped and the allocation is repeated. `thrifty` is explained at `Planner.fewer`.

    allocate: shares the sub-channels of the digital part out. screen: who is kept of those who
    trained, before the power rule; None for all.
    """

    power_scalar: Annotated[Series, about("σ_t, one number or one for each round")] = 5.0
    alpha: Annotated[Each, about("aggressiveness, one or one for each device")] = 1.0
    schedule: Schedule = "power"
    screen: Screen | None = None

    def __call__(self, turn: Turn, said: Said, fading: Fading) -> Plan:
        limit = self.limit(turn, said.symbols.shape[1])
        needed = np.full(turn.world.devices, np.nan)
        needed[said.devices] = limit.needed(said.energy, fading.air_gain2[said.devices])
        reason = first_reasons(said, power_left(turn))
        keep(reason, self.screen, turn, said, fading)
        reason[(reason == Reason.SCHEDULED) & ~limit.allows(needed)] = Reason.TOO_LOUD
        reason[(reason == Reason.SCHEDULED) & np.isinf(needed)] = Reason.NO_CHANNEL
        analog = Analog(limit.scalar, needed, limit.budget)
        planner = Planner(turn, said, fading, self.allocate, analog)
        return planner.plan(reason, self.schedule == "thrifty")

    def limit(self, turn: Turn, symbols: int) -> Limit:
        """The power rule for so many symbols on the air; no limit where everyone speaks."""
        world = turn.world
        scalar = at_round(self.power_scalar, turn.round)
        if self.schedule == "all":
            return Limit(scalar, np.full(world.devices, np.inf))
        slots = air_slots(symbols, world.subchannels, world.lanes)
        return Limit(scalar, allowed_energy(self.alpha, power_left(turn), slots))


@dataclass(frozen=True)
class DigitalPlan(Bounded):
    """Everyone who was invited speaks, digitally, with all of the remaining average power.

    allocate: shares the sub-channels out. schedule: who speaks; "power" is the same as "all" here.
    screen: who is kept of those who trained; None for all.
    """

    schedule: Schedule = "all"
    screen: Screen | None = None

    def __call__(self, turn: Turn, said: Said, fading: Fading) -> Plan:
        if said.symbols.shape[1] and len(said.bits) and not said.bits.any():
            raise BadInput("scheme.plan = 'digital': the codec's values cost no bits; use 'free'")
        reason = first_reasons(said, power_left(turn))
        keep(reason, self.screen, turn, said, fading)
        planner = Planner(turn, said, fading, self.allocate)
        return planner.plan(reason, self.schedule == "thrifty")


@dataclass(frozen=True)
class FreePlan:
    """Everyone who was invited is heard at no cost: the uncompressed, noiseless reference."""

    free: ClassVar[bool] = True  # no radio is used

    def __call__(self, turn: Turn, said: Said, fading: Fading) -> Plan:
        reason = first_reasons(said, np.ones(turn.world.devices))
        return lay_out(reason, silence(*fading.gain.shape), 0, None)


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

    def plan(self, reason: np.ndarray, thrifty: bool = False) -> Plan:
        """The plan for the devices whose reason is to be scheduled."""
        plan = self.affordable(reason)
        return self.fewer(plan) if thrifty else plan

    def affordable(self, reason: np.ndarray) -> Plan:
        """Allocate; drop who cannot be served or cannot afford it; until all can.

        A round whose slots do not fit into the budget is returned as it is, to be discarded.
        """
        turn, bits = self.turn, np.zeros(self.turn.world.devices)
        side = 0.0 if self.analog is None else self.analog.side
        bits[self.said.devices] = self.said.bits + side
        power, tells = power_left(turn), None if self.analog is None else self.analog.reporting
        while True:
            speaks = np.asarray(reason == Reason.SCHEDULED, dtype=bool)
            told = np.zeros_like(speaks) if tells is None else tells & ~speaks
            asked = np.where(told, side, bits)
            who = np.flatnonzero(speaks | told)
            division = divide(who, power, self.fading, asked, self.allocate)
            reason[division.dropped[speaks[division.dropped]]] = Reason.NO_CHANNEL
            plan = lay_out(reason, division, self.slots_air, self.analog)
            told &= plan.batch >= 0
            plan = plan if tells is None else replace(plan, reporting=told)
            over = (plan.active | told) & self.too_dear(plan, division)
            if turn.state.slots + plan.slots > turn.world.slots or not over.any():
                return plan
            reason[over & plan.active] = Reason.NO_ENERGY
            tells = None if tells is None else tells & ~(over & told)

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
        side=analog.side,
    )

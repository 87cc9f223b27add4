"""Algorithm 2: from what the devices would say and the sky to who speaks, where and how loud."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from airfeel.radio.power_budget import allowed_energy, power_left
from airfeel.radio.scheduling.planner import Analog, Bounded, Planner, first_reasons, keep, lay_out
from airfeel.radio.scheduling.power_constraint import Limit
from airfeel.radio.side_information import Norms, Strict, charged, numbers, reporters
from airfeel.radio.transmission.digital import silence
from airfeel.ranges import Each, about
from airfeel.segments import air_slots
from airfeel.types import BadInput, Fading, Plan, Reason, Said, Screen, Series, Turn, at_round

Schedule = Annotated[
    Literal["power", "thrifty", "all"],
    about(
        "who speaks: who can afford the air (power), of these fewer while more are heard per slot "
        "(thrifty), or everyone whatever it costs (all, for theory)"
    ),
]


@dataclass(frozen=True)
class HybridPlan(Bounded):
    """The power rule for the analog part, then sub-channels and powers for the digital part.

    Device n is scheduled iff P[g]_n ≤ α_n·P̄_{t,n}·U[g], and the round's energy fits into what is
    left of C·P̄_n. With α > 1 the latter is only known after the allocation: devices over it are
    dropped and the allocation is repeated. `thrifty` is explained at `Planner.fewer`. With `strict`
    each number that devices report for the screen, or for an invitation (`norms`), costs 32 bits,
    also of who is silent then. For the power rule a device needs to know no other's numbers.

    allocate: shares the sub-channels of the digital part out. screen: who is kept of those who
    trained, before the power rule; None for all.
    """

    power_scalar: Annotated[Series, about("σ_t, one number or one for each round")] = 5.0
    alpha: Annotated[Each, about("aggressiveness, one or one for each device")] = 1.0
    schedule: Schedule = "power"
    screen: Screen | None = None
    strict: Strict = False
    norms: Norms = False

    def __call__(self, turn: Turn, said: Said, fading: Fading) -> Plan:
        limit = self.limit(turn, said.symbols.shape[1])
        needed = np.full(turn.world.devices, np.nan)
        needed[said.devices] = limit.needed(said.energy, fading.air_gain2[said.devices])
        reason = first_reasons(said, power_left(turn))
        able = np.asarray(reason == Reason.SCHEDULED, dtype=bool)
        told = numbers(self.screen, turn, said, fading, able, able * int(self.norms))
        keep(reason, self.screen, turn, said, fading)
        reason[(reason == Reason.SCHEDULED) & ~limit.allows(needed)] = Reason.TOO_LOUD
        reason[(reason == Reason.SCHEDULED) & np.isinf(needed)] = Reason.NO_CHANNEL
        analog, tells = Analog(limit.scalar, needed, limit.budget), charged(self.strict, told)
        planner = Planner(turn, said, fading, self.allocate, analog, tells)
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

    With `strict` what devices report for the screen costs 32 bits, also of who is silent then.

    allocate: shares the sub-channels out. schedule: who speaks; "power" is the same as "all" here.
    screen: who is kept of those who trained; None for all.
    """

    schedule: Schedule = "all"
    screen: Screen | None = None
    strict: Strict = False

    def __call__(self, turn: Turn, said: Said, fading: Fading) -> Plan:
        if said.symbols.shape[1] and len(said.bits) and not said.bits.any():
            raise BadInput("scheme.plan = 'digital': the codec's values cost no bits; use 'free'")
        reason = first_reasons(said, power_left(turn))
        able = np.asarray(reason == Reason.SCHEDULED, dtype=bool)
        told = reporters(self.screen, turn, fading, able).astype(np.int64)
        keep(reason, self.screen, turn, said, fading)
        tells = charged(self.strict, told)
        planner = Planner(turn, said, fading, self.allocate, tells=tells)
        return planner.plan(reason, self.schedule == "thrifty")


@dataclass(frozen=True)
class FreePlan:
    """Everyone who was invited is heard at no cost: the uncompressed, noiseless reference."""

    free: ClassVar[bool] = True  # no radio is used

    def __call__(self, turn: Turn, said: Said, fading: Fading) -> Plan:
        reason = first_reasons(said, np.ones(turn.world.devices))
        return lay_out(reason, silence(*fading.gain.shape), 0, None)

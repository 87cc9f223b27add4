"""Algorithm 2: from what the devices would say and the sky to who speaks, where and how loud."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from airfeel.radio.air import air_slots, needed_energy
from airfeel.radio.digital import Division, divide, silence
from airfeel.radio.links import Allocator
from airfeel.radio.schedule import power_left
from airfeel.types import Fading, Payload, Plan, Reason, Schedule, State, World, at_round

_ROUNDING = 1.0 + 1e-12  # an energy that is equal but for rounding fits

_Analog = tuple[float, Float64[np.ndarray, "N"], Float64[np.ndarray, "N"]]  # σ_t, needed, budget


@dataclass(frozen=True)
class HybridPlan:
    """The power rule for the analog part, then sub-channels and powers for the digital part.

    Device n is scheduled iff P[g]_n ≤ α_n·P̄_{t,n}·U[g], and the round's energy fits into what is
    left of C·P̄_n. With α > 1 the latter is only known after the allocation: devices over it are
    dropped and the allocation is repeated. Without `power_rule` everyone is scheduled, whatever it
    costs (for theory); `thrifty` is explained at `fewer`.
    """

    allocate: Allocator
    power_scalar: Schedule = 5.0
    alpha: float | tuple[float, ...] = 1.0  # one, or one for each device
    power_rule: bool = True
    thrifty: bool = False

    def __call__(self, world: World, state: State, payload: Payload, fading: Fading) -> Plan:
        scalar = at_round(self.power_scalar, state.round + 1)
        power = power_left(world, state)
        slots_air = air_slots(len(payload.support), world.subchannels)
        needed = np.full(world.devices, np.nan)
        needed[payload.devices] = needed_energy(
            payload.energy, fading.gain2[payload.devices], scalar
        )
        budget = np.asarray(self.alpha) * power * slots_air
        if not self.power_rule:
            budget = np.full(world.devices, np.inf)
        reason = _first_reasons(payload, power)
        reason[(reason == Reason.SCHEDULED) & ~(needed <= budget)] = Reason.TOO_LOUD
        desk = _Desk(world, state, payload, fading, self.allocate, (scalar, needed, budget))
        return desk.plan(reason, self.thrifty)


@dataclass(frozen=True)
class DigitalPlan:
    """Everyone who was invited speaks, digitally, with all of the remaining average power."""

    allocate: Allocator
    thrifty: bool = False

    def __call__(self, world: World, state: State, payload: Payload, fading: Fading) -> Plan:
        reason = _first_reasons(payload, power_left(world, state))
        return _Desk(world, state, payload, fading, self.allocate, None).plan(reason, self.thrifty)


@dataclass(frozen=True)
class FreePlan:
    """Everyone who was invited is heard at no cost: the uncompressed, noiseless reference."""

    def __call__(self, world: World, state: State, payload: Payload, fading: Fading) -> Plan:
        reason = _first_reasons(payload, np.ones(world.devices))
        return _plan(reason, silence(*fading.gain.shape), 0, None)


def _first_reasons(payload: Payload, power: Float64[np.ndarray, "N"]) -> np.ndarray:
    """Who is out before anything is computed."""
    reason = np.full(len(power), Reason.NOT_INVITED, dtype=object)
    reason[payload.devices] = np.where(payload.finite, Reason.SCHEDULED, Reason.NOT_FINITE)
    reason[power <= 0.0] = Reason.NO_POWER
    return reason


@dataclass(frozen=True)
class _Desk:
    """What stays the same while a round is planned."""

    world: World
    state: State
    payload: Payload
    fading: Fading
    allocate: Allocator
    analog: _Analog | None

    def plan(self, reason: np.ndarray, thrifty: bool) -> Plan:
        plan = self.affordable(reason)
        return self.fewer(plan) if thrifty else plan

    def affordable(self, reason: np.ndarray) -> Plan:
        """Allocate; drop who cannot be served or cannot afford it; until all can.

        A round whose slots do not fit into the budget is returned as it is, to be discarded.
        """
        power = power_left(self.world, self.state)
        while True:
            active = np.flatnonzero(reason == Reason.SCHEDULED)
            division = divide(active, power, self.fading, self.payload.bits, self.allocate)
            reason[division.dropped] = Reason.NO_CHANNEL
            plan = _plan(reason, division, self.slots_air, self.analog)
            over = plan.active & self.too_dear(plan, division)
            if self.state.slots + plan.slots > self.world.slots or not over.any():
                return plan
            reason[over] = Reason.NO_ENERGY

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
        if self.analog is None:
            return 0
        return air_slots(len(self.payload.support), self.world.subchannels)

    def too_dear(self, plan: Plan, division: Division) -> Bool[np.ndarray, "N"]:
        """Whose round would take more energy than is left of C·P̄_n."""
        if np.isinf(self.world.slots):
            return np.zeros(self.world.devices, dtype=bool)
        energy = np.nan_to_num(plan.needed) + division.own_slots * division.power.sum(axis=1)
        limit = self.world.slots * self.world.power * _ROUNDING
        return np.asarray(self.state.spent + energy > limit)


def _plan(reason: np.ndarray, division: Division, slots_air: int, analog: _Analog | None) -> Plan:
    active = (reason == Reason.SCHEDULED).astype(bool)
    unknown = np.full(len(active), np.nan)
    scalar, needed, budget = analog or (0.0, unknown, unknown)
    return Plan(
        active=active,
        reason=tuple(Reason(r) for r in reason),
        batch=division.batch,
        owner=division.owner,
        power=division.power,
        rate=division.rate,
        slots_air=slots_air if active.any() else 0,
        slots_digital=division.slots,
        scalar=scalar,
        needed=needed,
        budget=budget,
        gap=division.gap,
    )

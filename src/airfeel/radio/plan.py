"""Algorithm 2: from what the devices would say and the sky to who speaks, where and how loud."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64

from airfeel.radio.air import air_slots, needed_energy
from airfeel.radio.allocate import Allocator
from airfeel.radio.digital import Division, divide, silence
from airfeel.radio.schedule import power_left
from airfeel.types import Fading, Payload, Plan, Reason, Schedule, State, World, at_round

_ROUNDING = 1.0 + 1e-12  # an energy that is equal but for rounding fits


@dataclass(frozen=True)
class HybridPlan:
    """The power rule for the analog part, then sub-channels and powers for the digital part.

    Device n is scheduled iff P[g]_n ≤ α_n·P̄_{t,n}·U[g], and the round's energy fits into what is
    left of C·P̄_n. With α > 1 the latter is only known after the allocation: devices over it are
    dropped and the allocation is repeated.
    """

    allocate: Allocator
    power_scalar: Schedule = 5.0
    alpha: float | tuple[float, ...] = 1.0  # one, or one for each device

    def __call__(self, world: World, state: State, payload: Payload, fading: Fading) -> Plan:
        scalar = at_round(self.power_scalar, state.round + 1)
        power = power_left(world, state)
        slots_air = air_slots(len(payload.support), world.subchannels)
        needed = np.full(world.devices, np.nan)
        needed[payload.devices] = needed_energy(
            payload.energy, fading.gain2[payload.devices], scalar
        )
        budget = np.asarray(self.alpha) * power * slots_air
        reason = _first_reasons(payload, power)
        reason[(reason == Reason.SCHEDULED) & ~(needed <= budget)] = Reason.TOO_LOUD
        return _fit(world, state, payload, fading, self.allocate, reason, (scalar, needed, budget))


@dataclass(frozen=True)
class DigitalPlan:
    """Everyone who was invited speaks, digitally, with all of the remaining average power."""

    allocate: Allocator

    def __call__(self, world: World, state: State, payload: Payload, fading: Fading) -> Plan:
        reason = _first_reasons(payload, power_left(world, state))
        return _fit(world, state, payload, fading, self.allocate, reason, None)


@dataclass(frozen=True)
class FreePlan:
    """Everyone who was invited is heard at no cost: the uncompressed, noiseless reference."""

    def __call__(self, world: World, state: State, payload: Payload, fading: Fading) -> Plan:
        reason = _first_reasons(payload, np.ones(world.devices))
        return _plan(reason, silence(*fading.gain.shape), 0, None)


_Analog = tuple[float, Float64[np.ndarray, "N"], Float64[np.ndarray, "N"]]


def _first_reasons(payload: Payload, power: Float64[np.ndarray, "N"]) -> np.ndarray:
    """Who is out before anything is computed."""
    reason = np.full(len(power), Reason.NOT_INVITED, dtype=object)
    reason[payload.devices] = np.where(payload.finite, Reason.SCHEDULED, Reason.NOT_FINITE)
    reason[power <= 0.0] = Reason.NO_POWER
    return reason


def _fit(
    world: World,
    state: State,
    payload: Payload,
    fading: Fading,
    allocate: Allocator,
    reason: np.ndarray,
    analog: _Analog | None,
) -> Plan:
    """Allocate; drop who cannot be served or cannot afford it; until all can.

    A round whose slots do not fit into the budget is returned as it is, to be discarded.
    """
    power = power_left(world, state)
    slots_air = air_slots(len(payload.support), world.subchannels) if analog else 0
    while True:
        active = reason == Reason.SCHEDULED
        division = divide(np.flatnonzero(active), power, fading, payload.bits, allocate)
        reason[division.dropped] = Reason.NO_CHANNEL
        active[division.dropped] = False
        plan = _plan(reason, division, slots_air, analog)
        over = active & _too_dear(world, state, plan, division)
        if state.slots + plan.slots > world.slots or not over.any():
            return plan
        reason[over] = Reason.NO_ENERGY


def _too_dear(world: World, state: State, plan: Plan, division: Division) -> Bool[np.ndarray, "N"]:
    """Whose round would take more energy than is left of C·P̄_n."""
    if np.isinf(world.slots):
        return np.zeros(world.devices, dtype=bool)
    energy = np.nan_to_num(plan.needed) + division.own_slots * division.power.sum(axis=1)
    return np.asarray(state.spent + energy > world.slots * world.power * _ROUNDING)


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
    )

"""THE round: a corridor of rooms, with one door in and one door out (Algorithm 1)."""

import dataclasses

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from airfeel.compress.parts import TopK
from airfeel.compress.quantize import UNQUANTISED
from airfeel.ledger import account, report_on
from airfeel.radio.schedule import fresh_policy, remember
from airfeel.types import Costs, Dice, Engine, Learn, Payload, Plan, Report, Scheme, State, World


def start(learn: Learn, world: World, streams: Dice, engine: Engine) -> State:
    """Round 0: one uncounted, noiseless, uncompressed round of all devices gives ĝ_0 and w_0."""
    theta = world.model.initial()
    nothing, nobody = torch.zeros(0, dtype=torch.int64), np.zeros(world.devices)
    blank = State(-1, theta, theta * 0, nothing, nobody, policy=fresh_policy(world.devices))
    everyone = np.ones(world.devices, dtype=bool)
    nothing_said = TopK(world.dim, 0, UNQUANTISED)  # the mean is of what the engine holds itself
    finite = engine.prepare(learn, nothing_said, blank, everyone, streams).finite
    update = engine.ideal(finite) if finite.any() else torch.zeros_like(theta)
    return dataclasses.replace(blank, round=0, theta=theta + update, update=update)


def play_round(
    scheme: Scheme,
    world: World,
    state: State,
    streams: Dice,
    engine: Engine,
    measure: bool = True,
) -> tuple[State, Report | None]:
    """One round; without a report, and with the state as it was, where its slots do not fit.

    `measure` asks for the distortion, which needs a pass over all scheduled devices' updates.
    """
    t = state.round + 1
    fading = scheme.fade(world, t, rng=streams.rng("fading", t))
    invited = scheme.invite(world, state, fading, rng=streams.rng("invite", t))
    payload = engine.prepare(scheme.learn, scheme.compress, state, invited, streams)
    plan = scheme.plan(world, state, payload, fading)
    if state.slots + plan.slots > world.slots:
        return state, None
    update = torch.zeros_like(state.theta)
    if plan.active.any():
        received = scheme.transmit(payload, fading, plan, rng=streams.rng("air", t))
        update = scheme.aggregate(received, world.dim)
    costs = account(payload, fading, plan)
    ideal = engine.ideal(plan.active) if measure and plan.active.any() else None
    report = report_on(state, fading, payload, plan, costs, update, ideal)
    after = _settle(state, plan, payload, costs, update)
    engine.commit(plan.active)
    return after, report


def _settle(
    state: State, plan: Plan, payload: Payload, costs: Costs, update: Float[Tensor, "D"]
) -> State:
    """The state after the round: the only place that makes one."""
    idle = not plan.active.any()
    return dataclasses.replace(
        state,
        round=state.round + 1,
        theta=state.theta + update,
        update=state.update if idle else update,
        support=payload.support,
        spent=state.spent + costs.energy,
        slots=state.slots + costs.slots,
        idle=state.idle + 1 if idle else 0,
        policy=remember(state.policy, plan),
    )

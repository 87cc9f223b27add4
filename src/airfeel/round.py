"""THE round: a corridor of rooms, with one door in and one door out (Algorithm 1)."""

import dataclasses

import numpy as np
import torch

from airfeel import carry, handed
from airfeel.compression.codecs import no_mask, silent
from airfeel.ledger import account, report_on
from airfeel.radio.transmission.weights import gather
from airfeel.types import (
    Delivery,
    Dice,
    Engine,
    Happened,
    Invited,
    Report,
    Scheme,
    State,
    Turn,
    World,
)


def start(scheme: Scheme, world: World, streams: Dice, engine: Engine) -> State:
    """Round 0: one uncounted, noiseless, uncompressed round of all devices gives ĝ_0 and w_0."""
    theta, everyone = world.model.initial(), np.ones(world.devices, dtype=bool)
    turn = Turn(world, State.bare(theta, world.devices), streams)
    said = engine.prepare(turn, scheme.learn, silent(world.dim), no_mask(turn), Invited(everyone))
    finite = np.isin(np.flatnonzero(everyone), said.devices[said.finite])
    update = engine.ideal(finite) if finite.any() else torch.zeros_like(theta)
    state = dataclasses.replace(turn.state, round=0, theta=theta + update, update=update)
    return dataclasses.replace(state, carry=carry.begin(scheme, Turn(world, state, streams)))


def play_round(
    scheme: Scheme, turn: Turn, engine: Engine, measure: bool = True
) -> tuple[State, Report | None]:
    """One round; without a report, and with the state as it was, where its slots do not fit.

    `measure` asks for the distortion, which needs a pass over all scheduled devices' updates.
    """
    state, codec = turn.state, scheme.codec
    fading = handed.sky(turn, scheme.fade)
    invited = handed.guests(turn, scheme.invite, fading)
    agreed = handed.call(turn, "codec", codec.agree)
    said = gather(turn, codec, engine.prepare(turn, scheme.learn, codec, agreed, invited))
    plan = handed.call(turn, "plan", scheme.plan, said, fading)
    received, delivery = None, Delivery(plan.active)
    if plan.active.any():
        received, delivery = handed.call(turn, "transmit", scheme.transmit, said, fading, plan)
    costs = account(scheme.meters, turn, said, fading, plan, delivery)
    if state.slots + costs.slots > turn.world.slots:
        return state, None
    idle = received is None or delivery.idle(said)
    decoded, moved = None, torch.zeros_like(state.theta)
    if received is not None and not idle:
        decoded = handed.call(turn, "codec", codec.decode, said.agreed, received)
        moved = handed.call(turn, "step", scheme.step, decoded)
    ideal = engine.ideal(plan.active) if measure and plan.active.any() else None
    all_ = Happened(fading, invited, said, plan, delivery, costs, idle, received, decoded, moved)
    report, after = report_on(turn, all_, codec.columns, ideal), settle(turn, all_)
    engine.commit(delivery)
    return after, report


def settle(turn: Turn, happened: Happened) -> State:
    """The state after the round: the only place that makes one."""
    state, costs = turn.state, happened.costs
    return State(
        round=turn.round,
        theta=state.theta + happened.moved,
        update=state.update if happened.idle else happened.moved,
        support=happened.said.agreed.support,
        spent=state.spent + costs.energy,
        slots=state.slots + costs.slots,
        idle=state.idle + 1 if happened.idle else 0,
        carry=carry.advance(turn, happened),
    )

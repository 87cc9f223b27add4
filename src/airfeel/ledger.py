"""The books: every cost of a round, recomputed from Fading and Plan."""

import numpy as np
from jaxtyping import Float
from torch import Tensor

from airfeel.compress.masks import overlap
from airfeel.radio.air import air_slots, needed_energy, segment_energy
from airfeel.radio.power import rates
from airfeel.types import Costs, Fading, Payload, Plan, Report, State


def account(payload: Payload, fading: Fading, plan: Plan) -> Costs:
    """Slots, bits and energy of one round.

    A scheduled device spends P[g]_n in the air and its own U[l]_n slots times its digital power,
    U[l]_n = ⌈Q/R_n⌉; batches follow each other, within a batch the slowest sets the time.
    """
    n, m = fading.gain.shape
    energy, own = np.zeros(n), np.zeros(n)
    spoken = plan.active[payload.devices]
    who = payload.devices[spoken]
    if plan.scalar > 0.0:
        energy[who] = needed_energy(payload.energy[spoken], fading.gain2[who], plan.scalar)
    talking = plan.batch >= 0
    own[talking] = np.ceil(
        payload.bits / rates(plan.power[talking], fading.gain2[talking], fading.noise)
    )
    energy += own * plan.power.sum(axis=1)
    digital = sum(int(own[plan.batch == g].max(initial=0)) for g in range(len(plan.owner)))
    analog = plan.scalar > 0.0 and len(who) > 0
    return Costs(
        slots_air=air_slots(len(payload.support), m) if analog else 0,
        slots_digital=digital,
        bits=payload.bits * len(who),
        energy=energy,
    )


def report_on(
    state: State,
    fading: Fading,
    payload: Payload,
    plan: Plan,
    costs: Costs,
    update: Float[Tensor, "D"],
    ideal: Float[Tensor, "D"] | None,
) -> Report:
    """The round after `state` as the books see it; `ideal` is the mean that no channel touched."""
    loss = payload.loss[payload.finite]
    return Report(
        round=state.round + 1,
        fading=fading,
        plan=plan,
        costs=costs,
        update_norm=_energy(update) ** 0.5,
        distortion=float("nan")
        if ideal is None
        else _ratio(_energy(update - ideal), _energy(ideal)),
        mask_overlap=overlap(payload.support, state.support),
        train_loss=float(loss.mean()) if len(loss) else float("nan"),
    )


def _energy(x: Float[Tensor, "D"]) -> float:
    """‖x‖² in float64."""
    return float(segment_energy(x, 1)[0])


def _ratio(error: float, signal: float) -> float:
    return error / signal if signal > 0.0 else float("nan")

"""What the base station holds after the uplink, and what of it devices know to have arrived."""

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from airfeel.radio.power import rates
from airfeel.types import Delivery, Fading, Plan, Received, Said

_ROUNDING = 1.0 - 1e-12  # a rate that is met but for rounding is met


def arrivals(said: Said, fading: Fading, plan: Plan) -> Bool[np.ndarray, "n"] | None:
    """Whose packet arrives: where the rate fits the channel that it meets. None: everybody's."""
    if fading.truth is None:
        return None
    who = said.devices
    bearable = rates(plan.power[who], np.square(fading.truth[who]), fading.noise)
    return np.asarray((plan.batch[who] < 0) | (bearable >= plan.rate[who] * _ROUNDING))


def deliver(said: Said, plan: Plan, arrived: Bool[np.ndarray, "n"] | None) -> Delivery:
    """What arrived of an analog common part and of digital packets."""
    sent = plan.sent
    return Delivery(plan.active, None if sent is None else sent[said.devices], arrived)


def receive(
    said: Said,
    plan: Plan,
    signal: Float[Tensor, "S"],
    arrived: Bool[np.ndarray, "n"] | None = None,
    noise: float = 0.0,
    count: int | None = None,
) -> Received:
    """The sum of the symbols, and the own entries of those whose packet arrived."""
    spoken = plan.active[said.devices]
    packets = spoken if arrived is None else spoken & arrived
    index, value = said.index, said.value
    if not packets.all():
        rows = torch.from_numpy(np.flatnonzero(packets)).to(index.device)
        index, value = index[rows], value[rows]
    return Received(
        speakers=said.devices[spoken],
        devices=said.devices[packets],
        signal=signal,
        index=index,
        value=value,
        count=int(spoken.sum()) if count is None else count,
        heard=plan.heard[plan.active].sum(axis=0),
        noise=noise,
    )

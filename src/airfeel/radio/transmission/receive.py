"""What the base station holds after the uplink, and what of it devices know to have arrived."""

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from airfeel.radio.impairments.front_end import share
from airfeel.radio.impairments.packets import attempts
from airfeel.types import Delivery, Fading, Plan, Received, Said


def arrivals(said: Said, fading: Fading, plan: Plan) -> Bool[np.ndarray, "n"] | None:
    """Whose packet arrives, see `attempts`; who has none cannot lose it. None: everybody's.

    Args:
        said: names the n devices.
        fading: true gains [N M], if they differ from the believed ones, and noise σ0² [W].
        plan: digital powers [N M] in W, rates [N] in bits/slot and batches [N].
    """
    if fading.truth is None:
        return None
    lost = attempts(fading, plan)[1][said.devices]
    return ~lost if lost.any() else None


def deliver(
    said: Said,
    plan: Plan,
    arrived: Bool[np.ndarray, "n"] | None,
    fading: Fading | None = None,
) -> Delivery:
    """What arrived of an analog common part and of digital packets.

    Args:
        said: symbols of the n devices.
        plan: who speaks [N], and which share of each segment is sent [N M].
        arrived: whose packet did, see `arrivals`; None for everybody's.
        fading: where peaks of power clip what devices send.
    """
    sent = plan.sent
    part = None if sent is None else sent[said.devices]
    return Delivery(plan.active, part if fading is None else share(said, fading, plan), arrived)


def receive(
    said: Said,
    plan: Plan,
    signal: Float[Tensor, "S"],
    arrived: Bool[np.ndarray, "n"] | None = None,
    noise: float = 0.0,
    digital: bool = False,
) -> Received:
    """The sum of the symbols, and the own entries of those whose packet arrived.

    Args:
        said: the own entries [n L] of the n devices.
        plan: who speaks [N], and who is heard on which sub-channel [N M].
        signal: sum of the symbols, in the model's unit: divided by σ_t where it came by air.
        arrived: whose packet did, see `arrivals`; None for everybody's.
        noise: variance of one entry of the signal, in its unit squared.
        digital: whether the symbols came in packets too: then only those that arrived count.
    """
    spoken = plan.active[said.devices]
    packets = spoken if arrived is None else spoken & arrived
    index, value = said.index, said.value
    if not packets.all():
        rows = torch.from_numpy(np.flatnonzero(packets)).to(index.device)
        index, value = index[rows], value[rows]
    counting = packets if digital else spoken
    heard = plan.heard[plan.active].sum(axis=0)
    count: float = int(counting.sum())
    if said.weight is not None:
        count = float(said.weight[counting].sum())
        heard = said.weight[spoken] @ plan.heard[said.devices[spoken]]
    return Received(
        speakers=said.devices[spoken],
        devices=said.devices[packets],
        signal=signal,
        index=index,
        value=value,
        count=count,
        heard=np.full(plan.power.shape[1], count) if digital else heard,
        noise=noise,
        lanes=said.lanes,
    )

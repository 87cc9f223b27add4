"""The digital phase: orthogonal sub-channels, one owner each, rates and slots."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float64, Int, Int64

from airfeel.radio.allocation.links import Allocation, Allocator, Links
from airfeel.radio.allocation.matching import bottleneck_matching
from airfeel.radio.allocation.power import needed_slots, single_rates
from airfeel.radio.impairments.packets import chosen_rates
from airfeel.radio.transmission.receive import arrivals, receive
from airfeel.types import BadInput, Delivery, Fading, Plan, Received, Said, Turn

_USABLE = 1e-290  # bits/slot; below it a number of slots would not be finite


@dataclass(frozen=True)
class Division:
    """Sub-channels, powers and rates of the devices that speak digitally."""

    batch: Int[np.ndarray, "N"]  # of each device, -1 for none
    owner: Int[np.ndarray, "G M"]  # device that owns each sub-channel in each batch, -1 for none
    power: Float64[np.ndarray, "N M"]  # [W]
    rate: Float64[np.ndarray, "N"]  # R_n [bits/slot]
    own_slots: Float64[np.ndarray, "N"]  # U[l]_n
    slots: int  # U[l], of all batches
    dropped: Int64[np.ndarray, "_"]  # devices without a usable channel
    gap: float = float("nan")  # the largest of the batches; NaN where the allocator proves none


def divide(
    devices: Int64[np.ndarray, "k"],
    power: Float64[np.ndarray, "N"],
    fading: Fading,
    bits: Float64[np.ndarray, "N"],
    allocate: Allocator,
) -> Division:
    """Share the sub-channels among `devices` (Algorithm 2): owners, powers, rates and slots.

    More devices than sub-channels speak in batches of M, strongest (by max_m r_{n,m}) first, lower
    index first among equals; each batch has all sub-channels, and their slots add up. Who has
    nothing to send does not take part.

    Args:
        devices: ids of those who speak.
        power: of all N devices [W].
        fading: gains |h| [N M] as they are believed, and noise [W].
        bits: that each of all N devices has to send.
        allocate: shares the sub-channels of one batch out.

    >>> from airfeel.radio.allocation.allocators.plain import RoundRobin
    >>> sky, power, bits = Fading(np.ones((2, 2)), 1.0), np.array([1.0, 3.0]), np.full(2, 6.0)
    >>> d = divide(np.array([0, 1]), power, sky, bits, RoundRobin())
    >>> d.owner.tolist(), d.rate.tolist(), d.own_slots.tolist(), d.slots
    ([[0, 1]], [1.0, 2.0], [6.0, 3.0], 6)
    """
    n, m = fading.gain.shape
    devices = devices[bits[devices] > 0]
    if len(devices) == 0:
        return silence(n, m)
    batch, rate, own = np.full(n, -1), np.zeros(n), np.zeros(n)
    amount, slots, gap = np.zeros((n, m)), 0, 0.0
    owners: list[Int[np.ndarray, "M"]] = []
    best = single_rates(power, fading.gain2, fading.floor).max(axis=1)
    order = devices[np.argsort(-best[devices], kind="stable")]
    able, dropped = order[best[order] > _USABLE], order[best[order] <= _USABLE].tolist()
    for start in range(0, len(able), m):
        group = np.sort(able[start : start + m])
        team, allocation = _allocate_batch(group, best, power, fading, bits, allocate)
        dropped += np.setdiff1d(group, team).tolist()
        if allocation is None:
            continue
        batch[team], amount[team] = len(owners), allocation.power
        owners.append(np.where(allocation.owner >= 0, team[allocation.owner], -1))
        rate[team] = chosen_rates(allocation.power, fading, team)
        own[team] = needed_slots(rate[team], bits[team])
        slots += int(own[team].max())
        gap = float(np.maximum(gap, np.nan if allocation.gap is None else allocation.gap))
    owned = np.array(owners, dtype=np.int64).reshape(-1, m)
    out = np.array(sorted(dropped), dtype=np.int64)
    return Division(batch, owned, amount, rate, own, slots, out, gap)


def in_turn(first: Division, then: Division) -> Division:
    """Two divisions of different devices, the batches of one after those of the other.

    Args:
        first, then: each with all sub-channels.

    >>> from airfeel.radio.allocation.allocators.plain import RoundRobin
    >>> sky, power, bits = Fading(np.ones((2, 2)), 1.0), np.array([1.0, 3.0]), np.full(2, 6.0)
    >>> one, other = (divide(np.array([n]), power, sky, bits, RoundRobin()) for n in (0, 1))
    >>> d = in_turn(one, other)
    >>> d.batch.tolist(), d.owner.tolist(), d.slots == one.slots + other.slots
    ([0, 1], [[0, 0], [1, 1]], True)
    """
    gaps = [d.gap for d in (first, then) if len(d.owner)]
    return Division(
        batch=np.where(then.batch >= 0, then.batch + len(first.owner), first.batch),
        owner=np.concatenate([first.owner, then.owner]),
        power=first.power + then.power,
        rate=first.rate + then.rate,
        own_slots=first.own_slots + then.own_slots,
        slots=first.slots + then.slots,
        dropped=np.sort(np.concatenate([first.dropped, then.dropped])),
        gap=float(np.max(gaps)) if gaps else float("nan"),
    )


def silence(devices: int, subchannels: int) -> Division:
    """Nobody speaks digitally.

    Args:
        devices: N.
        subchannels: M.

    >>> silence(2, 3).owner.shape, silence(2, 3).slots
    ((0, 3), 0)
    """
    return Division(
        batch=np.full(devices, -1),
        owner=np.zeros((0, subchannels), dtype=np.int64),
        power=np.zeros((devices, subchannels)),
        rate=np.zeros(devices),
        own_slots=np.zeros(devices),
        slots=0,
        dropped=np.zeros(0, dtype=np.int64),
    )


def _allocate_batch(
    team: Int64[np.ndarray, "k"],
    best: Float64[np.ndarray, "N"],
    power: Float64[np.ndarray, "N"],
    fading: Fading,
    bits: Float64[np.ndarray, "N"],
    allocate: Allocator,
) -> tuple[Int64[np.ndarray, "n"], Allocation | None]:
    """Steps 3–5 of the allocation for at most M devices; who can reach no usable rate is left out.

    The device of lowest max_m r goes first (ties: the higher index), one at a time.
    """
    single = single_rates(power, fading.gain2, fading.floor)
    while len(team):
        if _all_reachable(single[team]):
            links = Links(power[team], fading.gain2[team], fading.floor, bits[team])
            allocation = allocate(links)
            if (chosen_rates(allocation.power, fading, team) > _USABLE).all():
                return team, allocation
        weakest = len(team) - 1 - int(np.argmin(best[team][::-1]))
        team = np.delete(team, weakest)
    return team, None


def _all_reachable(rate: Float64[np.ndarray, "k M"]) -> bool:
    """Whether every device can have a usable sub-channel of its own."""
    if (rate > _USABLE).all():
        return True
    column = bottleneck_matching(rate)
    return bool((rate[np.arange(len(rate)), column] > _USABLE).all())


@dataclass(frozen=True)
class Orthogonal:
    """Both parts arrive digitally: without error, or not at all where a packet is lost."""

    air: ClassVar[bool] = False  # whether values are summed in the air

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, plan: Plan
    ) -> tuple[Received, Delivery]:
        if plan.scalar > 0.0:
            raise BadInput(
                "scheme.transmit = 'digital': the plan puts values on the air; use 'hybrid'"
            )
        arrived = arrivals(said, fading, plan)
        spoken = plan.active[said.devices]
        packets = spoken if arrived is None else spoken & arrived
        total = said.symbols.new_zeros(said.symbols.shape[1])
        for row in said.symbols[torch.from_numpy(packets)]:
            total += row
        share = (
            None
            if arrived is None
            else np.repeat(arrived[:, None].astype(np.float64), turn.world.subchannels, axis=1)
        )
        delivery = Delivery(plan.active, share, arrived)
        return receive(said, plan, total, arrived, digital=True), delivery

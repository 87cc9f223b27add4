"""Capacity first: a fixed digital phase, and what each device may send in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float64

from airfeel.bits import place_bits
from airfeel.radio.allocation.allocators.paper import Paper
from airfeel.radio.allocation.links import Allocator, Links
from airfeel.radio.impairments.packets import chosen_rates
from airfeel.radio.power_budget import power_left
from airfeel.radio.selection.device_selection import capacity, lowest
from airfeel.radio.side_information import REAL_BITS
from airfeel.radio.transmission.digital import Division, divide
from airfeel.ranges import Count, Whole, about
from airfeel.types import (
    BadInput,
    Fade,
    Fading,
    Happened,
    Invite,
    Invited,
    Link,
    Turn,
)

_MEAN_BITS = 33  # a mean and its sign

Window = Annotated[Count, about("slots of the digital phase of every round")]
Entries = Annotated[
    Literal["equal", "norm"],
    about("sub-channels in parallel and equal slots, or in turn with bits as the last norms"),
]


def most_entries(dim: int, bits: float, own_values: bool = False) -> int:
    """max{q ≤ D/2 : log2 C(D, q) + 33 ≤ bits}, 0 where there is none (Amiri, Gündüz 2020).

    Args:
        dim: D.
        bits: B, that may be sent.
        own_values: whether each entry has 33 bits of its own, in place of one mean for all.

    >>> most_entries(7850, 3925 / 50 * np.log2(1 + 25 * 500 / 3925)), most_entries(100, 20.0)
    (12, 0)
    """
    low, high = 0, dim // 2
    while low < high:
        q = (low + high + 1) // 2
        cost = place_bits(dim, q) + _MEAN_BITS * (q if own_values else 1)
        low, high = (q, high) if cost <= bits else (low, q - 1)
    return low


@dataclass(frozen=True)
class Shared:
    """How a digital phase is shared out before anybody has trained."""

    division: Division  # sub-channels, powers and rates
    room: Float64[np.ndarray, "N"]  # slots that each device may use
    slots: int  # of the whole phase

    @property
    def bits(self) -> Float64[np.ndarray, "N"]:
        """B_n = R_n times the slots that device n may use [bits]."""
        return self.division.rate * self.room


def share_out(
    turn: Turn,
    fading: Fading,
    who: Bool[np.ndarray, "N"],
    allocate: Allocator,
    window: int,
    entries: str = "equal",
) -> Shared:
    """Sub-channels, powers and slots of some devices in a phase of `window` slots.

    "equal": sub-channels by Algorithm 2 for equally many bits, the same slots for all; batches
    share the window evenly. "norm": one device after the other on all sub-channels, for
    U_n = ⌈U·(‖x_n‖/R_n)/Σ_j(‖x_j‖/R_j)⌉ slots, so that bits are as the norms of the devices' last
    training (arXiv:2001.10402); rounding up may make the phase longer by a slot per device.

    Args:
        turn: the round; knows P̄_{t,n} and, for norms, what `Granted` publishes as `norm`.
        fading: the sky, as it is believed.
        who: devices that are invited.
        allocate: shares the sub-channels out.
        window: U, slots of the phase.
        entries: "equal" or "norm".
    """
    if entries == "norm":
        division = alone(turn, fading, who)
        norm = turn.published("norm")
        if norm is None:
            raise BadInput("entries = 'norm': needs an invitation that publishes `norm` (Granted)")
        room = by_norms(np.asarray(norm), division.rate, window)
        return Shared(division, room, int(room.sum()))
    division = divide(np.flatnonzero(who), power_left(turn), fading, np.ones(len(who)), allocate)
    each = window // max(len(division.owner), 1)
    return Shared(division, np.full(len(who), float(each)), window)


def alone(turn: Turn, fading: Fading, who: Bool[np.ndarray, "N"]) -> Division:
    """Each device in a batch of its own: all sub-channels, water-filled with P̄_{t,n}.

    Args:
        turn: the round.
        fading: the sky, as it is believed.
        who: devices that speak.
    """
    (n, m), power = fading.gain.shape, power_left(turn)
    devices, batch = np.flatnonzero(who), np.full(n, -1)
    batch[devices] = np.arange(len(devices))
    owner = np.repeat(devices[:, None], m, axis=1)
    amount, rate = np.zeros((n, m)), np.zeros(n)
    for device in devices:
        links = Links(power[[device]], fading.gain2[[device]], fading.floor, np.ones(1))
        amount[device] = links.water_filling(np.zeros(m, dtype=np.int64))[0]
    rate[devices] = chosen_rates(amount[devices], fading, devices)
    dropped = devices[rate[devices] <= 0.0]
    return Division(batch, owner, amount, rate, np.zeros(n), 0, dropped)


def by_norms(
    norm: Float64[np.ndarray, "N"], rate: Float64[np.ndarray, "N"], window: int
) -> Float64[np.ndarray, "N"]:
    """U_n = ⌈U·(‖x_n‖/R_n)/Σ_j(‖x_j‖/R_j)⌉ over those with a rate; an unknown norm is the mean.

    Args:
        norm: of each device; NaN: unknown.
        rate: R [bits/slot]; who has none gets nothing.
        window: U, slots.

    >>> by_norms(np.array([2.0, 1.0, np.nan]), np.array([1.0, 1.0, 0.0]), 9)
    array([6., 3., 0.])
    """
    known = norm[~np.isnan(norm)]
    filled = np.where(np.isnan(norm), known.mean() if len(known) else 1.0, norm)
    filled = filled if filled[rate > 0.0].any() else np.ones(len(norm))
    weight = np.divide(filled, rate, out=np.zeros(len(norm)), where=rate > 0.0)
    return np.ceil(window * weight / weight.sum()) if weight.any() else weight


@dataclass(frozen=True)
class Granted:
    """Tells each invited device how many entries the round's digital phase has room for.

    Under strict accounting a packet also has room for the numbers that are `told`, 32 bits each:
    ‖x‖₂ for grants by norm, or what a screen ranks by.

    dim: d. invite: who is asked. allocate: shares the sub-channels out, as the plan does.

    Carried, with `entries` = "norm": `norm` [N], ‖x‖₂ of each device's last training, as it was
    told, whether anybody was heard then or not; NaN: unknown.
    """

    invite: Invite
    dim: Annotated[Count, about("d, numbers in the model")]
    window: Window
    best: Annotated[bool, about("invite the one of largest capacity alone")] = False
    allocate: Allocator = field(default_factory=Paper)
    entries: Entries = "equal"
    told: Annotated[Whole, about("numbers of 32 bits that each packet carries beside")] = 0
    grants: ClassVar[bool] = True  # another invitation takes the place of the one within
    publishes: ClassVar[tuple[str, ...]] = ("norm",)  # the plan shares the phase out once more

    def __call__(self, turn: Turn, fading: Fading) -> Invited:
        who = self.invite(turn, fading).who
        if self.best:
            power = power_left(turn)
            who = lowest(-capacity(power, fading), 1, np.where(who, power, 0.0))
        bits = share_out(turn, fading, who, self.allocate, self.window, self.entries).bits
        room = bits - REAL_BITS * self.told
        return Invited(who, np.array([float(most_entries(self.dim, b)) for b in room]))

    def begin(self, turn: Turn) -> Mapping[str, np.ndarray]:
        """Nobody has trained."""
        return {"norm": np.full(turn.world.devices, np.nan)} if self.entries == "norm" else {}

    def advance(self, turn: Turn, happened: Happened) -> Mapping[str, np.ndarray]:
        """Norms of all who trained and told them."""
        if self.entries != "norm":
            return {}
        norm, said = np.array(turn.state_of(self)["norm"]), happened.said
        known = said.finite & happened.plan.told[said.devices]
        if said.norm is not None:
            norm[said.devices[known]] = said.norm[known]
        return {"norm": norm}


@dataclass(frozen=True)
class Reach:
    """Adds a column to the grants: entries that a device could send alone, 33 bits for each.

    q = max{q : log2 C(D, q) + 33·q ≤ U·R_n}, for screens that rank by what devices could say.

    invite: who is asked. dim: d.
    """

    invite: Invite
    dim: Annotated[Count, about("d, numbers in the model")]
    window: Window
    grants: ClassVar[bool] = True  # as above

    def __call__(self, turn: Turn, fading: Fading) -> Invited:
        invited = self.invite(turn, fading)
        bits = self.window * alone(turn, fading, invited.who).rate
        reach = [float(most_entries(self.dim, b, own_values=True)) for b in bits]
        before = () if invited.grant is None else (invited.grant,)
        return Invited(invited.who, np.column_stack([*before, reach]))


@dataclass(frozen=True)
class RealRates:
    """One quadrature carries bits: ½·log2(1 + SNR) per sub-channel and slot.

    fade: the sky.
    """

    fade: Fade

    def __call__(self, turn: Turn) -> Fading:
        fading = self.fade(turn)
        return replace(fading, link=replace(fading.link or Link(), quadratures=1))

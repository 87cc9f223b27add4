"""Energy-aware dynamic scheduling: who is worth its energy, by a virtual queue for each device."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float64

from airfeel.radio.energy import needed_energy
from airfeel.radio.power_budget import power_left
from airfeel.radio.scheduling.planner import Analog, Bounded, Planner, first_reasons
from airfeel.radio.side_information import Strict, charged
from airfeel.ranges import NotNegative, Positive, about
from airfeel.segments import air_slots
from airfeel.types import Fading, Happened, Invited, Plan, Reason, Said, Series, Turn, at_round

Weight = Annotated[Positive, about("V, what hearing devices is worth beside energy")]
Objective = Annotated[
    Literal["bound", "count"],
    about("what hearing k devices saves: the bound a/k + b/k², or the same for each (ICC 2020)"),
]
Constants = Annotated[
    Literal["equal", "measured"],
    about("a and b of the bound: both 1, or of the norms and the noise of late rounds"),
]
WEIGHT = 100.0  # among 20 devices the eleventh is worth 1.1


def worth_hearing(
    price: Float64[np.ndarray, "N"],
    able: Bool[np.ndarray, "N"],
    weight: float,
    objective: str = "bound",
    bound: tuple[float, float] = (1.0, 1.0),
) -> Bool[np.ndarray, "N"]:
    """The set S that minimises V·f(|S|) + Σ_{n∈S} price_n, f(k) = a/k + b/k², f(0) = ∞.

    Sun, Zhou, Niu, Gündüz 2022 (arXiv:2106.00490), drift plus penalty; a = b = 1 is this project's
    choice, see `measured_bound` for another. The optimum is a prefix of the devices in order of
    price (ties: lower index); among equally good ones the longest. With objective "count" all of
    price ≤ V are taken.

    Args:
        price: q_n·Ê_n/A_n, what a device's energy costs.
        able: who can be heard at all.
        weight: V.
        objective: "bound" or "count".
        bound: a and b.

    >>> worth_hearing(np.array([0.0, 50.0, 900.0]), np.ones(3, dtype=bool), 100.0).tolist()
    [True, True, False]
    """
    if objective == "count":
        return able & (price <= weight)
    order = np.argsort(np.where(able, price, np.inf), kind="stable")[: int(able.sum())]
    chosen = np.zeros(len(price), dtype=bool)
    if len(order):
        k = np.arange(1, len(order) + 1)
        a, b = bound
        total = weight * (a / k + b / k**2) + np.cumsum(price[order])
        chosen[order[: len(total) - int(np.argmin(total[::-1]))]] = True
    return chosen


def measured_bound(
    norm2: Float64[np.ndarray, "_"], symbols: int, noise: float, scalar: float
) -> tuple[float, float]:
    """a = mean ‖analog part‖² and b = K·σ0²/σ_t², both over a + b; 1 and 1 where nothing is known.

    Args:
        norm2: squared norms of analog parts.
        symbols: K.
        noise: σ0² [W].
        scalar: σ_t.

    >>> measured_bound(np.array([2.0, 4.0]), 10, 0.4, 2.0)
    (0.75, 0.25)
    """
    a = float(norm2.mean()) if len(norm2) else 0.0
    b = symbols * noise / scalar**2 if scalar > 0.0 else 0.0
    whole = a + b
    return (a / whole, b / whole) if 0.0 < whole < np.inf else (1.0, 1.0)


def queue_after(
    queue: Float64[np.ndarray, "N"],
    energy: Float64[np.ndarray, "N"],
    allowance: Float64[np.ndarray, "N"],
) -> Float64[np.ndarray, "N"]:
    """q ← [q + E/A − 1]⁺: energy spent above the allowance so far, in rounds.

    Args:
        queue: q, before the round.
        energy: E, spent in the round [W·slots].
        allowance: A = P̄·U, what a round may take in the mean [W·slots].

    >>> queue_after(np.array([0.0, 2.0]), np.array([3.0, 0.0]), np.array([2.0, 2.0]))
    array([0.5, 1. ])
    """
    return np.maximum(queue + energy / allowance - 1.0, 0.0)


def _paid(fading: Fading) -> Float64[np.ndarray, "N M"]:
    """1/|h|² of the air, what inversion costs; 0 where a device is silent."""
    inverse = 1.0 / fading.air_gain2
    return inverse if fading.silent is None else np.where(fading.silent, 0.0, inverse)


@dataclass(frozen=True)
class EnergyQueue:
    """Invites who is worth its energy, before anybody trains (arXiv:2106.00490).

    Ê_n = σ_t²·(‖analog part‖²/M)·Σ_m 1/|h|², with the norm of n's last training (never
    trained: the mean of those known; none known: everyone is invited). Sub-channels on which n will
    be silent cost nothing; who meets a zero gain on another is out. The set is that of
    `worth_hearing` at q_n·Ê_n/A_n, A_n = P̄_n·U of the last air phase; the queue counts no packets.
    Whoever was invited speaks: scheme.schedule is "all" beside it unless it is given. With
    `compute` everyone who trains spends that, too: it enters Ê_n and the queue, and the books by a
    meter of its own. Everyone who trains reports the norm: 32 bits under strict accounting.

    Carried: `queue` [N], 0 at first; `norm` [N], squared, as each last told it; NaN: never; `span`,
    U of the last air phase; with measured constants `symbols`, K of the last round. An idle round
    leaves `queue` and `span`; norms are of the last training, whether anybody was heard or not.
    """

    power_scalar: Annotated[Series, about("σ_t, one number or one for each round")] = 5.0
    weight: Weight = WEIGHT
    objective: Objective = "bound"
    constants: Constants = "equal"
    compute: Annotated[NotNegative, about("energy of a device's training per round", "W·slots")] = (
        0.0
    )
    asks: ClassVar[str] = "energy"  # what devices must tell of their symbols

    def __call__(self, turn: Turn, fading: Fading) -> Invited:
        carry, able = turn.state_of(self), power_left(turn) > 0.0
        norm2 = np.asarray(carry["norm"])
        if np.isnan(norm2).all():
            return Invited(able)
        known = norm2[~np.isnan(norm2)]
        norm2 = np.where(np.isnan(norm2), known.mean(), norm2)
        scalar = at_round(self.power_scalar, turn.round)
        with np.errstate(divide="ignore", invalid="ignore"):  # who meets a zero gain is out
            inverse = _paid(fading).mean(axis=1)
            energy = self.compute + scalar**2 * norm2 * inverse
            price = carry["queue"] * energy / (turn.world.power * float(carry["span"]))
        met = able & np.isfinite(energy)
        price = np.where(met, price, 0.0)
        bound = 1.0, 1.0
        if self.constants == "measured":
            bound = measured_bound(known, int(carry["symbols"]), fading.noise, scalar)
        return Invited(worth_hearing(price, met, self.weight, self.objective, bound))

    def begin(self, turn: Turn) -> Mapping[str, np.ndarray]:
        """Nobody owes anything, and nobody has trained."""
        n = turn.world.devices
        begun = {"queue": np.zeros(n), "norm": np.full(n, np.nan), "span": np.array(1.0)}
        return begun | self._counted(0)

    def advance(self, turn: Turn, happened: Happened) -> Mapping[str, np.ndarray]:
        """Queues after a round that was not idle; norms of all who trained and told them."""
        carry, said, plan = turn.state_of(self), happened.said, happened.plan
        norm, known = np.array(carry["norm"]), said.finite & plan.told[said.devices]
        norm[said.devices[known]] = said.energy[known].sum(axis=1)
        queue, span = np.asarray(carry["queue"]), np.asarray(carry["span"])
        if not happened.idle and plan.slots_air:
            span = np.array(float(plan.slots_air))
            energy = np.where(plan.active, plan.needed, 0.0) + self.compute * happened.invited.who
            queue = queue_after(queue, energy, turn.world.power * span)
        return {"queue": queue, "norm": norm, "span": span} | self._counted(said.symbols.shape[1])

    def _counted(self, symbols: int) -> dict[str, np.ndarray]:
        """K, where the bound is measured."""
        return {"symbols": np.array(symbols)} if self.constants == "measured" else {}


@dataclass(frozen=True)
class Drift(Bounded):
    """Who is worth its energy speaks, of all who trained: the choice that TCS-H leaves open.

    E_n = P[g]_n is known exactly after training; the set is that of `worth_hearing` at q_n·E_n/A_n,
    A_n = P̄_n·U[g] (arXiv:2106.00490). Nobody has a budget per round: the queue sees to the mean,
    (1/T)·Σ E_n ≤ A_n·(1 + q_n(T)/T), and what is left of C·P̄_n to the whole. The digital phase
    keeps P̄_{t,n} as its power. All who trained report E_n, and for measured constants their norms:
    with `strict` 32 bits each, also of who is silent then.

    allocate: shares the sub-channels of the digital part out. Carried: `queue` [N]; an idle round
    leaves it.
    """

    power_scalar: Annotated[Series, about("σ_t, one number or one for each round")] = 5.0
    weight: Weight = WEIGHT
    objective: Objective = "bound"
    constants: Constants = "equal"
    strict: Strict = False

    def __call__(self, turn: Turn, said: Said, fading: Fading) -> Plan:
        analog = self._analog(turn, said, fading)
        reason = first_reasons(said, power_left(turn))
        deaf = np.isinf(analog.needed)
        reason[(reason == Reason.SCHEDULED) & deaf] = Reason.NO_CHANNEL
        able = np.asarray(reason == Reason.SCHEDULED, dtype=bool)
        allowance = analog.budget if said.symbols.shape[1] else np.ones(len(able))
        needed = np.where(able, analog.needed, 0.0)
        price = np.asarray(turn.state_of(self)["queue"]) * needed / allowance
        bound = 1.0, 1.0
        if self.constants == "measured":
            norm2 = said.energy[able[said.devices]].sum(axis=1)
            bound = measured_bound(norm2, said.symbols.shape[1], fading.noise, analog.scalar)
        kept = worth_hearing(price, able, self.weight, self.objective, bound)
        reason[able & ~kept] = Reason.DROPPED
        told = 1 + (self.constants == "measured") if said.symbols.shape[1] else 0
        tells = charged(self.strict, able * told)
        return Planner(turn, said, fading, self.allocate, analog, tells).plan(reason)

    def _analog(self, turn: Turn, said: Said, fading: Fading) -> Analog:
        """σ_t, what inversion needs, and the allowance A_n."""
        scalar = at_round(self.power_scalar, turn.round)
        needed = np.full(turn.world.devices, np.nan)
        needed[said.devices] = needed_energy(said.energy, fading.air_gain2[said.devices], scalar)
        slots = air_slots(said.symbols.shape[1], turn.world.subchannels, said.lanes)
        return Analog(scalar, needed, turn.world.power * slots)

    def begin(self, turn: Turn) -> Mapping[str, np.ndarray]:
        """Nobody owes anything."""
        return {**super().begin(turn), "queue": np.zeros(turn.world.devices)}

    def advance(self, turn: Turn, happened: Happened) -> Mapping[str, np.ndarray]:
        """Queues after a round that was not idle, of the energy of the air alone."""
        gap, plan = super().advance(turn, happened), happened.plan
        queue = np.asarray(turn.state_of(self)["queue"])
        if happened.idle or not plan.slots_air:
            return {**gap, "queue": queue}
        energy = np.where(plan.active, plan.needed, 0.0)
        return {**gap, "queue": queue_after(queue, energy, plan.budget)}

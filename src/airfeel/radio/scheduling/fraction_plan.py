"""A plan by which everybody speaks over the air, and nobody spends more than it may."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from jaxtyping import Bool, Float64

from airfeel.radio.allocation.rounding import FITS, SPENT
from airfeel.radio.energy import spent_energy
from airfeel.radio.power_budget import allowed_energy, power_left
from airfeel.radio.power_control.regularized_inversion import least_error, regularised_shares
from airfeel.radio.scheduling.planner import Analog, Bounded, first_reasons, lay_out
from airfeel.radio.side_information import REAL_BITS, Norms, Strict
from airfeel.radio.transmission.digital import Division, divide, silence
from airfeel.ranges import Count, Each, Positive, about
from airfeel.segments import air_slots
from airfeel.types import Fading, Happened, Plan, Reason, Said, Turn

_SELDOM = 10  # rounds between two reports where reports are charged


@dataclass(frozen=True)
class SharePlan(Bounded):
    """Everyone sends the share that it can afford of each segment, at the loudness of least error.

    Device n sends the share c_{n,m} = g/(g + μ_n) of segment m at amplitude c·σ_t/h, so that its
    energy is at most α_n·P̄_{t,n}·U[g] and fits into what is left of C·P̄_n (`regularised_shares`);
    the rest stays in its memory. σ_t is where noise and what is withheld are least together
    (`least_error`). Any σ_t is safe: a device's share needs only what that device knows. For σ_t
    devices report the energies of their M segments, once in `every` rounds; in between the last σ_t
    holds. With `strict` a report costs 32·M bits of each device, sent digitally before the air; so
    do 32 bits in the other rounds where an invitation asks for the norms of symbols (`norms`).

    Own entries of a codec go digitally, too. Who cannot pay for that, its pilots and re-alignments
    is silent, and nobody speaks where nobody has anything to send.

    Carried, where `every` is above 1: `loudness`, the last σ_t that was chosen; NaN before.

    allocate: shares the sub-channels of the digital part out.
    """

    alpha: Annotated[Each, about("aggressiveness, one or one for each device")] = 1.0
    kappa: Annotated[Positive, about("κ, weight of what is withheld beside noise")] = 1.0
    every: Annotated[
        Count | None,
        about("rounds from report to report; left out: 10 where they are charged, else 1"),
    ] = None
    strict: Strict = False
    norms: Norms = False
    partial: ClassVar[bool] = True  # devices send shares

    def __call__(self, turn: Turn, said: Said, fading: Fading) -> Plan:
        power = power_left(turn)
        reason = first_reasons(said, power)
        told = turn.world.subchannels if self.reports(turn) else int(self.norms)
        side = float(REAL_BITS * told) if self.strict else 0.0
        bits = np.zeros(turn.world.devices)
        bits[said.devices] = said.bits + side
        slots = air_slots(said.symbols.shape[1], turn.world.subchannels, said.lanes)
        division, dear = self._affordable(turn, fading, reason, bits, slots)
        budget = np.minimum(allowed_energy(self.alpha, power, slots), _energy_left(turn, dear))
        speaks = (reason == Reason.SCHEDULED)[said.devices]
        analog = self._analog(turn, said, fading, speaks, budget)
        if not np.nansum(analog.needed) > 0.0 and said.index.shape[1] == 0:
            quiet = _why_silent(reason, fading, budget)
            return lay_out(quiet, silence(*fading.gain.shape), 0, analog)
        return replace(lay_out(reason, division, slots, analog), side=side)

    def _affordable(
        self,
        turn: Turn,
        fading: Fading,
        reason: np.ndarray,
        bits: Float64[np.ndarray, "N"],
        slots: int,
    ) -> tuple[Division, Float64[np.ndarray, "N"]]:
        """Who can pay for its packet, pilots and re-alignments, and what these take [W·slots].

        Reasons of all others are told in place. Who falls out leaves its sub-channels to others, so
        that they are shared out again; a round whose slots do not fit is left to be discarded.
        """
        whole, power = turn.world.slots * turn.world.power, power_left(turn)
        while True:
            active = np.flatnonzero(reason == Reason.SCHEDULED)
            division = divide(active, power, fading, bits, self.allocate)
            reason[division.dropped] = Reason.NO_CHANNEL
            dear = division.own_slots * division.power.sum(axis=1)
            if fading.upkeep is not None:
                dear = dear + fading.upkeep.own_energy(slots)
            over = turn.state.spent + dear > whole * FITS
            over &= (reason == Reason.SCHEDULED).astype(bool)
            if turn.state.slots + slots + division.slots > turn.world.slots or not over.any():
                return division, dear
            reason[over] = Reason.NO_ENERGY

    def _analog(
        self,
        turn: Turn,
        said: Said,
        fading: Fading,
        speaks: Bool[np.ndarray, "n"],
        budget: Float64[np.ndarray, "N"],
    ) -> Analog:
        """Loudness and shares of the rows that speak; what each of them costs its device."""
        who, energy = said.devices[speaks], said.energy[speaks]
        heard = (energy, fading.air_gain2[who], budget[who])
        if self.reports(turn):
            noise = said.symbols.shape[1] * fading.noise / said.lanes
            scalar = np.sqrt(least_error(*heard, noise, self.kappa)) or 1.0  # 1: of no consequence
        else:
            scalar = turn.state_of(self)["loudness"]
        share, needed = np.zeros(fading.gain.shape), np.full(len(budget), np.nan)
        share[who] = regularised_shares(*heard, float(scalar) ** 2)
        gain = fading.air_gain[who]
        inverse = np.divide(scalar, gain, out=np.zeros_like(gain), where=gain > 0.0)
        needed[who] = spent_energy(energy, inverse * share[who])
        return Analog(float(scalar), needed, budget, share=share)

    @property
    def rounds_apart(self) -> int:
        """R, rounds from report to report."""
        return self.every or (_SELDOM if self.strict else 1)

    def reports(self, turn: Turn) -> bool:
        """Whether devices report in this round: in one of R, and as long as no σ_t is known."""
        due = (turn.round - 1) % self.rounds_apart == 0
        return due or bool(np.isnan(turn.state_of(self)["loudness"]))

    def begin(self, turn: Turn) -> Mapping[str, np.ndarray]:
        """No gap and no loudness is known."""
        own = {"loudness": np.array(np.nan)} if self.rounds_apart > 1 else {}
        return {**super().begin(turn), **own}

    def advance(self, turn: Turn, happened: Happened) -> Mapping[str, np.ndarray]:
        """The σ_t of a round with reports stays until the next one in which somebody speaks."""
        gap, plan = super().advance(turn, happened), happened.plan
        if self.rounds_apart == 1:
            return gap
        new = self.reports(turn) and plan.active.any() and np.nansum(plan.needed) > 0.0
        scalar = plan.scalar if new else turn.state_of(self)["loudness"]
        return {**gap, "loudness": np.array(scalar)}


def _energy_left(turn: Turn, dear: Float64[np.ndarray, "N"]) -> Float64[np.ndarray, "N"]:
    """What is left of C·P̄_n beside what a round takes anyway [W·slots]; 0 if only rounding is."""
    whole = turn.world.slots * turn.world.power
    left = whole - turn.state.spent - dear
    return np.where(turn.state.spent + dear < whole * SPENT, left, 0.0)


def _why_silent(reason: np.ndarray, fading: Fading, budget: Float64[np.ndarray, "N"]) -> np.ndarray:
    """Reasons of a round in which nobody speaks; who only had nothing to say is dropped."""
    why = np.where(budget > 0.0, Reason.DROPPED, Reason.NO_ENERGY)
    why = np.where(fading.air_gain.any(axis=1), why, Reason.NO_CHANNEL)
    return np.where(reason == Reason.SCHEDULED, why, reason)

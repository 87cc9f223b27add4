"""Fast convergence scheduling: devices join while they are worth the slots that they cost."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from jaxtyping import Bool

from airfeel.radio.power_budget import power_left
from airfeel.radio.selection.device_selection import capacity
from airfeel.ranges import NotNegative, about
from airfeel.types import Fading, MakePlan, Plan, Reason, Said, Turn

_MANY = 64  # devices; above it they join in order of capacity


@dataclass(frozen=True)
class Fast:
    """Adds the device that makes a round shortest, until rounds times slots rises.

    Shi et al. 2021 (arXiv:2007.07174, 1911.00856): from nobody on, the device joins after which
    U(S), the slots of the round as `plan` makes it, is smallest (ties: lower index), until
    U(S)·(1 + κ/|S|) rises for the first time; the set before is taken. The greedy order is known
    from the papers' abstracts; that rounds are needed as 1 + κ/|S| is this project's choice: the
    papers' own bound is not known here. κ → ∞ looks at devices per slot as the thrifty rule does;
    κ = 0 hears the fastest alone. Above 64 devices they join in order of capacity. Numbers that
    devices report are charged of those who joined.

    plan: says who can speak at all, and how.
    """

    plan: MakePlan
    kappa: Annotated[
        NotNegative | None, about("κ, how much rounds suffer from few devices; left out: N")
    ] = None

    def __call__(self, turn: Turn, said: Said, fading: Fading) -> Plan:
        whole = self.plan(turn, said, fading)
        able, kappa = whole.active, self.kappa
        kappa = float(turn.world.devices) if kappa is None else kappa
        best, chosen = None, np.zeros_like(able)
        while (able & ~chosen).any():
            joined = self._joined(turn, said, fading, able, chosen)
            now = self._plan(turn, said, fading, joined)
            if best is not None and _worth(now, kappa) > _worth(best, kappa):
                break
            best, chosen = now, joined
        return whole if best is None else _told(best, whole)

    def _joined(
        self,
        turn: Turn,
        said: Said,
        fading: Fading,
        able: Bool[np.ndarray, "N"],
        chosen: Bool[np.ndarray, "N"],
    ) -> Bool[np.ndarray, "N"]:
        """The set with the next device in it."""
        rest = np.flatnonzero(able & ~chosen)
        sets = np.repeat(chosen[None], len(rest), axis=0)
        sets[np.arange(len(rest)), rest] = True
        if len(able) > _MANY:
            return np.asarray(sets[int(np.argmax(capacity(power_left(turn), fading)[rest]))])
        slots = [self._plan(turn, said, fading, one).slots for one in sets]
        return np.asarray(sets[int(np.argmin(slots))])

    def _plan(self, turn: Turn, said: Said, fading: Fading, who: Bool[np.ndarray, "N"]) -> Plan:
        """The plan if only some could speak."""
        some = replace(said, finite=said.finite & who[said.devices])
        return self.plan(turn, some, fading)


def _worth(plan: Plan, kappa: float) -> float:
    """U·(1 + κ/|S|), slots of a round times what rounds are needed."""
    heard = int(plan.active.sum())
    return plan.slots * (1.0 + kappa / heard) if heard else np.inf


def _told(plan: Plan, whole: Plan) -> Plan:
    """With the reasons of the plan for all; who could speak and was not taken is dropped."""

    def why(now: Reason, before: Reason) -> Reason:
        if now is not Reason.NOT_FINITE:
            return now
        return Reason.DROPPED if before is Reason.SCHEDULED else before

    return replace(plan, reason=tuple(map(why, plan.reason, whole.reason)))

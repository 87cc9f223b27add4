"""Parts that backlog could have in place of its own: what each of its own is worth.

PYTHONPATH=experiments/backlog airfeel league experiments/backlog/ablations-classes.toml
"""

from dataclasses import dataclass, replace

import numpy as np
import torch

from airfeel.parts import Fading, MakePlan, Plan, Said, Turn, needed_energy


@dataclass(frozen=True)
class Random:
    """K entries that the dice choose, anew: the rule `rand-k` on the dice of the stored results."""

    def __call__(self, turn: Turn, k: int) -> torch.Tensor:
        kept = turn.rng("entries").permutation(turn.world.dim)[:k]
        return torch.from_numpy(np.sort(kept)).to(turn.state.theta.device)


@dataclass(frozen=True)
class Oldest:
    """K entries in turn: the rule `cyclic`, begun a mask earlier, as in the stored results."""

    def __call__(self, turn: Turn, k: int) -> torch.Tensor:
        first = (turn.round - 1) * k
        kept = (first + np.arange(k)) % turn.world.dim
        return torch.from_numpy(np.sort(kept)).to(turn.state.theta.device)


@dataclass(frozen=True)
class WholeSegments:
    """A segment is sent as a whole or not at all, the cheapest first, at this rule's least error.

    σ_t² is that of the plan it wraps, or up to four decades below, wherever noise and what is
    withheld are least together.
    """

    plan: MakePlan
    partial = True  # shares, though of 0 and 1 alone

    def __call__(self, turn: Turn, said: Said, fading: Fading) -> Plan:
        plan, who = self.plan(turn, said, fading), said.devices
        if plan.share is None or not plan.active.any():
            return plan
        able, gain2 = plan.share[who] > 0.0, fading.gain2[who]
        cost = np.full(gain2.shape, np.inf)
        np.divide(said.energy, gain2, out=cost, where=able & (gain2 > 0.0))
        noise = said.symbols.shape[1] * fading.noise
        tried = plan.scalar**2 * 10.0 ** (np.arange(33) / -8.0)
        kept = [_cheapest(scalar2 * cost, plan.budget[who]) for scalar2 in tried]
        error = [
            noise / scalar2 + ((1.0 - some) * said.energy).sum()
            for scalar2, some in zip(tried, kept, strict=True)
        ]
        best = int(np.argmin(error))
        share, needed = np.zeros_like(plan.share), plan.needed.copy()
        share[who] = kept[best]
        needed[who] = needed_energy(said.energy * kept[best], gain2, float(np.sqrt(tried[best])))
        return replace(plan, scalar=float(np.sqrt(tried[best])), share=share, needed=needed)


def _cheapest(cost: np.ndarray, budget: np.ndarray) -> np.ndarray:
    """1 for the cheapest segments of each device that fit into its budget together, else 0."""
    order = np.argsort(cost, axis=1, kind="stable")
    fits = np.take_along_axis(cost, order, axis=1).cumsum(axis=1) <= budget[:, None]
    kept = np.zeros(cost.shape)
    np.put_along_axis(kept, order, fits.astype(float), axis=1)
    return kept

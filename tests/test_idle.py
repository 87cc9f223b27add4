"""An idle round moves nothing: what the base station remembers of updates and energy stays.

What it does change: `heard`, backlog's `wait`, and what tells of the devices' last training, which
an idle round has as any other (`norm`, `peak`).
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from airfeel.build.setup import build
from airfeel.types import Delivery, MakePlan, Transmit
from small import play, small

IDLE = 3
QUEUE = {"weight": 3.0, "constants": "measured"}
CASES = {  # a scheme that remembers something, and what of it an idle round changes
    "energy-queue": ("analog", {"invite": {"name": "energy-queue", **QUEUE}}, {"norm"}),
    "drift": ("tcs-h", {"plan": {"name": "drift", **QUEUE}}, set()),
    "hold": ("tcs-h", {"step": "hold", "mask": "fair-k"}, set()),
    "age": ("tcs-h", {"mask": "age-top-k"}, set()),
    "fedavgm": ("tcs-h", {"step": "fedavgm"}, set()),
    "fedadam": ("top-k", {"step": "fedadam"}, set()),
    "fedyogi": ("top-k", {"step": "fedyogi"}, set()),
    "prior": ("ca-dsgd", {"options": {"denoiser": "markov"}}, set()),
    "last-peak": ("cotaf", {"options": {"norm": "last"}}, {"peak"}),
    "by-norm": ("d-dsgd", {"options": {"entries": "norm"}}, {"norm"}),
    "fair": ("top-k", {"invite": "proportional-fair"}, {"heard"}),
    "backlog": ("backlog", {}, {"wait"}),
}


@dataclass(frozen=True)
class Hushed:
    """In one round nobody speaks."""

    plan: MakePlan

    def __call__(self, turn, said, fading):
        if turn.round == IDLE:
            said = replace(said, finite=np.zeros_like(said.finite))
        return self.plan(turn, said, fading)


@dataclass(frozen=True)
class Deafened:
    """In one round nothing arrives of what was sent."""

    transmit: Transmit

    def __call__(self, turn, said, fading, plan):
        received, delivery = self.transmit(turn, said, fading, plan)
        if turn.round == IDLE:
            n, m = said.energy.shape
            delivery = Delivery(plan.active, np.zeros((n, m)), np.zeros(n, dtype=bool))
        return received, delivery


def changed(before, after):
    """Names of what is carried and not as it was."""
    return {
        name.rpartition("/")[2]
        for name, array in after.carry.items()
        if not np.array_equal(np.asarray(array), np.asarray(before.carry[name]), equal_nan=True)
    }


@pytest.mark.parametrize("why", ["nobody speaks", "nothing arrives"])
@pytest.mark.parametrize("case", CASES)
def test_an_idle_round_leaves_what_is_remembered_of_updates_and_energy(case, why):
    name, own, moving = CASES[case]
    setup = build(small(name, scheme=own))
    parts = {"plan": Hushed(setup.scheme.plan)}
    if why == "nothing arrives":
        parts = {"transmit": Deafened(setup.scheme.transmit)}
    setup = replace(setup, scheme=replace(setup.scheme, **parts))
    carried = set()
    for before, after, report, _ in play(setup, IDLE + 1):
        idle = after.round == IDLE
        assert (after.idle > 0) == idle
        assert torch.equal(after.theta, before.theta) == idle
        if not idle:
            carried |= changed(before, after)
            continue
        assert changed(before, after) == moving
        assert torch.equal(after.update, before.update)
        assert (report.costs.slots > 0) == report.plan.active.any() == (why == "nothing arrives")
    assert carried
    assert carried >= moving

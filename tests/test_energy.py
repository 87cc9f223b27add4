"""No scheme spends more than C·P̄, and in a round none more than it may; or so in the mean alone.

What is allowed in a round is α·P̄_t for each of its slots; truncated inversion keeps that in the
mean over the fading, and queues in the mean over rounds but for what is owed.
"""

import numpy as np
import pytest

from airfeel.build.setup import build
from airfeel.radio.power_budget import power_left
from airfeel.schemes import SCHEMES
from airfeel.types import Reason, Turn
from small import play, small

POWER = 5e-3
QUEUES = {
    "energy-queue": ("analog", {"invite": {"name": "energy-queue", "weight": 3.0}}),
    "energy-queue-hybrid": ("tcs-h", {"invite": {"name": "energy-queue", "weight": 3.0}}),
    "drift": ("analog", {"plan": {"name": "drift", "weight": 3.0}}),
    "drift-hybrid": ("tcs-h", {"plan": {"name": "drift", "weight": 3.0}}),
}
CASES = {name: (name, {}) for name in SCHEMES if name != "fedavg"} | QUEUES  # that one is free
CASES |= {
    "cotaf-last": ("cotaf", {"options": {"norm": "last"}}),
    "screened": ("top-k", {"screen": {"name": "bn2", "scheduled": 2}, "strict_bits": True}),
}
MEAN_ALONE = {"baa", "airfl-mem", "obda", "ef-obda", "ca-dsgd"}  # over the fading
LATER = {*QUEUES, *MEAN_ALONE, "cotaf-last"}  # what a round takes may be above its part
PAY_AS_THEY_GO = {  # α is not asked for
    *("tcs-d", "top-k", "qsgd", "signsgd", "ef-signsgd", "qsparse", "d-dsgd", "screened"),
    *QUEUES,
}
UNLIKE = {"power_scalar": 1.0, "mean_gain": [1.0, 0.3, 2.0, 1.0, 0.1, 1.5]}


def slots_for(scheme, own, radio, rounds):
    """C for so many rounds like the first."""
    first = play(build(small(scheme, scheme=own, radio=radio)), 1)[0][2]
    return int(rounds * max(first.costs.slots, 4))


@pytest.mark.parametrize(
    ("case", "alpha"),
    [(case, 1.0) for case in CASES]
    + [(case, 40.0) for case in CASES if case not in PAY_AS_THEY_GO],
)
def test_nobody_spends_more_than_is_left_of_its_power(case, alpha):
    scheme, own = CASES[case]
    radio = {**UNLIKE, "alpha": alpha}
    slots = slots_for(scheme, own, radio, rounds=5.5)
    setup = build(small(scheme, scheme=own, radio=radio, budget={"slots": slots}))
    spent, above, why = 0.0, 0, set()
    for before, after, report, _ in play(setup, 8):
        energy, plan = report.costs.energy, report.plan
        left = power_left(Turn(setup.world, before, setup.streams))
        telling = plan.active if plan.reporting is None else plan.active | plan.reporting
        assert not energy[~telling].any()
        assert (plan.power.sum(axis=1) <= left * (1 + 1e-9)).all()
        assert (after.spent <= slots * POWER * (1 + 1e-9)).all()
        assert after.slots <= slots
        over = energy > left * report.costs.slots * (1 + 1e-9)
        assert case in LATER or alpha > 1.0 or not over.any()
        above += int(over.sum())
        spent += energy.sum()
        why |= set(plan.reason)
    if alpha > 1.0 and case != "backlog":  # which sends less
        assert Reason.NO_ENERGY in why
    else:
        assert spent > 0.0
    if case in LATER - {"cotaf-last"}:
        assert above > 0


@pytest.mark.parametrize("scheme", sorted(MEAN_ALONE))
def test_truncated_inversion_spends_what_it_may_in_the_mean_over_the_fading(scheme):
    """P̄·S/M of each round over all devices, within four standard errors; single rounds more."""
    setup = build(small(scheme, training={"rounds": 25}))
    symbols = 51 if scheme == "ca-dsgd" else 102
    shares = np.array([r.costs.energy / (POWER * symbols / 8) for _, _, r, _ in play(setup, 25)])
    error = 4.0 * shares.mean(axis=1).std() / np.sqrt(len(shares))
    assert shares.mean() == pytest.approx(1.0, abs=error)
    assert shares.max() > 1.5


@pytest.mark.parametrize("case", QUEUES)
def test_without_a_limit_queues_keep_the_mean_but_for_what_is_owed(case):
    scheme, own = QUEUES[case]
    setup = build(small(scheme, scheme=own, radio={**UNLIKE, "power_scalar": 0.5}))
    total, heard = np.zeros(6), 0
    for t, (_, after, report, _) in enumerate(play(setup, 12), start=1):
        plan = report.plan
        total += np.where(plan.active, plan.needed, 0.0)
        allowance = setup.world.power * plan.slots_air
        owed = np.asarray(after.carry["queue"])
        assert (total / t <= allowance * (1.0 + owed / t) * (1 + 1e-9)).all()
        heard += int(plan.active.sum())
    assert 12 < heard < 72

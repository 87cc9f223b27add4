"""The plan `fast`: devices join while they are worth their slots."""

from dataclasses import replace

import numpy as np
import pytest

from airfeel.build.setup import build
from airfeel.radio.scheduling import slot_efficient
from airfeel.radio.scheduling.slot_efficient import Fast
from airfeel.types import BadInput, Reason, Turn
from small import play, small

CASES = [("tcs-h", None), ("top-k", 0.0), ("top-k", 3.0), ("tcs-h", 1e9)]


def plainly(turn, said, fading, plan, kappa):
    """Who is heard, in loops: sets grow by whoever makes the round shortest."""

    def slots(some):
        who = np.isin(said.devices, sorted(some))
        return plan(turn, replace(said, finite=said.finite & who), fading).slots

    able = set(np.flatnonzero(plan(turn, said, fading).active).tolist())
    chosen, worth = set(), float("inf")
    while able - chosen:
        best = min(sorted(able - chosen), key=lambda n: slots(chosen | {n}))
        joined = chosen | {best}
        now = slots(joined) * (1 + kappa / len(joined))
        if now > worth:
            break
        chosen, worth = joined, now
    return chosen


@pytest.mark.parametrize(("scheme", "kappa"), CASES)
def test_a_run_hears_whom_plain_loops_hear(scheme, kappa, monkeypatch):
    run = {"plan": {"name": "fast"} | ({} if kappa is None else {"kappa": kappa})}
    setup = build(small(scheme, scheme=run | {"invite": "everyone"}))
    asked = []
    once = Fast.__call__

    def spy(self, turn, said, fading):
        plan = once(self, turn, said, fading)
        asked.append(
            (plainly(turn, said, fading, self.plan, 6.0 if kappa is None else kappa), plan)
        )
        return plan

    monkeypatch.setattr(Fast, "__call__", spy)
    play(setup, 4)
    assert len(asked) == 4
    for wanted, plan in asked:
        assert set(np.flatnonzero(plan.active)) == wanted
        assert {plan.reason[n] for n in wanted} <= {Reason.SCHEDULED}
    if kappa == 0.0:
        assert [len(wanted) for wanted, _ in asked] == [1] * 4
    if scheme == "top-k":
        dropped = {why for _, plan in asked for why in plan.reason} - {Reason.SCHEDULED}
        assert dropped <= {Reason.DROPPED}


def test_many_devices_join_in_order_of_capacity(monkeypatch):
    monkeypatch.setattr(slot_efficient, "_MANY", 3)
    setup = build(small("top-k", scheme={"plan": {"name": "fast", "kappa": 2.0}}))
    for before, _, report, _ in play(setup, 3):
        fading = setup.scheme.fade(Turn(setup.world, before, setup.streams))
        room = slot_efficient.capacity(setup.world.power, fading)
        trained = [n for n, why in enumerate(report.plan.reason) if why != Reason.NOT_INVITED]
        strongest = sorted(trained, key=lambda n: -room[n])[: report.plan.active.sum()]
        assert set(np.flatnonzero(report.plan.active)) == set(strongest)


def test_bad_settings_are_refused_by_name():
    with pytest.raises(BadInput, match=r"scheme\.plan\.kappa = -1"):
        build(small("top-k", scheme={"plan": {"name": "fast", "kappa": -1}}))

"""The worked example of the documentation: the library plays the same round."""

import runpy
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from airfeel import carry
from airfeel.build.setup import build
from airfeel.engines.threads import Threads
from airfeel.parts import Fading, State, Turn
from airfeel.round import play_round
from small import small

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def worked():
    sys.path.insert(0, str(EXAMPLES))
    try:
        return runpy.run_path(str(EXAMPLES / "one_round.py"), run_name="worked")
    finally:
        sys.path.remove(str(EXAMPLES))


class Air(np.random.Generator):
    """A generator whose next normal numbers are given."""

    given = None

    def standard_normal(self, size=None, **more):
        return self.given.copy()


class Given:
    """Dice and updates that the example hands in, as streams and as local training."""

    dice, block = 0, 2

    def __init__(self, worked):
        self.worked = worked

    def rng(self, room, round=0):
        assert room == "air"
        air = Air(np.random.PCG64(0))
        air.given = self.worked["AIR"]
        return air

    def uniform(self, room, round, devices, width):
        table = {"batch": np.zeros((2, width)), "quantize": self.worked["ROUNDING"]}[room]
        return table[devices][:, :width].copy()

    def __call__(self, turn, devices, dice):
        return torch.from_numpy(self.worked["DELTA"][devices]), np.zeros(len(devices))


def library(worked, gain):
    """State, report and memory after the same round."""
    d = worked["D"]
    setup = build(
        small(
            data={"shape": [1, 1, 3], "classes": 2},
            model={"name": "logistic"},
            training={"devices": worked["N"]},
            scheme={
                "global_sparsity": worked["K_GLOBAL"] / d,
                "local_sparsity": worked["K_LOCAL"] / d,
                "bits": worked["BITS"],
                "scheduled": 2,
            },
            radio={
                "subchannels": worked["M"],
                "noise": worked["NOISE"],
                "power": worked["POWER"],
                "power_scalar": worked["SCALAR"],
            },
        )
    )
    assert setup.world.dim == d
    given, last = Given(worked), torch.from_numpy(worked["LAST"])
    sky = lambda turn: Fading(gain, worked["NOISE"])
    scheme = replace(setup.scheme, fade=sky, learn=given)
    engine = Threads(setup.world, 1)
    try:
        engine.restore({"memory": torch.from_numpy(worked["MEMORY"])})
        start = replace(State.bare(torch.zeros_like(last), worked["N"], round=0), update=last)
        begun = carry.begin(scheme, Turn(setup.world, start, given))
        turn = Turn(setup.world, replace(start, carry=begun), given)
        state, report = play_round(scheme, turn, engine)
        return state, report, engine.buffers()["memory"].numpy()
    finally:
        engine.close()


@pytest.mark.parametrize("sky", ["GOOD", "WEAK"])
def test_the_library_plays_the_worked_round(worked, sky):
    by_hand = worked["play"](worked[sky])
    state, report, memory = library(worked, worked[sky])
    plan, active = report.plan, by_hand["active"]
    assert np.flatnonzero(plan.active).tolist() == active.tolist()
    assert state.support.tolist() == by_hand["mask"].tolist()
    assert plan.owner.tolist() == [by_hand["owner"].tolist()]
    assert (plan.slots_air, plan.slots_digital) == (by_hand["slots_air"], by_hand["digital"])
    for ours, theirs in (
        (plan.needed, by_hand["needed"]),
        (plan.power[active], by_hand["power"]),
        (plan.rate[active], by_hand["rate"]),
        (report.costs.bits, by_hand["bits"] * len(active)),
        (report.costs.energy, by_hand["energy"]),
        (state.update.numpy(), by_hand["update"]),
        (memory, by_hand["memory"]),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_on_the_weak_sky_one_device_is_silent_and_keeps_its_memory(worked):
    good, weak = (worked["play"](worked[sky]) for sky in ("GOOD", "WEAK"))
    assert (good["active"].tolist(), weak["active"].tolist()) == ([0, 1], [0])
    np.testing.assert_array_equal(weak["memory"][1], worked["MEMORY"][1])


def test_every_value_is_printed_with_a_line_of_its_own(worked, capsys):
    worked["main"]()
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert list(worked["SAID"]) == list(worked["play"](worked["GOOD"]))
    for text in worked["SAID"].values():
        assert lines.count(text) == 2
    assert said.startswith((EXAMPLES.parent / "docs/figures/one_round.txt").read_text("utf-8"))

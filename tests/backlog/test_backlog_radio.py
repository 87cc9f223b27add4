"""Backlog under a real radio: what knowing the channel costs, and two values on an element."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from airfeel.build.setup import build
from airfeel.radio.power_control.regularized_inversion import least_error
from airfeel.types import Reading, Turn
from small import play, small

TIGHT = {
    "sync": {"phase": 0.1, "every": 1, "overhead": 2},
    "radio": {"alpha": 3.0},
    "budget": {"slots": 300},
    "training": {"rounds": 60},
    "scheme": {"options": {"k": 40}},
}
SOUNDED = {"csi": {"pilots": 1}, "radio": {"alpha": 8.0}}
STRICT = {"options": {"k": 40}, "strict_bits": True}


@pytest.mark.parametrize("more", [{}, SOUNDED, {"scheme": STRICT}])
def test_nobody_spends_more_than_its_energy_on_re_alignments(more):
    """Who cannot pay for them is silent and keeps all of its update; others speak on."""
    setup = build(small("backlog", **(TIGHT | more)))
    whole, memory, seen = 300 * setup.world.power, None, 0
    for before, after, report, now in play(setup, 60):
        poor = [n for n, r in enumerate(report.plan.reason) if r == "energy-does-not-fit"]
        assert (after.spent <= whole * (1 + 1e-12)).all()
        if poor and memory is not None:
            turn, ids = Turn(setup.world, before, setup.streams), np.arange(6)
            learn = setup.scheme.learn
            learnt = learn(turn, ids, setup.streams.uniform("batch", turn.round, ids, learn.dice))
            assert torch.equal(now[poor], learnt[0][poor] + memory[poor])
            seen += report.plan.active.any()
        memory = now
    assert seen


def test_loudness_weighs_the_noise_that_a_value_has():
    """σ0²/2 on each of two values that share an element."""
    setup = build(small("backlog", link={"analog": "iq"}, radio={"noise": 1.0}))
    seen = []

    def watch(turn, said, fading, plan, delivery):
        seen.append((said, fading, plan))
        return Reading({})

    watch.columns = ()
    scheme = replace(setup.scheme, meters=(*setup.scheme.meters, watch))
    play(replace(setup, scheme=scheme), 1)
    said, fading, plan = seen[0]
    noise = said.symbols.shape[1] * 1.0 / 2
    wanted = least_error(said.energy, fading.gain2, plan.budget, noise)
    assert plan.scalar**2 == pytest.approx(wanted, rel=1e-9)
    assert wanted < 0.8 * least_error(said.energy, fading.gain2, plan.budget, 2 * noise)


@pytest.mark.parametrize(
    ("changes", "k"),
    [
        ({"link": {"analog": "iq"}}, 32),
        ({"csi": {"pilots": 1}, "budget": {"slots": 120}}, 32),
        ({"csi": {"pilots": 1}}, 8),
        ({"csi": {"pilots": 1, "link": "downlink"}}, 16),
        ({"csi": {"pilots": 1}, "budget": {"slots": 120}, "link": {"analog": "iq"}}, 64),
    ],
)
def test_the_mask_leaves_slots_for_pilots_and_fills_both_lanes(changes, k):
    """Of 102 entries on 8 sub-channels in 12 rounds of 6 devices; 24 slots unless told."""
    e = small("backlog", **({"budget": {"slots": 24}} | changes))
    assert build(e).scheme.codec.k_global == k

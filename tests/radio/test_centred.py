"""Symbols without their mean: nothing changes but energy and noise."""

import numpy as np
import pytest
import torch

from airfeel.build.setup import build
from airfeel.radio.transmission.mean_removal import Centre, Centred
from airfeel.types import Turn
from small import play, play_small, small

QUIET = {"noise": 1e-30}


@pytest.mark.parametrize("divide", ["heard", "active", "all"])
@pytest.mark.parametrize("scheme", ["baa", "airfl-mem"])
def test_without_noise_a_mean_that_goes_apart_changes_nothing(scheme, divide):
    options = {"divide": divide, "threshold": 0.5, "power_scalar": 1.0}
    with_it, without = (
        play_small(scheme, 5, scheme={"options": options | {"center": center}}, radio=QUIET)
        for center in (True, False)
    )
    for (_, a, _, e), (_, b, _, f) in zip(with_it, without, strict=True):
        torch.testing.assert_close(a.theta, b.theta, rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(e, f, rtol=1e-9, atol=1e-12)


def test_energy_is_that_of_what_goes_on_the_air():
    """A plain reading: μ̄ by loops, and Σ b²·‖segment − μ̄‖² of each device."""
    setup = build(small("baa", scheme={"options": {"center": True, "power_scalar": 1.0}}))
    learn, everyone = setup.scheme.learn, np.arange(6)
    for before, _, report, _ in play(setup, 3):
        turn = Turn(setup.world, before, setup.streams)
        dice = setup.streams.uniform("batch", turn.round, everyone, learn.dice)
        x = learn(turn, everyone, dice)[0].numpy()
        mean = sum(sum(row) / len(row) for row in x) / len(x)
        for n in range(6):
            if report.plan.active[n]:
                parts = np.array_split(x[n] - mean, 8)
                b = report.plan.amplitude[n]
                wanted = sum(b[m] ** 2 * (part**2).sum() for m, part in enumerate(parts))
                assert report.costs.energy[n] == pytest.approx(wanted, rel=1e-9)


def test_the_mean_is_told_and_charged_under_strict_accounting():
    strict = {"strict_bits": True, "options": {"center": True}}
    plan = build(small("baa", scheme=strict)).scheme.plan
    assert plan.reports == 1
    played = play_small("baa", 2, scheme=strict)
    assert all((report.plan.side == 64.0).all() for _, _, report, _ in played)


def test_it_can_be_screened_by_norm_and_weighed():
    def last(center):
        options = {"center": center, "threshold": 0.0, "power_scalar": 1.0}
        run = {"screen": {"name": "bn2", "scheduled": 3}, "options": options}
        uneven = {"partition": "dirichlet", "alpha": 0.3}
        e = small("baa", scheme=run, data=uneven, training={"weights": "samples"}, radio=QUIET)
        return play(build(e), 3)[-1][1].theta

    torch.testing.assert_close(last(True), last(False), rtol=1e-9, atol=1e-12)


def test_a_wrapped_codec_keeps_what_the_codec_has():
    inner = build(small("baa")).scheme.codec
    assert (Centred(inner).memory, Centred(inner).dice) == (inner.memory, inner.dice)
    assert Centre(torch.arange(2), 0.5).mean == 0.5

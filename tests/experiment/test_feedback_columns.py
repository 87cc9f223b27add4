"""rounds.csv tells what part of the needed energy comes from error feedback."""

import math

import numpy as np
import pytest

import airfeel
from airfeel.build.setup import build
from airfeel.types import Turn
from small import play, small

NAMES = ("feedback_scheduled", "feedback_unscheduled")


@pytest.mark.parametrize("memory", ["error-feedback", {"name": "error-feedback", "strength": 0.5}])
def test_they_are_medians_of_a_plain_loop_over_devices(memory):
    setup = build(small("tcs-h", scheme={"memory": memory}))
    strength = getattr(setup.scheme.codec.memory, "strength", 1.0)
    learn, everyone, kept = setup.scheme.learn, np.arange(6), np.zeros((6, setup.world.dim))
    known = dict.fromkeys(NAMES, 0)
    for before, after, report, memory_after in play(setup, 12):
        here = Turn(setup.world, before, setup.streams)
        dice = setup.streams.uniform("batch", here.round, everyone, learn.dice)
        delta = learn(here, everyone, dice)[0].numpy()
        shares = {name: [] for name in NAMES}
        for n in range(6):
            e = x = 0.0
            for i in after.support.tolist():
                residual = strength * kept[n, i]
                e, x = e + residual**2, x + (delta[n, i] + residual) ** 2
            shares[NAMES[0] if report.plan.active[n] else NAMES[1]].append(e / x)
        for name, values in shares.items():
            found = getattr(report, name)
            assert math.isnan(found) == (not values)
            if values:
                assert found == pytest.approx(np.median(values), rel=1e-9, abs=1e-12)
                known[name] += found > 0.0
        kept = memory_after.numpy()
    assert min(known.values()) > 3


@pytest.mark.parametrize(
    ("scheme", "changes"),
    [
        ("tcs-d", {}),  # a mask, sent digitally
        ("top-k", {}),  # no mask
        ("tcs-h", {"memory": "none"}),  # no error feedback
        ("a-dsgd", {}),  # projections over the air, no mask
    ],
)
def test_they_are_empty_without_a_mask_over_the_air_or_without_error_feedback(scheme, changes):
    run = airfeel.run(small(scheme, scheme=changes, training={"rounds": 3}))
    for name in NAMES:
        assert np.isnan(run.columns[name]).all()


def test_a_device_that_cannot_afford_its_residual_is_told_from_growing_updates():
    """Silent devices that add what they learn to e need ever more, and nearly all of it for e."""
    piled = {"memory": {"name": "error-feedback", "silent": "add"}}
    e = small("tcs-h", scheme=piled, radio={"power_scalar": 6.0}, training={"rounds": 40})
    starved = airfeel.run(e).columns
    assert np.nanmean(starved["feedback_unscheduled"][-10:]) > 0.5
    fed = airfeel.run(small("tcs-h", radio={"power_scalar": 0.1}, training={"rounds": 40})).columns
    assert np.nanmean(fed["feedback_scheduled"][-10:]) < 0.3

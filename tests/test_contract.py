"""Every part of every catalogue keeps its contract; a new one is picked up by its line there."""

import numpy as np
import pytest
import torch

from airfeel.catalogues import ALLOCATORS
from airfeel.experiment.build import build
from airfeel.experiment.load import load, presets
from airfeel.radio.fading import Constant, Rayleigh, Rician
from airfeel.radio.links import Links
from airfeel.schemes import SCHEMES
from airfeel.types import Reason
from small import play, small


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("subchannels", [2, 8])
def test_schemes(scheme, subchannels):
    setup = build(small(scheme, radio={"subchannels": subchannels}, budget={"slots": 2000}))
    world = setup.world
    for before, after, report, memory in play(setup, 8):
        plan, costs = report.plan, report.costs
        assert after.round == before.round + 1 == report.round
        assert torch.isfinite(after.theta).all()
        assert torch.isfinite(memory).all()
        assert [r is Reason.SCHEDULED for r in plan.reason] == plan.active.tolist()
        assert after.slots == before.slots + costs.slots <= 2000
        assert (costs.slots_air, costs.slots_digital) == (plan.slots_air, plan.slots_digital)
        assert (costs.energy >= 0).all()
        assert not costs.energy[~plan.active].any()
        for g, owner in enumerate(plan.owner):
            owners = set(owner.tolist()) - {-1}
            assert owners == set(np.flatnonzero(plan.batch == g).tolist())
        owned = np.zeros((world.devices, subchannels), dtype=bool)
        for owner in plan.owner:
            column = np.flatnonzero(owner >= 0)
            owned[owner[column], column] = True
        assert not plan.power[~owned].any()
        torch.testing.assert_close(after.theta, before.theta + after.update)


@pytest.mark.parametrize("name", ALLOCATORS)
@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (3, 3), (3, 5)])
def test_allocators(name, n, m):
    rng = np.random.default_rng(n * m)
    power, gain2 = rng.uniform(0.5, 2.0, n), rng.rayleigh(size=(n, m)) ** 2
    found = ALLOCATORS.make(name)(Links(power, gain2, 0.1, np.full(n, 50.0)))
    assert found.owner.shape == (m,)
    assert set(found.owner.tolist()) - {-1} == set(range(n))
    assert (found.power >= 0).all()
    assert not found.power[np.arange(n)[:, None] != found.owner[None]].any()
    assert (found.power.sum(axis=1) <= power * (1 + 1e-9)).all()


@pytest.mark.parametrize("draw", [Constant(), Rayleigh(), Rician()])
def test_skies(draw):
    one, two = (draw(1, (3, 4), rng=np.random.default_rng(0)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    wider = draw(1, (5, 4), rng=np.random.default_rng(0))
    np.testing.assert_array_equal(one, wider[:3])
    assert (one > 0).all()


@pytest.mark.parametrize("name", presets())
def test_presets_are_legal(name):
    e = load(name)
    assert name.endswith(e.scheme.name)
    assert e.training.devices == 20
    if name.startswith("paper"):
        assert e.data.dataset == "cifar10"
        assert (e.scheme.global_sparsity, e.scheme.local_sparsity, e.scheme.bits) == (0.2, 0.05, 16)


def test_digits_preset_schedules_as_it_says():
    """50 to 90 % of the devices can afford the air, over the run."""
    import airfeel

    run = airfeel.run(load("digits-tcs-h"))
    assert 0.5 <= run.summary["scheduled_mean"] / 20 <= 0.9

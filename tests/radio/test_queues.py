"""Energy queues: the best set of all, and a mean energy that stays within its bound."""

import dataclasses
import importlib
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from airfeel.build.setup import build
from airfeel.radio.cost_metrics import Compute
from airfeel.radio.scheduling.queues import measured_bound, queue_after, worth_hearing
from airfeel.types import BadInput, Fading, Turn
from small import play, small, turn_at

PRICES = st.lists(st.one_of(st.just(0.0), st.floats(0.0, 200.0)), min_size=1, max_size=10)
UNEQUAL = {"power": [1e-4, 5e-3, 1e-3, 5e-3, 2e-4, 5e-3], "power_scalar": 1.0}


@pytest.fixture(scope="module")
def plain():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[1] / "plain"))
        yield importlib.import_module("queue_plain")


@settings(max_examples=60)
@given(
    prices=PRICES,
    weight=st.floats(0.1, 500.0),
    bound=st.sampled_from([(1.0, 1.0), (0.75, 0.25), (0.0, 1.0), (1.0, 0.0)]),
    data=st.data(),
)
def test_no_set_of_devices_is_better_than_the_prefix(plain, prices, weight, bound, data):
    able = np.array(data.draw(st.lists(st.booleans(), min_size=len(prices), max_size=len(prices))))
    chosen = worth_hearing(np.array(prices), able, weight, bound=bound)
    assert not chosen[~able].any()
    if able.any():
        best = plain.best_set(prices, np.flatnonzero(able).tolist(), weight, *bound)
        found = plain.cost_of(np.flatnonzero(chosen).tolist(), prices, weight, *bound)
        assert found == pytest.approx(best, rel=1e-12)


@settings(max_examples=60)
@given(
    prices=st.lists(st.sampled_from([1.0, 2.0, 5.0, 20.0]), min_size=1, max_size=10),
    weight=st.sampled_from([4.0, 16.0, 64.0]),
)
def test_of_equally_dear_devices_those_of_lower_index_are_heard(plain, prices, weight):
    able = list(range(len(prices)))
    chosen = worth_hearing(np.array(prices), np.ones(len(prices), dtype=bool), weight)
    assert np.flatnonzero(chosen).tolist() == list(plain.first_best(prices, able, weight))


@pytest.mark.parametrize(
    ("prices", "chosen"),
    [
        ([1.0, 5.0], [0, 1]),  # 8 + 1 = 3 + 1 + 5
        ([5.0, 1.0], [0, 1]),
        ([5.0, 1.0, 5.0], [0, 1]),  # 9 = 9 = 9: both, and of two pairs the lower indices
        ([1.0, 5.5], [0]),
    ],
)
def test_of_equally_good_sets_the_larger_one_is_heard(plain, prices, chosen):
    """At V = 4 and a = b = 1 a second device is worth 8 − 3 = 5, which doubles hold exactly."""
    everyone = np.ones(len(prices), dtype=bool)
    assert np.flatnonzero(worth_hearing(np.array(prices), everyone, 4.0)).tolist() == chosen
    assert list(plain.first_best(prices, list(range(len(prices))), 4.0)) == chosen


@given(prices=PRICES)
def test_who_owes_nothing_is_heard_and_a_large_weight_hears_everyone(prices):
    everyone = np.ones(len(prices), dtype=bool)
    assert worth_hearing(np.zeros(len(prices)), everyone, 1.0).all()
    assert worth_hearing(np.array(prices), everyone, 1e9).all()
    count = worth_hearing(np.array(prices), everyone, 20.0, "count")
    np.testing.assert_array_equal(count, np.array(prices) <= 20.0)


@given(
    energy=st.lists(st.lists(st.floats(0.0, 50.0), min_size=3, max_size=3), min_size=1),
    allowance=st.floats(0.1, 10.0),
)
def test_the_mean_energy_is_within_the_allowance_and_what_is_owed(plain, energy, allowance):
    queue, allowed = np.zeros(3), np.full(3, allowance)
    for t, spent in enumerate(energy, start=1):
        by_hand = plain.owed(queue, spent, allowed)
        queue = queue_after(queue, np.array(spent), allowed)
        np.testing.assert_allclose(queue, by_hand, rtol=1e-12)
        mean = np.mean(energy[:t], axis=0)
        assert (mean <= allowed * (1.0 + queue / t) * (1 + 1e-9) + 1e-12).all()


@pytest.mark.parametrize("scheme", ["analog", "tcs-h"])
def test_the_plan_chooses_and_counts_as_the_plain_reading_does(plain, scheme):
    run = small(scheme, scheme={"plan": {"name": "drift", "weight": 3.0}}, radio=UNEQUAL)
    dropped = 0
    for before, after, report, _ in play(build(run), 12):
        plan, queue = report.plan, before.carry["queue"]
        price = (queue * plan.needed / plan.budget).tolist()
        chosen = np.flatnonzero(plan.active).tolist()
        best = plain.best_set(price, list(range(6)), 3.0)
        assert plain.cost_of(chosen, price, 3.0) == pytest.approx(best, rel=1e-9)
        spent = np.where(plan.active, plan.needed, 0.0)
        np.testing.assert_allclose(after.carry["queue"], plain.owed(queue, spent, plan.budget))
        dropped += 6 - len(chosen)
    assert dropped > 0


def test_the_invitation_saves_those_who_owe_and_lets_all_train_first():
    run = small(
        "analog",
        scheme={"invite": {"name": "energy-queue", "weight": 3.0}},
        radio=UNEQUAL,
    )
    rounds = play(build(run), 12)
    assert rounds[0][2].plan.active.all()
    heard = np.mean([report.plan.active for _, _, report, _ in rounds], axis=0)
    assert heard[0] < heard[1]


def test_measured_constants_are_those_of_norms_and_noise():
    """What is carried, and whom it makes the invitation and the plan choose."""
    queue = {"weight": 3.0, "constants": "measured"}
    run = small(
        "analog",
        scheme={"invite": {"name": "energy-queue", **queue}, "schedule": "all"},
        radio=UNEQUAL,
    )
    setup = build(run)
    for before, _, report, _ in play(setup, 8)[1:]:
        carry, fading = before.carry, setup.scheme.fade(Turn(setup.world, before, setup.streams))
        a, b = carry["norm"].mean(), float(setup.world.dim) * 1e-6 / 1.0
        assert int(carry["symbols"]) == setup.world.dim
        energy = carry["norm"] * (1.0 / fading.gain2).mean(axis=1)
        price = carry["queue"] * energy / (setup.world.power * float(carry["span"]))
        chosen = worth_hearing(price, np.ones(6, dtype=bool), 3.0, bound=(a / (a + b), b / (a + b)))
        np.testing.assert_array_equal(report.plan.active, chosen)
    drifting = build(small("analog", scheme={"plan": {"name": "drift", **queue}}, radio=UNEQUAL))
    heard = [report.plan.active.sum() for _, _, report, _ in play(drifting, 8)]
    assert min(heard) < 6
    assert measured_bound(np.zeros(0), 0, 1e-6, 1.0) == (1.0, 1.0)


def test_computing_is_paid_by_all_who_train_and_owed_in_the_queue():
    compute = 5e-3
    run = small(
        "analog",
        scheme={
            "invite": {"name": "energy-queue", "weight": 3.0, "compute": compute},
            "schedule": "all",
        },
        radio=UNEQUAL,
    )
    setup = build(run)
    assert setup.scheme.meters == (Compute(compute),)
    for before, after, report, _ in play(setup, 8):
        trained = report.plan.active  # everyone who was invited speaks
        air = np.where(trained, report.plan.needed, 0.0)
        np.testing.assert_allclose(report.costs.energy, air + compute * trained, rtol=1e-9)
        assert report.columns["energy_compute"] == pytest.approx(compute * trained.sum())
        allowance = setup.world.power * report.costs.slots_air
        expected = queue_after(before.carry["queue"], report.costs.energy, allowance)
        np.testing.assert_allclose(after.carry["queue"], expected)


@pytest.mark.parametrize(
    ("invite", "told"),
    [
        ({"constants": "guessed"}, r"scheme\.invite\.constants = 'guessed'"),
        ({"compute": -1.0}, r"scheme\.invite\.compute = -1"),
    ],
)
def test_bad_settings_are_refused_by_name(invite, told):
    with pytest.raises(BadInput, match=told):
        build(small("analog", scheme={"invite": {"name": "energy-queue", **invite}}))


@pytest.mark.parametrize("scheme", ["analog", "tcs-h"])
@pytest.mark.parametrize("scalar", [0.7, (1.0, 0.5, 2.0, 0.8) * 3])
def test_the_invitation_foresees_chooses_and_counts_as_the_plain_reading_does(
    plain, scheme, scalar
):
    """At the run's own power scalar; all who are invited speak; packets are not the air's."""
    changed = {"invite": {"name": "energy-queue", "weight": 3.0}}
    setup = build(small(scheme, scheme=changed, radio={**UNEQUAL, "power_scalar": scalar}))
    norm2, queue, held, left_out = [float("nan")] * 6, [0.0] * 6, torch.zeros(6, 102), 0
    allowance = [p * math.ceil((102 if scheme == "analog" else 31) / 8) for p in UNEQUAL["power"]]
    for before, after, report, memory in play(setup, 12):
        sigma = scalar if isinstance(scalar, float) else scalar[before.round]
        gain2, chosen = (report.fading.gain**2).tolist(), np.flatnonzero(report.plan.active)
        if before.round:
            energy = plain.foreseen(norm2, gain2, sigma)
            price = [q * e / a for q, e, a in zip(queue, energy, allowance, strict=True)]
            best = plain.best_set(price, list(range(6)), 3.0)
            assert plain.cost_of(chosen.tolist(), price, 3.0) == pytest.approx(best, rel=1e-9)
        assert report.plan.reason.count("not-invited") == 6 - len(chosen)
        left_out += 6 - len(chosen)
        x, spent = trained(setup, before, chosen) + held[chosen], [0.0] * 6
        for n, row in zip(chosen, x[:, after.support].tolist(), strict=True):
            norm2[n] = sum(v * v for v in row)
            spent[n] = plain.inverted(row, gain2[n], sigma)
        queue, held = plain.owed(queue, spent, allowance), memory
        np.testing.assert_allclose(after.carry["queue"], queue, rtol=1e-9)
    assert left_out > 0


def trained(setup, before, devices):
    """Updates of some devices in the round after a state."""
    turn, learn = Turn(setup.world, before, setup.streams), setup.scheme.learn
    return learn(turn, devices, setup.streams.uniform("batch", turn.round, devices, learn.dice))[0]


def test_segments_that_will_be_silent_are_not_priced():
    """A device whose deep fade is cut off is as cheap as it will be, and is not out for it."""
    setup = build(small(radio=UNEQUAL, scheme={"invite": "energy-queue"}))
    invite = setup.scheme.invite
    turn = turn_at(setup, 1)
    owing = {"queue": np.full(6, 0.5), "norm": np.ones(6), "span": np.array(1.0)}
    turn = dataclasses.replace(turn, state=dataclasses.replace(turn.state, carry=owing))
    gain, silent = np.full((6, 8), 10.0), np.zeros((6, 8), dtype=bool)
    gain[1, 3], gain[3, 2] = 1e-4, 0.0
    silent[1, 3] = silent[3, 2] = True
    heard = invite(turn, Fading(gain, 1e-6, silent=silent)).who
    assert heard[[1, 3, 5]].all()
    assert heard.tolist() == invite(turn, Fading(np.full((6, 8), 10.0), 1e-6)).who.tolist()
    assert not invite(turn, Fading(gain, 1e-6)).who[[1, 3]].any()

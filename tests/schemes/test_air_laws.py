"""Laws of the schemes that speak over the air alone."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from airfeel.build.setup import build
from airfeel.radio.power_control.amplitude import Inversion, Truncated
from airfeel.radio.scheduling.air_plan import AirPlan
from airfeel.radio.scheduling.plan import HybridPlan
from airfeel.segments import air_slots, by_value
from airfeel.types import BadInput, Reason, Turn
from small import play, play_small, small, turn_at

N, M, S = 6, 8, 40
SETUP = build(small())
CLEAN = {"noise": 1e-40, "power": 1e30, "fading": "none"}


def test_plain_analog_is_tcs_h_of_the_whole_model_to_the_bit():
    whole = {"global_sparsity": 1.0, "local_sparsity": 0.0}
    for (_, a, ra, ma), (_, b, rb, mb) in zip(
        play_small("analog"), play_small("tcs-h", scheme=whole), strict=True
    ):
        assert torch.equal(a.theta, b.theta)
        assert torch.equal(ma, mb)
        np.testing.assert_array_equal(ra.costs.energy, rb.costs.energy)
        assert ra.plan.reason == rb.plan.reason


def test_the_plan_for_the_air_with_inversion_is_the_power_rule():
    setup = build(small())
    air = dataclasses.replace(
        setup, scheme=dataclasses.replace(setup.scheme, plan=AirPlan(power_scalar=1.0))
    )
    assert isinstance(setup.scheme.plan, HybridPlan)
    for (_, a, ra, _), (_, b, rb, _) in zip(play(setup, 8), play(air, 8), strict=True):
        assert torch.equal(a.theta, b.theta)
        assert ra.plan.reason == rb.plan.reason


@pytest.mark.parametrize(
    ("scheme", "options"),
    [
        ("baa", {"threshold": 0.0, "power_scalar": 1.0}),
        ("airfl-mem", {"threshold": 0.0, "power_scalar": 1.0}),
        ("cotaf", {}),
    ],
)
def test_without_truncation_and_noise_it_is_fedavg(scheme, options):
    sent = play_small(scheme, radio=CLEAN, scheme={"options": options})
    for (_, mine, report, _), (_, theirs, _, _) in zip(sent, play_small("fedavg"), strict=True):
        assert report.plan.active.all()
        torch.testing.assert_close(mine.theta, theirs.theta, rtol=1e-12, atol=1e-12)


def test_a_low_threshold_and_no_noise_are_fedavg_under_fading_too():
    quiet = {"noise": 1e-40}
    loud = play_small("cotaf", radio=quiet, scheme={"options": {"threshold": 1e-9}})
    for (_, mine, _, _), (_, theirs, _, _) in zip(loud, play_small("fedavg"), strict=True):
        torch.testing.assert_close(mine.theta, theirs.theta, rtol=1e-9, atol=1e-9)


def test_airfl_mem_keeps_exactly_what_was_truncated():
    options = {"scheme": {"options": {"threshold": 0.7}}}
    setup = build(small("airfl-mem", **options))
    for _, _, report, memory in play(setup, 6):
        sent = report.plan.heard & report.plan.active[:, None]
        kept = ~by_value(sent, setup.world.dim)
        assert not memory.numpy()[~kept].any()
        assert (memory.numpy()[kept] != 0.0).mean() > 0.5
        assert kept.any()


def test_cotafs_largest_norm_may_be_that_of_the_last_round():
    """σ_t² = P̄·U·g_th·ḡ/max ‖x‖² with the norms of round t − 1; the first round has its own."""
    setup = build(small("cotaf", scheme={"options": {"norm": "last"}}))
    learn, everyone, peaks = setup.scheme.learn, np.arange(N), []
    for before, after, report, _ in play(setup, 4):
        turn = Turn(setup.world, before, setup.streams)
        dice = setup.streams.uniform("batch", turn.round, everyone, learn.dice)
        x = learn(turn, everyone, dice)[0].numpy()
        peaks.append(max(sum(v * v for v in row) for row in x))
        assert after.carry["peak"] == pytest.approx(peaks[-1], rel=1e-12)
        most = peaks[-2] if len(peaks) > 1 else peaks[0]
        budget = 5e-3 * air_slots(SETUP.world.dim, 8)
        assert report.plan.scalar**2 == pytest.approx(budget * 0.105 * 2.0 / most, rel=1e-9)
    assert (np.abs(np.diff(peaks)) > 0.01 * peaks[0]).all()  # another round's would be seen


def test_cotafs_largest_norm_may_be_a_bound():
    bound = small("cotaf", scheme={"options": {"norm": "bound", "bound": 2.0}})
    scalars = [report.plan.scalar for _, _, report, _ in play(build(bound), 3)]
    power, slots = 5e-3, air_slots(SETUP.world.dim, 8)
    expected = np.sqrt(power * slots / (0.1 * 3 * 2.0) ** 2 * 0.105 * 2.0)
    np.testing.assert_allclose(scalars, expected)


def test_numbers_that_devices_report_are_charged_under_strict_accounting():
    for scheme, bits in (("baa", 32.0), ("cotaf", 32.0), ("analog", 0.0)):
        for _, _, report, _ in play_small(scheme, 3, scheme={"strict_bits": True}):
            assert report.costs.bits == bits * N
            assert (report.costs.slots_digital > 0) == (bits > 0)


def test_who_reports_and_is_silent_then_pays_for_its_report():
    """The fifth is too weak for the policy, which it learns after it has told its norm."""
    gains = {"mean_gain": [1.0, 0.3, 2.0, 1.0, 0.05, 1.5]}
    rounds = play_small("baa", 3, radio=gains, scheme={"strict_bits": True})
    for _, _, report, _ in rounds:
        plan, costs = report.plan, report.costs
        assert not plan.active[4]
        assert plan.reporting.tolist() == (~plan.active).tolist()
        rate = np.log2(1.0 + plan.power[4] * report.fading.gain[4] ** 2 / 1e-6).sum()
        slots = np.ceil(32.0 / rate)
        assert costs.energy[4] == pytest.approx(slots * plan.power[4].sum(), rel=1e-9)
        assert costs.bits == 32.0 * N
    tight = play_small("baa", 8, radio=gains, budget={"slots": 90}, scheme={"strict_bits": True})
    assert (tight[-1][1].spent <= 90 * 5e-3 * (1 + 1e-9)).all()


def test_only_the_strongest_are_invited_in_the_interior():
    gains = {"mean_gain": [1.0, 3.0, 0.5, 2.0, 0.1, 0.2]}
    options = {"options": {"interior": 0.5, "alternating": True}}
    rounds = play_small("baa", 4, radio=gains, scheme=options)
    for before, _, report, _ in rounds:
        uninvited = [r is Reason.NOT_INVITED for r in report.plan.reason]
        near = [False, False, True, False, True, True]
        assert uninvited == (near if before.round % 2 == 0 else [False] * N)


def test_a_policy_takes_the_place_of_another():
    chosen = small("tcs-h", scheme={"plan": "air", "amplitude": {"name": "truncated"}})
    setup = build(chosen)
    assert setup.scheme.plan == AirPlan(amplitude=Truncated(), power_scalar=1.0)
    assert play(setup, 2)
    with pytest.raises(BadInput, match=r"scheme\.amplitude = 'flat': scheme 'tcs-h' has no place"):
        build(small("tcs-h", scheme={"amplitude": "flat"}))
    assert Inversion() == Inversion(5.0)


def test_a_screen_drops_whom_it_does_not_keep():
    def odd(turn, said, fading, able):
        return able & (np.arange(len(able)) % 2 == 1)

    setup = build(small("baa"))
    plan = dataclasses.replace(setup.scheme.plan, screen=odd)
    setup = dataclasses.replace(setup, scheme=dataclasses.replace(setup.scheme, plan=plan))
    for _, _, report, _ in play(setup, 3):
        assert {report.plan.reason[n] for n in (0, 2, 4)} == {Reason.DROPPED}
        assert report.plan.active[1::2].any()
    assert isinstance(turn_at(setup, 1), Turn)


def _everyone(scheme, options, **radio):
    run = {"invite": "everyone", "options": options}
    return play_small(scheme, 6, scheme=run, training={"devices": 5}, radio=radio)


def test_signs_by_air_without_noise_are_signs_in_packets_to_the_bit():
    by_air = {"threshold": 0.0, "power_scalar": 1e9}
    air = _everyone("obda", by_air, noise=1e-40)
    for (_, a, _, _), (_, b, _, _) in zip(air, _everyone("signsgd", {}), strict=True):
        assert torch.equal(a.theta, b.theta)


def test_with_no_strength_of_memory_ef_obda_is_obda():
    weak, plain = _everyone("ef-obda", {"strength": 0.0}), _everyone("obda", {})
    for (_, a, ra, _), (_, b, rb, _) in zip(weak, plain, strict=True):
        assert torch.equal(a.theta, b.theta)
        np.testing.assert_array_equal(ra.costs.energy, rb.costs.energy)


def test_noise_flips_the_sign_of_one_device_as_often_as_the_formula_says():
    alone = {"training": {"devices": 1, "rounds": 40}, "scheme": {"scheduled": 1}}
    e = small("obda", radio={"noise": 2e-3, "fading": "none"}, **alone)
    setup, flips, count = build(e), 0, 0
    rho = 5e-3 / 8  # P̄/M without fading
    for before, after, _, _ in play(setup, 40):
        turn = Turn(setup.world, before, setup.streams)
        dice = setup.streams.uniform("batch", turn.round, np.arange(1), setup.scheme.learn.dice)
        delta = setup.scheme.learn(turn, np.arange(1), dice)[0][0]
        flips += int(((delta >= 0) != (after.update > 0)).sum())
        count += setup.world.dim
    wanted = 0.5 * math.erfc(math.sqrt(rho / 2e-3 / 2.0))
    assert flips / count == pytest.approx(wanted, abs=4.0 * math.sqrt(wanted / count))


def test_without_fading_gbma_is_the_plain_mean():
    quiet = {"noise": 1e-40, "fading": "none"}
    for (_, a, _, _), (_, b, _, _) in zip(
        play_small("gbma", radio=quiet), play_small("fedavg"), strict=True
    ):
        torch.testing.assert_close(a.theta, b.theta, rtol=1e-9, atol=1e-12)

"""Laws of the schemes that speak over the air alone, and of how loud they do."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from airfeel.compress.codecs import Whole
from airfeel.experiment.build import build
from airfeel.radio.air import Hybrid, segment_energy
from airfeel.radio.air_plan import AirPlan
from airfeel.radio.amplitude import Affordable, Flat, Inversion, Own, Precoded, Truncated
from airfeel.radio.fading import Constant, Rayleigh, Rician, Sky
from airfeel.radio.loudness import Ask
from airfeel.radio.plan import HybridPlan
from airfeel.radio.trace import Trace
from airfeel.segments import air_slots, by_value
from airfeel.streams import Streams
from airfeel.types import Agreed, BadInput, Fading, Reason, Said, Turn
from rounds import noises
from small import play, play_small, small, turn_at

N, M, S = 6, 8, 40
SETUP = build(small())
CLEAN = {"noise": 1e-40, "power": 1e30, "fading": "none"}


def asked(x, fading, budget, able=None):
    """A policy's question about symbols x [N S]."""
    n, s = x.shape
    everyone, nothing = np.arange(n), torch.zeros(n, 0, dtype=x.dtype)
    said = Said(
        devices=everyone,
        finite=np.ones(n, dtype=bool),
        agreed=Agreed(torch.arange(s)),
        common=x,
        index=nothing.long(),
        value=nothing,
        bits=np.zeros(n),
        energy=segment_energy(x, M),
        loss=np.zeros(n),
    )
    able = np.ones(n, dtype=bool) if able is None else able
    slots = air_slots(s, M)
    budget = np.broadcast_to(np.asarray(budget, dtype=float), n)
    return Ask(turn_at(SETUP, 1), said, fading, able, budget / slots, budget)


def sky(seed=0, draw=None, mean_gain=1.0):
    setup = dataclasses.replace(SETUP, streams=Streams(seed))
    return Sky(draw or Rayleigh(), 1e-6, mean_gain)(turn_at(setup, 1))


def symbols(seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(scale * rng.normal(size=(N, S)))


def spent(ask, loud):
    return (np.square(loud.amplitude) * ask.energy).sum(axis=1)


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("policy", [Inversion(0.7), Truncated(0.5), Precoded()])
def test_the_noise_of_an_entry_is_that_of_the_air_over_loudness_and_speakers(policy, lanes):
    """σ0²/(σ_t·count)², half of it on each of two lanes: as told, and as it is over 150 draws."""
    ask, codec = asked(symbols(), sky(4), 1.0), Whole(divide="heard")
    said, turn = ask.said, ask.turn
    energy = segment_energy(said.common, M, lanes)
    said = dataclasses.replace(said, energy=energy, lanes=lanes)
    plan = AirPlan(amplitude=policy, alpha=1e9)(turn, said, ask.fading)
    found = []
    for again in noises(turn, 150):
        received, _ = Hybrid()(again, said, ask.fading, plan)
        found.append(codec.decode(again, said.agreed, received).update[:S].numpy())
    decoded = codec.decode(turn, said.agreed, received)
    told = np.broadcast_to(decoded.noise, int(by_value(received.heard > 0, S, lanes).sum()))
    assert received.noise == pytest.approx(1e-6 / lanes / plan.scalar**2, rel=1e-12)
    count = by_value(plan.heard[plan.active].sum(axis=0), S, lanes)
    assert plan.active.all()
    assert (len(set(count)) > 1) != isinstance(policy, Inversion)
    heard = count > 0
    wanted = 1e-6 / lanes / (plan.scalar * count[heard]) ** 2
    np.testing.assert_allclose(told, wanted, rtol=1e-12)
    ratio = np.var(found, axis=0, ddof=1)[heard] / wanted
    assert ratio.mean() == pytest.approx(1.0, abs=5.0 * np.sqrt(2.0 / 150 / heard.sum()))
    assert (np.abs(ratio - 1.0) < 5.0 * np.sqrt(2.0 / 150)).all()


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


@pytest.mark.parametrize("threshold", [0.105, 0.5])
def test_the_share_that_is_sent_is_that_of_gains_above_the_threshold(threshold):
    x, shares = symbols(), []
    for seed in range(60):
        ask = asked(x, sky(seed), 1.0)
        shares.append((Truncated(threshold)(ask).amplitude > 0.0).mean())
    error = 4.0 * np.std(shares) / np.sqrt(len(shares))
    assert np.mean(shares) == pytest.approx(np.exp(-threshold), abs=error)


@pytest.mark.parametrize("draw", [Rayleigh(1.5), Rician(0.8, 2.0), Constant(0.7)])
@pytest.mark.parametrize("what", ["ones", "the same", "anew"])
def test_the_mean_energy_of_the_weakest_device_is_what_it_may_spend(draw, what):
    """P̄·S/M per round where symbols are of unit variance, as signs are, or equally large in the
    mean over rounds; else in the proportion of ‖x‖² to its mean. Within four standard errors."""
    gains, energy = np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0]), []
    share = np.ones(N)
    for seed in range(400):
        x, size = torch.ones(N, S, dtype=torch.float64), 1.0 + seed % 7  # the policy takes that out
        if what != "ones":
            x = symbols(seed, size) if what == "anew" else symbols(0, size) ** 3
        ask = asked(x, sky(seed, draw, tuple(gains)), 2.0)
        if what == "the same":
            share = ask.norm2 / ask.norm2.mean()
        energy.append(spent(ask, Truncated(0.2)(ask)))
    limit = 2.0 / air_slots(S, M) * S / M * 0.5 / gains * share
    error = 4.0 * np.std(energy, axis=0) / np.sqrt(len(energy))
    assert (np.abs(np.mean(energy, axis=0) - limit) <= error + 1e-9).all()
    assert (error < 0.2 * limit).all()
    assert what != "the same" or share.max() > 2.0 * share.min()


@given(scale=st.floats(1e-6, 1e6))
def test_scaling_all_updates_changes_nothing_of_what_is_heard(scale):
    fading = sky(3)
    one, many = (asked(symbols(1, s), fading, 1.0) for s in (1.0, scale))
    a, b = Truncated()(one), Truncated()(many)
    np.testing.assert_allclose(b.amplitude * scale, a.amplitude, rtol=1e-9)
    np.testing.assert_allclose(spent(many, b), spent(one, a), rtol=1e-9)


def test_one_empty_battery_does_not_quiet_everyone():
    fading, power = sky(1), np.array([1.0, 1.0, 1.0, 0.05, 1.0, 0.9])
    ask = asked(symbols(), fading, power)
    loud = Truncated()(ask)
    assert loud.out[Reason.NO_ENERGY].tolist() == [False, False, False, True, False, False]
    alone = Truncated()(asked(symbols(), fading, np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.9])))
    assert loud.scalar == alone.scalar


def test_airfl_mem_keeps_exactly_what_was_truncated():
    options = {"scheme": {"options": {"threshold": 0.7}}}
    setup = build(small("airfl-mem", **options))
    for _, _, report, memory in play(setup, 6):
        sent = report.plan.heard & report.plan.active[:, None]
        kept = ~by_value(sent, setup.world.dim)
        assert not memory.numpy()[~kept].any()
        assert (memory.numpy()[kept] != 0.0).mean() > 0.5
        assert kept.any()


@given(seed=st.integers(0, 200), threshold=st.floats(1e-3, 1.0))
def test_cotaf_never_spends_more_than_its_budget_nor_is_louder_than_its_bound(seed, threshold):
    budget = np.random.default_rng(seed).uniform(0.1, 2.0, N)
    ask = asked(symbols(seed), sky(seed, mean_gain=(1.0, 2.0, 0.1, 1.0, 3.0, 1.0)), budget)
    loud = Precoded(threshold)(ask)
    assert (spent(ask, loud) <= budget * (1 + 1e-9)).all()
    assert loud.amplitude.max() <= np.sqrt(budget.min() / ask.norm2.max()) * (1 + 1e-9)


def test_cotafs_noise_falls_as_updates_do():
    for scale in (1.0, 0.1):
        loud = Precoded()(asked(symbols(0, scale), sky(), 1.0))
        if scale == 1.0:
            first = loud.scalar
    assert loud.scalar == pytest.approx(10.0 * first)


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


@given(
    seed=st.integers(0, 500),
    budget=st.floats(1e-3, 1e3),
    gains=st.sampled_from(["all differ", "few", "one"]),
)
def test_affordable_silences_the_weakest_sub_channels_one_by_one(seed, budget, gains):
    """Of equally weak ones that of the higher index goes first."""
    fading = sky(seed, Constant() if gains == "one" else Rayleigh())
    if gains == "few":
        fading = dataclasses.replace(fading, gain=np.ceil(2.0 * fading.gain))
    ask = asked(symbols(seed), fading, budget)
    loud = Affordable(1.0)(ask)
    for n in range(N):
        gain2, on = ask.fading.gain2[n], set(range(M))
        while on and sum(ask.energy[n][m] / gain2[m] for m in on) > budget:
            on.remove(min(on, key=lambda m, g=gain2: (g[m], -m)))
        assert set(np.flatnonzero(loud.amplitude[n])) == on
        assert loud.out[Reason.NO_CHANNEL][n] == (not on)


def test_own_amplitudes_spend_exactly_what_is_allowed():
    fading, x = sky(2), symbols()
    fading.gain[4, 3] = 0.0
    x[5] = 0.0
    ask = asked(x, fading, np.linspace(0.5, 1.0, N))
    loud = Own()(ask)
    np.testing.assert_allclose(spent(ask, loud)[:4], ask.budget[:4], rtol=1e-12)
    assert np.flatnonzero(loud.out[Reason.NO_CHANNEL]).tolist() == [4]
    assert np.flatnonzero(loud.out[Reason.DROPPED]).tolist() == [5]


def test_flat_amplitudes_stay_within_the_smallest_budget():
    ask = asked(symbols(), sky(), np.linspace(0.5, 1.0, N))
    loud = Flat()(ask)
    assert spent(ask, loud).max() == pytest.approx(0.5)
    sigma = loud.amplitude.max()
    assert (loud.amplitude == sigma).all()
    assert loud.scalar == pytest.approx(sigma * np.sqrt(np.pi / 2.0))


@pytest.mark.parametrize("policy", [Truncated(), Precoded(), Flat(), Own(), Affordable()])
def test_a_policy_answers_where_nobody_may_speak_or_nobody_has_anything_to_say(policy):
    nobody = np.zeros(N, dtype=bool)
    for ask in (asked(symbols(), sky(), 1.0, nobody), asked(symbols() * 0.0, sky(), 1.0)):
        loud = policy(ask)
        assert 0.0 < loud.scalar < np.inf
        assert np.isfinite(loud.amplitude).all()


def test_a_policy_lives_with_dead_channels(tmp_path):
    gains = np.random.default_rng(0).rayleigh(size=(3, N, M))
    gains[:, 1] = 0.0
    np.save(tmp_path / "gains.npy", gains)
    fading = sky(draw=Trace(str(tmp_path / "gains.npy")))
    for policy in (Truncated(), Precoded(), Own(), Affordable()):
        loud = policy(asked(symbols(), fading, 1.0))
        assert any(who[1] for who in loud.out.values())
        assert np.isfinite(loud.amplitude).all()


def test_what_a_policy_cannot_do_is_refused_in_one_line():
    unknown = Fading(np.ones((N, M)), 1e-6)
    for policy in (Truncated(), Precoded(), Flat()):
        with pytest.raises(BadInput, match="tells no mean"):
            policy(asked(symbols(), unknown, 1.0))
    with pytest.raises(BadInput, match=r"threshold = 0\.0: inversion of all gains has no mean"):
        Truncated(0.0)(asked(symbols(), sky(), 1.0))
    with pytest.raises(BadInput, match=r"threshold = 2\.0: no gain is ever so large"):
        Truncated(2.0)(asked(symbols(), sky(draw=Constant()), 1.0))
    with pytest.raises(BadInput, match="threshold = 0: must be above 0"):
        Precoded(0.0)
    with pytest.raises(BadInput, match="bound = None: must be given with norm = 'bound'"):
        Precoded(norm="bound")


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


def test_over_the_sky_gbma_is_unbiased():
    x, found = symbols(), []
    for seed in range(500):
        ask = asked(x, sky(seed), 1.0)
        loud = Flat()(ask)
        heard = by_value(ask.fading.gain * loud.amplitude / loud.scalar, S)
        found.append((heard * x.numpy()).mean(axis=0))
    error = 5.0 * np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - x.numpy().mean(axis=0)) <= error).all()

"""Laws of how loud devices speak over the air: amplitude policies, each asked on its own."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from airfeel.build.setup import build
from airfeel.compression.codecs import Whole
from airfeel.radio.channel.fading import Constant, Rayleigh, Rician, Sky
from airfeel.radio.channel.trace import Trace
from airfeel.radio.energy import segment_energy
from airfeel.radio.power_control.amplitude import (
    Affordable,
    Flat,
    Inversion,
    Own,
    Precoded,
    Truncated,
)
from airfeel.radio.power_control.power_context import Ask
from airfeel.radio.scheduling.air_plan import AirPlan
from airfeel.radio.transmission.air import Hybrid
from airfeel.segments import air_slots, by_value
from airfeel.streams import Streams
from airfeel.types import Agreed, BadInput, Fading, Reason, Said
from rounds import noises
from small import small, turn_at

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


def test_over_the_sky_gbma_is_unbiased():
    x, found = symbols(), []
    for seed in range(500):
        ask = asked(x, sky(seed), 1.0)
        loud = Flat()(ask)
        heard = by_value(ask.fading.gain * loud.amplitude / loud.scalar, S)
        found.append((heard * x.numpy()).mean(axis=0))
    error = 5.0 * np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - x.numpy().mean(axis=0)) <= error).all()

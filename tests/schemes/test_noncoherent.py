"""Laws of schemes that know no gains: unbiased, with the variance that is said; a plain reading."""

import dataclasses
import importlib
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from airfeel.build.setup import build
from airfeel.compression.energies import DitheredEnergies, PairedEnergies
from airfeel.radio.transmission.square_law import received_power
from airfeel.types import BadInput, Turn
from small import play, small, turn_at

N, M, D = 4, 8, 16
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, D))


@pytest.fixture
def plain(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "plain"))
    return importlib.import_module("energy_plain")


def measured(symbols, noise, draws):
    """Energies (|y|² − σ0²)/ρ at ρ = 1 and ḡ = 1 over many skies, phases and noises."""
    everyone, found = np.ones(len(symbols), dtype=bool), []
    for _ in range(draws):
        gain = RNG.rayleigh(np.sqrt(0.5), size=(len(symbols), M))
        phase = RNG.random(symbols.shape)
        found.append(received_power(symbols, gain, phase, everyone, noise, rng=RNG) - noise)
    return np.array(found)


def test_measured_energies_are_unbiased_and_as_noisy_as_is_said():
    a = np.abs(X)
    noise, draws = 0.5, 6000
    found, total = measured(np.sqrt(a), noise, draws), a.sum(axis=0)
    error = 5.0 * found.std(axis=0) / np.sqrt(draws)
    assert (np.abs(found.mean(axis=0) - total) <= error).all()
    np.testing.assert_allclose(found.var(axis=0), (total + noise) ** 2, rtol=0.25)
    assert found.var(axis=0).mean() == pytest.approx(((total + noise) ** 2).mean(), rel=0.05)


def test_paired_energies_have_the_variance_that_is_said():
    above, below = np.maximum(X, 0.0), np.maximum(-X, 0.0)
    noise, draws = 0.3, 6000
    found = measured(np.sqrt(np.hstack([above, below])), noise, draws)
    found = found[:, :D] - found[:, D:]
    p, q = above.sum(axis=0), below.sum(axis=0)
    error = 5.0 * found.std(axis=0) / np.sqrt(draws)
    assert (np.abs(found.mean(axis=0) - X.sum(axis=0)) <= error).all()
    wanted = (p + noise) ** 2 + (q + noise) ** 2
    assert found.var(axis=0).mean() == pytest.approx(wanted.mean(), rel=0.05)


def test_the_memory_keeps_what_the_signs_did_not_let_through():
    setup, x = build(small("ncairfl")), torch.from_numpy(RNG.normal(size=(3, 102)))
    agreed = DitheredEnergies().agree(turn_at(setup, 1))
    words = DitheredEnergies().encode(x, agreed, np.arange(3), np.zeros((3, 0)))
    left = x - words.common
    a2 = words.signal.pow(4).sum(dim=1)
    torch.testing.assert_close(left.square().sum(dim=1), x.square().sum(dim=1) - a2)
    assert not (left * words.common).any()
    share = float((a2 / x.square().sum(dim=1)).mean())
    assert share == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize("weights", ["equal", "samples"])
@pytest.mark.parametrize("scheme", ["ncairfl", "reed"])
def test_library_equals_plain_reading(plain, scheme, weights):
    """Half of the devices at random; by data size a device's energies count w times."""
    changes = {"training": {"weights": weights}, "data": {"partition": "dirichlet", "alpha": 0.5}}
    radio = {"mean_gain": [1.0, 0.3, 2.0, 1.0, 0.1, 1.5]}
    setup = build(small(scheme, radio=radio, scheme={"scheduled": None}, **changes))
    world, streams, values = setup.world, setup.streams, 102 if scheme == "ncairfl" else 204
    short, rest = divmod(values, 8)
    place = [m for m in range(8) for _ in range(short + (m < rest))]
    samples, held = [len(shard) for shard in world.shards], np.zeros((6, 102))
    w = [6 * s / sum(samples) if weights == "samples" else 1.0 for s in samples]
    for before, after, report, memory in play(setup, 4):
        turn = Turn(world, before, streams)
        who = np.sort(np.argsort(turn.rng("invite").random(6))[:3])
        assert np.flatnonzero(report.plan.active).tolist() == who.tolist()
        dice = streams.uniform("batch", turn.round, who, setup.scheme.learn.dice)
        delta = setup.scheme.learn(turn, who, dice)[0].numpy()
        sign = np.where(turn.rng("dither").random(102) < 0.5, -1.0, 1.0)
        x = {n: delta[i] + held[n] for i, n in enumerate(who)}
        said = {n: plain.ncairfl(x[n], sign) for n in who}
        symbols = {n: said[n][1] if scheme == "ncairfl" else plain.reed(x[n]) for n in who}
        symbols = {n: [math.sqrt(w[n]) * s for s in symbols[n]] for n in who}
        slots = math.ceil(values / 8)
        mean2 = [2.0 * g for g in radio["mean_gain"]]
        rho, loud = plain.loudness(symbols, mean2, [5e-3 * slots] * 6)
        phase = dict(zip(who, streams.uniform("rotation", turn.round, who, values), strict=True))
        z = np.sqrt(1e-6 / 2.0) * turn.rng("air").standard_normal((2, values))
        power = plain.measure(symbols, loud, report.fading.gain, phase, z, place)
        r = (np.array(power) - 1e-6) / rho / sum(w[n] for n in who)
        update = sign * r if scheme == "ncairfl" else r[:102] - r[102:]
        np.testing.assert_allclose(after.update.numpy(), update, rtol=1e-9, atol=1e-12)
        energy = [loud[n] ** 2 * sum(s * s for s in symbols[n]) for n in who]
        np.testing.assert_allclose(report.costs.energy[who], energy, rtol=1e-9)
        assert max(energy) / (5e-3 * slots) == pytest.approx(1.0)
        assert report.costs.slots_air == slots
        if scheme == "ncairfl":
            for n in who:
                held[n] = x[n] - said[n][0]
            np.testing.assert_allclose(memory.numpy(), held, rtol=1e-9, atol=1e-12)
    assert PairedEnergies().memory.buffers == ()


def test_radios_that_are_not_ideal_are_refused_by_name():
    setup = build(small("reed"))
    sky = setup.scheme.fade

    def turned(turn):
        fading = sky(turn)
        return dataclasses.replace(fading, residual=np.ones_like(fading.gain) + 0j)

    bent = dataclasses.replace(setup, scheme=dataclasses.replace(setup.scheme, fade=turned))
    with pytest.raises(BadInput, match=r"scheme\.transmit = 'square-law': takes ideal radios"):
        play(bent, 1)

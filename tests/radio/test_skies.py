"""Complex channels, Nakagami, tapped delay lines, and rounds that follow each other.

Statistics are of 1e5 draws or more, within four standard errors.
"""

import numpy as np
import pytest
from scipy.special import j0

import airfeel
from airfeel.build.setup import build
from airfeel.radio.channel.correlation import GaussMarkov, Jakes, correlate
from airfeel.radio.channel.doppler import sinusoids
from airfeel.radio.channel.fading import Constant, Nakagami, Rayleigh, Rician, moments_of
from airfeel.radio.channel.gaussian import complex_normal, normal
from airfeel.radio.channel.profiles import frequencies, response, taps
from airfeel.radio.channel.tdl import Tdl
from airfeel.radio.channel.waves import waves_of
from airfeel.settings.load import experiment
from airfeel.streams import Streams
from airfeel.types import BadInput
from rounds import turn
from small import BASE, play, small
from stopping import content, interrupted

RNG = np.random.default_rng
SCALE = 1.5
OMEGA = 2 * SCALE**2
DRAWS = [
    Constant(np.sqrt(OMEGA)),
    Rayleigh(SCALE),
    Rician(SCALE, factor=3.0),
    Nakagami(SCALE, m=0.7),
    Nakagami(SCALE, m=4.0),
    *(Tdl(letter, scale=SCALE) for letter in "ABCDE"),
]


def assert_mean(values, wanted):
    """The mean of independent values is as told, within four standard errors."""
    values = np.asarray(values)
    for part, target in ((values.real, np.real(wanted)), (values.imag, np.imag(wanted))):
        error = part.std() / np.sqrt(part.size)
        assert abs(part.mean() - target) <= 4 * error + 1e-12


def test_gaussian_numbers_have_their_moments():
    w = complex_normal(RNG(1).random((100_000, 2)))
    assert_mean(w, 0)
    assert_mean(np.abs(w) ** 2, 1)
    assert_mean(w**2, 0)
    assert_mean(np.abs(w) ** 4, 2)
    z = normal(RNG(2).random(100_000))
    assert_mean(z, 0)
    assert_mean(z**2, 1)
    assert_mean(z**4, 3)
    assert np.isfinite(normal(np.zeros(1))).all()


@pytest.mark.parametrize("draw", DRAWS, ids=repr)
def test_mean_power_is_omega_and_phases_are_uniform(draw):
    """One sub-channel of many devices: these are independent in every model."""
    h = waves_of(draw, turn(100_000, 1))
    assert h.shape == (100_000, 1, 1)
    assert_mean(np.abs(h) ** 2, OMEGA)
    for k in (1, 2, 3):
        assert_mean((h / np.abs(h)) ** k, 0)
    np.testing.assert_allclose(np.abs(h[..., 0]), draw(turn(100_000, 1)), rtol=1e-12)


@pytest.mark.parametrize("draw", DRAWS, ids=repr)
def test_antennas_have_the_same_power_and_scattered_parts_are_independent(draw):
    h = waves_of(draw, turn(50_000, 1, round=3), 2)[:, 0]
    assert_mean(np.abs(h) ** 2, OMEGA)
    sight = {Rician: 0.75, Tdl: taps(getattr(draw, "profile", "A")).sight}.get(type(draw), 0.0)
    assert_mean(h[:, 0] * h[:, 1].conj(), sight * OMEGA)


@pytest.mark.parametrize("m", [0.5, 1.0, 3.0])
def test_nakagami_variance(m):
    power = Nakagami(SCALE, m)(turn(100_000, 1)) ** 2
    assert_mean((power - OMEGA) ** 2, OMEGA**2 / m)


@pytest.mark.parametrize(
    "draw",
    [
        Nakagami(SCALE, 0.6),
        Nakagami(SCALE, 1.0),
        Nakagami(SCALE, 2.5),
        Tdl("B"),
        Tdl("D"),
        Tdl("E"),
    ],
    ids=repr,
)
def test_draws_know_their_means(draw):
    known, power = moments_of(draw), draw(turn(100_000, 1)) ** 2
    assert_mean(power, known.mean2)
    gamma = power / known.mean2
    assert_mean(np.sqrt(gamma), known.root())
    assert_mean(np.where(gamma >= 0.1, 1 / gamma, 0), known.inverse(0.1))


def test_nakagami_of_one_is_rayleigh():
    np.testing.assert_allclose(
        Nakagami(SCALE, 1.0)(turn(50, 20)), Rayleigh(SCALE)(turn(50, 20)), rtol=1e-14 * 50
    )


def test_profiles_have_their_delay_spread_and_coherence():
    """Root mean square delays of the tables are 1; correlation over 1 MHz at 100 ns."""
    spread = {"A": 1.0001, "B": 1.0000, "C": 1.0000, "D": 0.9937, "E": 1.0002}
    for letter, wanted in spread.items():
        line = taps(letter)
        delay, power = np.append(line.delay, 0.0), np.append(line.power, line.sight)
        assert power.sum() == pytest.approx(1.0, abs=1e-12)
        mean = power @ delay
        assert np.sqrt(power @ delay**2 - mean**2) == pytest.approx(wanted, abs=5e-5)
    for letter, wanted in {"A": 0.855, "B": 0.846, "C": 0.902}.items():
        line = taps(letter)
        found = abs(line.power @ np.exp(-2j * np.pi * 1e6 * line.delay * 1e-7))
        assert found == pytest.approx(wanted, abs=5e-4)


@pytest.mark.parametrize("letter", "ABCDE")
def test_neighbouring_subchannels_fade_as_the_delays_say(letter):
    line, h = taps(letter), waves_of(Tdl(letter), turn(100_000, 4))[..., 0] / np.sqrt(2)
    for step in (1, 3):
        turns = np.exp(-2j * np.pi * step * 1e6 * line.delay * 1e-7)
        assert_mean(h[:, step] * h[:, 0].conj(), line.power @ turns + line.sight)


def test_a_response_in_loops():
    rng = RNG(5)
    a, tau = rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4)), rng.random(4) * 1e-6
    f = frequencies(5, 1e6)
    found = response(a, tau, f)
    for n in range(3):
        for m in range(5):
            f_m = (m - 2) * 1e6
            wanted = sum(a[n, k] * np.exp(-2j * np.pi * f_m * tau[k]) for k in range(4))
            assert found[n, m] == pytest.approx(wanted, abs=1e-12)


def test_sums_of_sinusoids_turn_with_j0():
    """100 000 waves of 20 sinusoids each, at eight lags; fourth moment 2 − 1/P."""
    rng = RNG(7)
    angle, phase = rng.random((100_000, 20)) - 0.5, 2 * np.pi * (rng.random((100_000, 20)) - 0.5)
    first = sinusoids(angle, phase, 10.0, 0.3)
    assert_mean(np.abs(first) ** 4, 2 - 1 / 20)
    for lag in (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.1):
        later = sinusoids(angle, phase, 10.0, 0.3 + lag)
        assert_mean(later * first.conj(), j0(2 * np.pi * 10.0 * lag))


@pytest.mark.parametrize("draw", [Rayleigh(SCALE), Tdl("C", scale=SCALE)], ids=repr)
def test_jakes_over_rounds(draw):
    sky = Jakes(draw, doppler=1.2, seconds=0.1)
    n = 50_000 if isinstance(draw, Rayleigh) else 4_000
    first = waves_of(sky, turn(n, 1, round=2))
    assert_mean(np.abs(first) ** 2, OMEGA)
    for lag in (1, 4):
        found = waves_of(sky, turn(n, 1, round=2 + lag))
        assert_mean(found * first.conj(), OMEGA * j0(2 * np.pi * 1.2 * 0.1 * lag))


@pytest.mark.parametrize(
    "draw", [Rayleigh(SCALE), Rician(SCALE, 2.0), Tdl("E", scale=SCALE)], ids=repr
)
def test_gauss_markov_over_rounds(draw):
    sky = GaussMarkov(draw, rho=0.8)
    first = waves_of(sky, turn(100_000, 1, round=2))
    sight = {Rician: 2 / 3, Tdl: taps("E").sight}.get(type(draw), 0.0)
    assert_mean(np.abs(first) ** 2, OMEGA)
    for lag in (1, 3):
        found = waves_of(sky, turn(100_000, 1, round=2 + lag))
        assert_mean(found * first.conj(), OMEGA * (sight + (1 - sight) * 0.8**lag))


def test_gauss_markov_in_loops():
    """h_t = ρh_{t−1} + √(1 − ρ²)w_t from the very dice of each round."""
    rho, h = 0.6, None
    for t in range(5):
        u, v = (Streams(0).rng(room, t).random((6, 8)) for room in ("fading", "phase"))
        w = np.sqrt(-2 * np.log1p(-u)) * np.exp(2j * np.pi * v)
        h = w if h is None else rho * h + np.sqrt(1 - rho**2) * w
    np.testing.assert_allclose(
        GaussMarkov(Rayleigh(), rho).waves(turn(round=4), 1)[..., 0], h, rtol=1e-12
    )


def test_no_correlation_is_the_draw_itself():
    draw = Rayleigh()
    assert correlate(draw, "gauss-markov", 0.0, 3.5e9, 0.1, 0.0) is draw
    assert correlate(draw, "block", 3.0, 3.5e9, 0.1, None) is draw
    block, zero = (
        play(build(small(radio=radio)), 3)
        for radio in ({}, {"correlation": "gauss-markov", "rho": 0.0})
    )
    for (_, one, *_), (_, two, *_) in zip(block, zero, strict=True):
        assert (one.theta == two.theta).all()


SKIES = [
    {"correlation": "gauss-markov", "rho": 0.9},
    {"correlation": "jakes", "speed": 1.0},
    {"fading": "tdl", "correlation": "jakes", "speed": 1.0, "profile": "D"},
    {"fading": "rician", "correlation": "gauss-markov", "speed": 0.3},
    {"fading": "tdl", "profile": "B", "delay_spread": 3e-7},
    {"fading": "nakagami", "nakagami_m": 2.0},
]


@pytest.mark.parametrize("radio", SKIES, ids=str)
def test_rows_belong_to_devices(radio):
    few, many = (
        build(small(radio=radio, training={"devices": n})).scheme.fade.draw for n in (6, 9)
    )
    for antennas in (1, 3):
        some = waves_of(few, turn(6, 8, round=3), antennas)
        np.testing.assert_array_equal(waves_of(many, turn(9, 8, round=3), antennas)[:6], some)


@pytest.mark.parametrize("radio", SKIES[:4], ids=str)
def test_a_resumed_run_meets_the_same_sky(radio, tmp_path):
    table = {section: dict(keys) for section, keys in BASE.items()}
    table["radio"] |= radio
    table["training"]["rounds"] = 7
    e = experiment(table)
    airfeel.run(e, tmp_path / "whole")
    airfeel.resume(interrupted(tmp_path / "broken", 3, e))
    assert content(tmp_path / "broken") == content(tmp_path / "whole")


@pytest.mark.parametrize(
    ("radio", "message"),
    [
        ({"fading": "nakagami", "correlation": "jakes"}, "radio.correlation = 'jakes'"),
        ({"fading": "none", "correlation": "gauss-markov"}, "radio.correlation"),
        ({"correlation": "gauss-markov"}, r"radio.speed = 0.0: gives ρ = 1.0"),
        ({"rho": 0.5}, r"radio.rho = 0.5"),
        ({"fading": "tdl", "profile": "Z"}, "radio.profile"),
        ({"fading": {"name": "tdl", "profile": "Z"}}, "radio.fading.profile = 'Z'"),
        ({"fading": "nakagami", "nakagami_m": 0.2}, "radio.nakagami_m"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_by_name(radio, message):
    with pytest.raises(BadInput, match=message):
        build(small(radio=radio))


def test_taps_longer_than_the_prefix_are_refused():
    radio = {"fading": "tdl", "delay_spread": 6e-7}
    build(small(radio=radio))
    with pytest.raises(BadInput, match=r"radio\.delay_spread = 6e-07.*link\.cp_seconds"):
        build(small(radio=radio, link={"subcarriers": 12}))


def test_timing_and_the_last_tap_must_fit_into_the_prefix_together(tmp_path):
    """Each of them would: 3.9 µs of taps (TDL-A of 400 ns) beside ±0.5 µs in 4.7 µs."""
    taps = {"fading": "tdl", "delay_spread": 4e-7}
    file = tmp_path / "paths.npz"
    delay = np.array([[1e-5, 1e-5 + 3.9e-6]] * 6)  # what is common to all paths does not count
    np.savez(file, amplitude=np.ones((6, 2), complex), delay=delay)
    for radio in (taps, {"fading": "trace", "trace": str(file)}):
        build(small(radio=radio, link={"subcarriers": 12}))
        build(small(radio=radio, sync={"timing": 5e-7}))
        with pytest.raises(BadInput, match=r"^sync.timing = 5e-07: the last tap at 3.*waveform"):
            build(small(radio=radio, link={"subcarriers": 12}, sync={"timing": 5e-7}))


def test_subcarriers_widen_subchannels():
    """S·Δ = S/(S·T_s − prefix): 12 sub-carriers of 15 kHz in a slot of 5.95 µs."""
    slot = (1 / 15e3 + 4.7e-6) / 12
    sky = build(
        small(radio={"fading": "tdl", "symbol_seconds": slot}, link={"subcarriers": 12})
    ).scheme.fade
    assert sky.draw.spacing == pytest.approx(12 * 15e3)


def test_gauss_markov_with_antennas_draws_each_round_once(monkeypatch):
    """A sky that is asked for one antenna and for three goes on from where it was with both."""
    drawn, fresh = [], Rayleigh.fresh

    def watched(self, turn, round, antennas):
        drawn.append((round, antennas))
        return fresh(self, turn, round, antennas)

    monkeypatch.setattr(Rayleigh, "fresh", watched)
    sky = GaussMarkov(Rayleigh(), 0.9)
    for t in range(1, 7):
        one, three = sky.waves(turn(round=t), 1), sky.waves(turn(round=t), 3)
    assert sorted(drawn) == [(t, r) for t in range(7) for r in (1, 3)]
    new = GaussMarkov(Rayleigh(), 0.9)
    np.testing.assert_array_equal(new.waves(turn(round=6), 3), three)
    np.testing.assert_array_equal(new.waves(turn(round=6), 1), one)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (
            {"model": "uma", "device_height": 14.0},
            r"cell\.device_height = 14\.0: must be at most 13",
        ),
        ({"model": "uma", "device_height": 1.0}, r"cell\.device_height = 1\.0: must be above 1 m"),
        ({"model": "umi", "device_height": 0.5}, r"cell\.device_height = 0\.5: must be above 1 m"),
        ({"model": "umi", "bs_height": 1.0}, r"cell\.bs_height = 1\.0: must be above 1 m"),
    ],
    ids=str,
)
def test_heights_that_the_models_do_not_hold_for_are_refused(cell, message):
    build(small(cell={"model": "inh"}))
    build(small(cell={"model": "uma", "device_height": 13.0}))
    with pytest.raises(BadInput, match=message):
        build(small(cell=cell))

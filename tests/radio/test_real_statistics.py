"""Closed forms of what real radios do: means of 1e5 draws within four standard errors."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import exp1, j0
from scipy.stats import ncx2

from airfeel.radio.channel.cell import Cell
from airfeel.radio.channel.gaussian import complex_normal
from airfeel.radio.impairments.channel_estimation import Sounding
from airfeel.radio.impairments.front_end import convert
from airfeel.radio.impairments.mcs import mcs_table
from airfeel.radio.impairments.synchronization import Clocks
from airfeel.types import Link, Turn

N = 100_000
OMEGA = 2.0
RNG = np.random.default_rng(7)


class OneRoom(Turn):
    """A turn that has nothing but dice."""

    world = SimpleNamespace(devices=N)

    def __init__(self):
        pass

    def rng(self, room):
        return np.random.default_rng([11, *room.encode()])


def channel():
    return math.sqrt(OMEGA) * complex_normal(np.random.default_rng(3).random((N, 1, 2)))


def near(samples, mean):
    """Whether a mean is within four standard errors of what it must be."""
    error = np.std(samples) / math.sqrt(len(samples))
    assert abs(np.mean(samples) - mean) < 4.0 * error, (np.mean(samples), mean, error)


def known(error, **more):
    h, each = channel(), np.full(N, OMEGA)
    sounding = Sounding(error=error, **more)
    return h, *sounding.sound(h, np.full(N, error), each, OneRoom())


@pytest.mark.parametrize("error", [0.3, 0.01])
def test_estimates_are_those_of_least_mean_square(error):
    h, estimate, _ = known(error)
    near(np.abs(estimate[:, 0]) ** 2, OMEGA * (1.0 - error))
    near((estimate.conj() * (h - estimate))[:, 0].real, 0.0)
    near((estimate.conj() * (h - estimate))[:, 0].imag, 0.0)


@pytest.mark.parametrize("error", [0.1, 0.01])
def test_misalignment_of_an_estimate_has_its_closed_form(error):
    h, estimate, _ = known(error)
    g, mean = 0.05, OMEGA * (1.0 - error)
    heard = np.abs(estimate[:, 0]) ** 2 >= g
    off = h[heard, 0] / estimate[heard, 0] - 1.0
    wanted = OMEGA * error * exp1(g / mean) * math.exp(g / mean) / mean
    near(np.abs(off) ** 2, wanted)
    near(off.real**2, wanted / 2.0)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_fed_back_phases_are_off_as_told(bits):
    h = channel()
    heard = Sounding(phase_bits=bits).fed_back(h, np.full(N, OMEGA))
    near(np.abs(h / heard - 1.0)[:, 0] ** 2, 2.0 * (1.0 - np.sinc(2.0**-bits)))
    assert np.allclose(np.abs(heard), np.abs(h), rtol=1e-12)


def test_fed_back_magnitudes_lie_on_their_levels_and_deep_fades_are_silent():
    h = channel()
    heard = np.abs(Sounding(magnitude_bits=3).fed_back(h, np.full(N, OMEGA)))[:, 0]
    step = 40.0 / 7.0
    with np.errstate(divide="ignore"):
        level = (20.0 * np.log10(heard / math.sqrt(OMEGA)) + 30.0) / step
        true = (20.0 * np.log10(np.abs(h[:, 0]) / math.sqrt(OMEGA)) + 30.0) / step
    spoke = heard > 0.0
    assert np.array_equal(spoke, true >= -0.5)
    assert np.allclose(level[spoke], np.round(level[spoke]), atol=1e-9)
    assert np.abs(level - true)[spoke].max() <= 0.5 + 1e-9


def test_ageing_and_estimation_are_one_number():
    sounding = Sounding(error=0.1, age_air=0.01, doppler=11.7)
    rho = 0.8698  # J0(2π·11.7·0.01)
    assert sounding.errors(np.ones(1), np.ones(1), 1.0)[0] == pytest.approx(
        1.0 - rho**2 * 0.9, abs=1e-3
    )
    assert Sounding(pilots=1).errors(np.array([2e-4]), np.array([2.0]), 1e-6)[0] == pytest.approx(
        0.0025, abs=1e-4
    )


def test_a_channel_that_is_met_later_is_correlated_as_jakes_says():
    h, _, later = known(0.1, age_digital=0.01, doppler=11.7)
    near((later * h.conj())[:, 0].real, OMEGA * j0(2.0 * math.pi * 11.7 * 0.01))
    near((later * h.conj())[:, 0].imag, 0.0)
    near(np.abs(later[:, 0]) ** 2, OMEGA)


@pytest.mark.parametrize(("margin_db", "wanted"), [(1.0, 0.127), (2.0, 0.017), (0.0, None)])
def test_outage_behind_an_estimate_is_a_noncentral_chi_square(margin_db, wanted):
    error, mu = 0.01, 10.0 ** (margin_db / 10.0)
    size2 = OMEGA / 2.0  # |ĥ|², given: h = ĥ + an error of variance Ωε
    h = math.sqrt(size2) + math.sqrt(OMEGA * error) * complex_normal(
        np.random.default_rng(5).random((N, 2))
    )
    link = Link(margin=mu)
    snr = 1e4
    asked = link.rates(np.full((N, 1), snr * size2 / mu))
    lost = asked > link.rates(snr * np.abs(h[:, None]) ** 2)
    spread = 2.0 / (OMEGA * error)
    closed = ncx2.cdf(spread * size2 / mu, 2, spread * size2)
    near(lost.astype(float), closed)
    if wanted is not None:
        assert closed == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("spread", [0.1, 1.0])
def test_phases_cost_what_gaussian_phases_cost(spread):
    phase = Clocks(phase=spread).draw(OneRoom()).phase
    near((np.cos(phase) - 1.0) ** 2, _real(spread))
    near(np.abs(np.exp(1j * phase) - 1.0) ** 2, 2.0 * (1.0 - math.exp(-(spread**2) / 2.0)))


def _real(s):
    return 1.0 - 2.0 * math.exp(-(s**2) / 2.0) + (1.0 + math.exp(-2.0 * s**2)) / 2.0


def test_timing_turns_outer_sub_channels_as_told():
    offsets = Clocks(timing=3e-8).draw(OneRoom())
    off = np.abs(offsets.residual(25, 1e6) - 1.0) ** 2
    for m in (0, 5):
        near(off[:, m], 2.0 * (1.0 - np.sinc(2.0 * (m - 12) * 1e6 * 3e-8)))
    assert (off[:, 12] == 0.0).all()


def test_a_tenth_of_a_ppm_turns_the_papers_air_phase_by_almost_five_radians():
    offsets = Clocks(cfo=350.0).draw(OneRoom())
    turned = offsets.spin(1, 1e6, 1e-6)[:, 0] * 2072
    near(turned**2, (2 * math.pi * 350.0 * 2072e-6) ** 2)


def test_clocks_that_drift_turn_a_sub_channel_by_its_frequency():
    """E(2πT_s·f_m·ξ)² after as many slots, f_m of the outermost of 25 sub-channels."""
    turned = Clocks(clock=1e-7).draw(OneRoom()).spin(25, 1e6, 1e-6)[:, 0] * 2072
    near(turned**2, (2 * math.pi * 12e6 * 1e-7 * 2072e-6) ** 2)


@pytest.mark.parametrize("bits", [4, 6, 8])
def test_converters_have_their_noise(bits):
    x = RNG.standard_normal(N)
    levels = 2 ** (bits - 1) - 1
    error = (convert(x, bits) - x) ** 2
    scale = 4.0 * math.sqrt(np.mean(x**2))
    near(error[np.abs(x) < scale], scale**2 / (12.0 * levels**2))  # six in 1e5 are clipped
    sqnr = 10.0 * math.log10(np.mean(x**2) / np.mean(error))
    assert sqnr == pytest.approx(10.0 * math.log10(12.0 * levels**2 / 16.0), abs=0.3)


def test_places_are_uniform_on_the_ring():
    place = Cell("umi", radius=100.0, min_distance=20.0).settle(RNG.random((N, 4)))
    for d in (30.0, 60.0, 90.0):
        near((place.distance <= d).astype(float), (d**2 - 400.0) / (10_000.0 - 400.0))
    near(place.sight.astype(float), float(np.mean(Cell("umi").sight_chance(place.distance))))


def test_the_paper_in_metres():
    """5 mW at 3.5 GHz over 36.0 m UMi with a line of sight is the paper's sky."""
    tall = Cell("umi", shadowing_db=0.0, los="always")  # 36.0 m through the air, not on the ground
    ground = np.sqrt(36.0**2 - 8.5**2)
    loss = tall.path_loss_db(np.array([ground]), np.array([True]))
    gain = 10.0 ** (-loss / 10.0) * (1e-6 / tall.noise(1e-6)) / 2.0
    assert gain[0] == pytest.approx(1.0, abs=1e-3)
    assert loss[0] == pytest.approx(76.0, abs=0.05)
    assert tall.noise(1e-6) == pytest.approx(1.266e-14, rel=1e-3)
    for model, metres, sight in (("umi", 15.5, False), ("inh", 77.5, True)):
        other = Cell(model)
        mast, hand = other.heights
        d2 = np.array([math.sqrt(metres**2 - (mast - hand) ** 2)])
        assert other.path_loss_db(d2, np.array([sight]))[0] == pytest.approx(76.0, abs=0.1)
    free = Cell("free-space")
    d2 = np.array([math.sqrt(42.8**2 - 8.5**2)])
    assert free.path_loss_db(d2, np.array([True]))[0] == pytest.approx(76.0, abs=0.1)


def test_path_loss_has_no_jump_where_its_slope_changes():
    cell = Cell("umi")
    edge = 4.0 * 9.0 * 0.5 * 3.5e9 / 299_792_458.0
    loss = cell.path_loss_db(edge * np.array([1 - 1e-9, 1 + 1e-9]), np.array([True, True]))
    assert loss[0] == pytest.approx(loss[1], abs=1e-6)


def test_one_more_device_moves_nobody():
    u = np.random.default_rng(1).random((6, 4))
    cell = Cell("uma", radius=300.0)
    few, many = cell.settle(u[:5]), cell.settle(u)
    assert np.array_equal(few.loss_db, many.loss_db[:5])
    assert np.array_equal(few.distance, many.distance[:5])


@pytest.mark.parametrize(
    ("settings", "off"),
    [
        ([{"error": e} for e in (0.003, 0.03, 0.3)], "estimate"),
        ([{"phase_bits": b} for b in (6, 4, 2, 1)], "feedback"),
        ([{"magnitude_bits": b} for b in (7, 5, 3)], "feedback"),
        ([{"phase": p} for p in (0.1, 0.5, 1.5)], "clocks"),
        ([{"timing": t} for t in (5e-9, 2e-8, 4e-8)], "clocks"),
        ([{"cfo": f} for f in (50.0, 300.0, 1000.0)], "clocks"),
        ([{"clock": c} for c in (1e-8, 1e-7, 1e-6)], "clocks"),
    ],
    ids=str,
)
def test_what_arrives_is_further_off_the_worse_a_radio_is(settings, off):
    """E|r − 1|² on common dice; clocks at the hundredth slot of the outermost sub-channel."""
    means = []
    for given in settings:
        if off == "clocks":
            offsets = Clocks(**given).draw(OneRoom())
            turned = np.exp(100j * offsets.spin(25, 1e6, 1e-6)[:, 0])
            r = offsets.residual(25, 1e6)[:, 0] * turned
        else:
            h, mean2, sounding = channel(), np.full(N, OMEGA), Sounding(**given)
            known = h
            if off == "estimate":
                known, _ = sounding.sound(h, np.full(N, given["error"]), mean2, OneRoom())
            heard = sounding.fed_back(known, mean2)
            loud = np.abs(known[:, 0]) ** 2 > 0.05 * OMEGA
            r = h[loud, 0] / heard[loud, 0]
        means.append(float(np.mean(np.abs(r - 1.0) ** 2)))
    assert means == sorted(means)
    assert means[-1] > 1.5 * means[0]


@pytest.mark.parametrize("link", [Link(), Link(gap=2.0, cap=6.0), Link(table=mcs_table())])
def test_a_margin_loses_fewer_packets_and_takes_more_slots_on_one_sub_channel(link):
    """Draw by draw, on common dice: rates fall in μ, what is met does not see it."""
    h, estimate, _ = known(0.05)
    met = link.rates(1e3 * np.abs(h) ** 2)
    before = None
    for margin_db in (0.0, 0.5, 1.0, 2.0, 4.0):
        careful = replace(link, margin=10.0 ** (margin_db / 10.0))
        asked = careful.rates(1e3 * np.abs(estimate) ** 2 / careful.margin)
        lost = asked > met
        if before is not None:
            assert (asked <= before[0]).all()  # so that ⌈Q/R⌉ rises
            assert (lost <= before[1]).all()
            assert lost.sum() < before[1].sum()
        before = asked, lost

"""Sionna's skies beside our own; skipped where the extra is not installed."""

import importlib.util

import numpy as np
import pytest
import torch

from airfeel.build.setup import build
from airfeel.radio.channel.cell import Cell
from airfeel.radio.channel.doppler import doppler_shift, sinusoids
from airfeel.radio.channel.profiles import frequencies, taps
from airfeel.radio.channel.tdl import tdl_response
from airfeel.types import BadInput
from rounds import turn
from small import play, small

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("sionna") is None, reason="the extra sionna is not installed"
)
SPEED, CARRIER, SPREAD, TIME = 3.0, 3.5e9, 3e-7, 0.37


@pytest.fixture
def sky():
    """SionnaSky, imported where the extra is."""
    from airfeel.radio.channel.sionna import SionnaSky

    return SionnaSky


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("letter", "ABCDE")
def test_our_tapped_delay_lines_are_theirs(letter, sky):
    """The same uniforms in their order: Doppler, angles, phases, phase of the line of sight."""
    from airfeel.radio.channel.sionna import library

    key, line, f = 1234, taps(letter), frequencies(25, 1e6)
    found = sky(letter, SPREAD, CARRIER, SPEED)._device(key, TIME, 1, f)[0]
    dice = library().config.torch_rng("cpu")
    dice.manual_seed(key)
    draw = lambda *shape: torch.rand(shape, dtype=torch.float64, generator=dice).numpy()
    n = len(line.delay)
    draw(1)
    angle, phase = draw(n, 20) - 0.5, 2 * np.pi * (draw(n, 20) - 0.5)
    shift = doppler_shift(SPEED, CARRIER)
    waves = sinusoids(angle, phase, shift, TIME)
    sight = 2 * np.pi * (draw(1)[0] - 0.5 + 0.7 * shift * TIME) if line.sight else 0.0
    ours = tdl_response(waves[None], np.array([sight]), letter, SPREAD, f)[0]
    np.testing.assert_allclose(found, ours, rtol=0, atol=1e-12)


@pytest.mark.parametrize("letter", "ABCDE")
def test_tables_are_theirs(letter, sky):
    from airfeel.radio.channel.sionna import _line

    model, line = _line(letter, 1.0, CARRIER, 0.0, 1), taps(letter)
    np.testing.assert_allclose(model.delays.numpy(), line.delay, atol=1e-12)
    np.testing.assert_allclose(model.mean_powers.numpy()[1:], line.power[1:], atol=1e-12)


@pytest.mark.parametrize("profile", ["A", "D", "cdl-B"])
def test_rows_belong_to_devices_and_rounds_can_be_looked_up(profile, sky):
    for made in (sky(profile, speed=1.0), sky(profile, speed=1.0).moving(0.1)):
        some, more = made.waves(turn(3, 4, 5), 2), made.waves(turn(5, 4, 5), 2)
        np.testing.assert_array_equal(more[:3], some)
        assert (made.waves(turn(3, 4, 6), 2) != some).all()
        np.testing.assert_array_equal(made.waves(turn(3, 4, 5), 2), some)


def test_mean_power_is_omega(sky):
    power = np.abs(sky("C", scale=1.5).waves(turn(600, 1), 4)[:, 0]) ** 2
    error = power.std() / np.sqrt(power.size)
    assert abs(power.mean() - 4.5) <= 4 * error


def test_a_sector_has_one_topology(sky):
    made = sky("umi", speed=1.0).moving(0.01)
    first = made.waves(turn(4, 3, 1), 2)
    assert first.shape == (4, 3, 2)
    np.testing.assert_array_equal(made.waves(turn(4, 3, 1), 2), first)
    close = made.waves(turn(4, 3, 2), 2)
    assert abs(np.vdot(first, close)) > 0.8 * np.linalg.norm(first) * np.linalg.norm(close)


def test_runs_do_not_touch_the_default_generator():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    radio = {"fading": "sionna", "profile": "D", "correlation": "jakes", "speed": 1.0}
    one, two = (play(build(small(radio=radio)), 2) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one[-1][1].theta, two[-1][1].theta)


def test_only_its_own_motion_is_known(sky):
    with pytest.raises(BadInput, match=r"radio\.correlation = 'gauss-markov'"):
        build(small(radio={"fading": "sionna", "correlation": "gauss-markov", "rho": 0.5}))


@pytest.mark.parametrize("profile", ["cdl-A", "cdl-D", "umi"])
def test_what_has_no_moments_still_tells_its_mean_power(profile, sky):
    """Mean over rounds, devices and antennas; four standard errors of devices and rounds."""
    made = sky(profile, scale=1.5)
    looks = range(1, 21) if profile == "umi" else range(1, 13)
    power = np.array([np.abs(made.waves(turn(10, 1, t), 2)) ** 2 for t in looks]).mean(axis=(2, 3))
    error = power.std() / np.sqrt(power.size)
    assert made.moments is None
    assert abs(power.mean() - made.mean2) <= 4 * error


@pytest.mark.parametrize("profile", ["cdl-B", "umi"])
def test_clusters_serve_antennas_estimates_and_cells(profile):
    radio = {"fading": "sionna", "profile": profile, "antennas": 3}
    e = small(radio=radio, csi={"pilots": 1}, cell={"model": "umi"}, hardware={"truncation": 0.01})
    setup = build(e)
    assert len(play(setup, 1)) == 1
    assert setup.facts["cell"]["loss_db"]
    with pytest.raises(BadInput, match=r"radio\.fading: tells no means"):
        play(build(small("gbma", radio=radio)), 1)


def test_places_of_a_sector_stay_while_its_waves_change(sky, monkeypatch):
    from airfeel.radio.channel import sionna

    made, make = [], sionna._sector
    monkeypatch.setattr(sionna, "_sector", lambda *a: made.append(make(*a)) or made[-1])
    looks = [sky("umi").waves(turn(4, 3, t), 2) for t in (1, 2)]
    first, second = (model._scenario.ut_loc.numpy() for model in made)
    np.testing.assert_array_equal(first, second)
    assert (looks[0] != looks[1]).all()


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("sight", [True, False])
@pytest.mark.parametrize("model", ["umi", "uma"])
def test_path_loss_is_theirs(model, sight):
    """At both sides of the break point; the base station stands over the origin."""
    from airfeel.radio.channel.sionna import _array, library

    cell, ground = Cell(model, carrier=CARRIER), np.array([12.0, 40.0, 150.0, 400.0, 900.0])
    models = library().channel.tr38901
    kind = models.UMiScenario if model == "umi" else models.UMaScenario
    scene = kind(
        *(CARRIER, "low", _array(CARRIER, 1), _array(CARRIER, 1), "uplink"),
        enable_shadow_fading=False, precision="double", device="cpu",
    )  # fmt: skip
    mast, hand = cell.heights
    places = np.stack([ground, 0.0 * ground, 0.0 * ground + hand], axis=1)[None]
    here, there = torch.from_numpy(places), torch.tensor([[[0.0, 0.0, mast]]]).double()
    still, outside = torch.zeros_like(here), torch.zeros((1, len(ground)), dtype=torch.bool)
    scene.set_topology(here, there, still, torch.zeros_like(there), still, outside, los=sight)
    found = scene.basic_pathloss.numpy().ravel()
    wanted = cell.path_loss_db(ground, np.full(len(ground), sight))
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.filterwarnings("default")
def test_clusters_that_come_after_the_prefix_are_refused(sky):
    assert 9e-6 < sky("cdl-A", 1e-6).longest < 10e-6
    radio = {"fading": "sionna", "profile": "cdl-A", "delay_spread": 1e-5}
    build(small("tcs-h", radio=radio))
    with pytest.raises(BadInput, match=r"radio.delay_spread = 1e-05: the last tap at 9.66e-05 s"):
        build(small("tcs-h", radio=radio, link={"subcarriers": 12}))

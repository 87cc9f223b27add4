import numpy as np
import pytest

from airfeel.experiment.build import build
from airfeel.radio.fading import Constant, Rayleigh, Rician, Sky, Trace
from airfeel.types import BadInput
from small import small

RNG = np.random.default_rng


def test_second_moments():
    for draw in (Rayleigh(1.5), Rician(1.5, factor=4.0), Rician(1.5, factor=0.0)):
        h = draw(1, (400, 500), rng=RNG(0))
        assert np.mean(h**2) == pytest.approx(2 * 1.5**2, rel=0.01)
        assert (h > 0).all()
    assert (Constant(1.5)(1, (2, 3), rng=RNG(0)) == 1.5).all()


def test_rayleigh_distribution():
    h = Rayleigh(2.0)(1, (300, 300), rng=RNG(1)).ravel()
    for x in (1.0, 2.0, 4.0):
        assert np.mean(h <= x) == pytest.approx(1 - np.exp(-(x**2) / 8), abs=0.01)


def test_rician_without_line_of_sight_is_rayleigh_and_with_it_is_steady():
    scattered = Rician(1.0, factor=0.0)(1, (300, 300), rng=RNG(1))
    assert np.mean(scattered <= 1.0) == pytest.approx(1 - np.exp(-0.5), abs=0.01)
    assert np.std(Rician(1.0, factor=1e6)(1, (50, 50), rng=RNG(1))) < 0.01


def test_mean_gain_scales_the_power():
    world = build(small()).world
    factors = (1.0, 4.0, 9.0, 1.0, 0.25, 1.0)
    plain, scaled = (Sky(Rayleigh(), 1e-3, g)(world, 1, rng=RNG(0)) for g in (1.0, factors))
    np.testing.assert_allclose(scaled.gain2, plain.gain2 * np.array(factors)[:, None])
    assert scaled.noise == 1e-3


def test_trace_repeats_and_takes_magnitudes(tmp_path):
    path = tmp_path / "h.npy"
    gains = RNG(0).normal(size=(3, 6, 8)) + 1j * RNG(1).normal(size=(3, 6, 8))
    np.save(path, gains)
    draw = Trace(str(path), scale=2.0)
    for t in (1, 2, 3, 4):
        found = draw(t, (6, 8), rng=RNG(0))
        np.testing.assert_allclose(found, 2 * np.abs(gains[(t - 1) % 3]))
    run = build(small(radio={"fading": "trace", "trace": str(path)}))
    assert run.scheme.fade(run.world, 2, rng=RNG(0)).gain.shape == (6, 8)


@pytest.mark.parametrize("content", [None, b"not numpy", np.zeros(3), np.full((6, 8), np.nan)])
def test_trace_refuses_bad_files(tmp_path, content):
    path = tmp_path / "h.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        np.save(path, content)
    with pytest.raises(BadInput, match=r"radio\.trace"):
        Trace(str(path))(1, (6, 8), rng=RNG(0))


def test_trace_must_fit(tmp_path):
    np.save(tmp_path / "h.npy", np.ones((2, 2)))
    with pytest.raises(BadInput, match="2 devices × 2 sub-channels, the run has 6 × 8"):
        Trace(str(tmp_path / "h.npy"))(1, (6, 8), rng=RNG(0))

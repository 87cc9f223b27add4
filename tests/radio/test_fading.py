import dataclasses

import numpy as np
import pytest

from airfeel.experiment.build import build
from airfeel.radio.fading import Constant, Rayleigh, Rician, Sky, Trace
from airfeel.streams import Streams
from airfeel.types import BadInput
from small import small, turn_at

RNG = np.random.default_rng


def turn(n=6, m=8, round=1, seed=0):
    """A round of n devices on m sub-channels."""
    setup = build(small())
    shards = (np.zeros(1, dtype=np.int64),) * n
    world = dataclasses.replace(setup.world, shards=shards, subchannels=m)
    return turn_at(dataclasses.replace(setup, world=world, streams=Streams(seed)), round)


def test_second_moments():
    for draw in (Rayleigh(1.5), Rician(1.5, factor=4.0), Rician(1.5, factor=0.0)):
        h = draw(turn(400, 500))
        assert np.mean(h**2) == pytest.approx(2 * 1.5**2, rel=0.01)
        assert (h > 0).all()
    assert (Constant(1.5)(turn(2, 3)) == 1.5).all()


def test_rayleigh_distribution():
    h = Rayleigh(2.0)(turn(300, 300)).ravel()
    for x in (1.0, 2.0, 4.0):
        assert np.mean(h <= x) == pytest.approx(1 - np.exp(-(x**2) / 8), abs=0.01)


def test_rician_without_line_of_sight_is_rayleigh_and_with_it_is_steady():
    scattered = Rician(1.0, factor=0.0)(turn(300, 300))
    assert np.mean(scattered <= 1.0) == pytest.approx(1 - np.exp(-0.5), abs=0.01)
    assert np.std(Rician(1.0, factor=1e6)(turn(50, 50))) < 0.01


def test_mean_gain_scales_the_power():
    factors = (1.0, 4.0, 9.0, 1.0, 0.25, 1.0)
    plain, scaled = (Sky(Rayleigh(), 1e-3, g)(turn()) for g in (1.0, factors))
    np.testing.assert_allclose(scaled.gain2, plain.gain2 * np.array(factors)[:, None])
    assert scaled.noise == 1e-3


def test_trace_repeats_and_takes_magnitudes(tmp_path):
    path = tmp_path / "h.npy"
    gains = RNG(0).normal(size=(3, 6, 8)) + 1j * RNG(1).normal(size=(3, 6, 8))
    np.save(path, gains)
    draw = Trace(str(path), scale=2.0)
    for t in (1, 2, 3, 4):
        found = draw(turn(round=t))
        np.testing.assert_allclose(found, 2 * np.abs(gains[(t - 1) % 3]))
    run = build(small(radio={"fading": "trace", "trace": str(path)}))
    assert run.scheme.fade(turn_at(run, 2)).gain.shape == (6, 8)


@pytest.mark.parametrize("content", [None, b"not numpy", np.zeros(3), np.full((6, 8), np.nan)])
def test_trace_refuses_bad_files(tmp_path, content):
    path = tmp_path / "h.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        np.save(path, content)
    with pytest.raises(BadInput, match=r"radio\.trace"):
        Trace(str(path))(turn())


def test_trace_must_fit(tmp_path):
    np.save(tmp_path / "h.npy", np.ones((2, 2)))
    with pytest.raises(BadInput, match="2 devices × 2 sub-channels, the run has 6 × 8"):
        Trace(str(tmp_path / "h.npy"))(turn())

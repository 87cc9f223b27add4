import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airfeel.build.setup import build
from airfeel.radio.channel.fading import Constant, Nakagami, Rayleigh, Rician, Sky
from airfeel.radio.channel.trace import Trace
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


@pytest.mark.parametrize("draw", [Rayleigh(1.5), Rician(0.7, 3.0), Rician(1.0, 0.0), Constant(2.0)])
@pytest.mark.parametrize("least", [0.02, 0.105, 1.0, 3.0])
def test_what_is_told_of_the_means_is_what_is_drawn(draw, least):
    h2 = np.square(draw(turn(500, 500)))
    gamma = np.ones_like(h2) if draw.steady else h2 / draw.mean2
    for told, seen in (
        (draw.mean2, h2),
        (draw.root(), np.sqrt(gamma)),
        (draw.inverse(least), np.where(gamma >= least, 1.0 / gamma, 0.0)),
    ):
        error = 4.0 * np.std(seen) / np.sqrt(seen.size)  # four standard errors
        assert np.mean(seen) == pytest.approx(told, abs=error + 1e-12)


def test_rician_without_line_of_sight_has_the_means_of_rayleigh():
    for least in (1e-6, 0.105, 2.0):
        assert Rician(1.0, 0.0).inverse(least) == pytest.approx(Rayleigh(1.0).inverse(least), 1e-9)
    assert Rician(1.0, 0.0).root() == pytest.approx(Rayleigh(1.0).root(), 1e-9)
    assert Rician(1.0, 1e6).root() == pytest.approx(1.0, abs=1e-6)
    assert Rayleigh().inverse(0.0) == Rician().inverse(0.0) == np.inf


def test_the_means_of_a_trace_are_over_its_frames(tmp_path):
    gains = RNG(2).rayleigh(size=(4, 3, 5))
    gains[:, 1] = 0.0  # never met
    np.save(tmp_path / "gains.npy", gains)
    draw = Trace(str(tmp_path / "gains.npy"), scale=2.0)
    fading = Sky(draw, mean_gain=(1.0, 2.0, 3.0))(turn(3, 5))
    mean2 = np.square(2.0 * gains).mean(axis=(0, 2))
    np.testing.assert_allclose(fading.mean2, mean2 * [1.0, 2.0, 3.0])
    gamma = np.square(2.0 * gains[:, 0]) / mean2[0]
    assert draw.root()[0] == pytest.approx(np.sqrt(gamma).mean())
    assert draw.inverse(0.3)[0] == pytest.approx(np.where(gamma >= 0.3, 1.0 / gamma, 0.0).mean())
    assert not fading.relative[1].any()


TURN = turn()


@given(mean=st.lists(st.floats(1e-9, 1e9), min_size=6, max_size=6))
def test_without_fading_the_relative_gain_is_one_to_the_bit(mean):
    fading = Sky(Constant(0.7), mean_gain=tuple(mean))(TURN)
    assert (fading.relative == 1.0).all()
    rayleigh = Sky(Rayleigh(0.7), mean_gain=tuple(mean))(TURN)
    np.testing.assert_allclose(rayleigh.relative, rayleigh.gain2 / (0.98 * np.array(mean))[:, None])


def test_a_sky_that_tells_no_means_is_refused_where_they_are_needed():
    fading = Sky(lambda turn: np.ones((6, 8)))(turn())
    assert fading.mean2 is None
    with pytest.raises(BadInput, match=r"scheme.fade: tells no mean"):
        _ = fading.relative


def test_a_complex_trace_keeps_its_phase_and_antennas(tmp_path):
    h = RNG(0).normal(size=(3, 6, 8, 4)) + 1j * RNG(1).normal(size=(3, 6, 8, 4))
    np.save(tmp_path / "h.npy", h)
    draw = Trace(str(tmp_path / "h.npy"), scale=2.0)
    np.testing.assert_array_equal(draw.waves(turn(round=5), 3), 2.0 * h[1, ..., :3])
    np.testing.assert_allclose(draw(turn(round=5)), 2.0 * np.abs(h[1, ..., 0]))
    with pytest.raises(BadInput, match=r"radio\.antennas = 5: must be at most 4"):
        draw.waves(turn(), 5)


def test_a_trace_of_paths_is_their_response(tmp_path):
    """h_m = Σ_l a_l·e^{−2πj·f_m·τ_l}, in loops."""
    a = RNG(0).normal(size=(2, 6, 3)) + 1j * RNG(1).normal(size=(2, 6, 3))
    tau = RNG(2).random((2, 6, 3)) * 1e-6
    np.savez(tmp_path / "p.npz", amplitude=a, delay=tau)
    run = build(small(radio={"fading": "trace", "trace": str(tmp_path / "p.npz")}))
    found = run.scheme.fade.draw.waves(turn(round=2), 1)[..., 0]
    for n in range(6):
        for m in range(8):
            f = (m - 4) * 1e6
            wanted = sum(
                x * np.exp(-2j * np.pi * f * t) for x, t in zip(a[1, n], tau[1, n], strict=True)
            )
            assert found[n, m] == pytest.approx(wanted, abs=1e-12)
    np.savez(tmp_path / "p.npz", amplitude=a, delay=tau[0])
    with pytest.raises(BadInput, match=r"radio\.trace.*delay"):
        Trace(str(tmp_path / "p.npz"), subchannels=8)(turn())


def test_the_mean_of_a_trace_is_over_the_antennas_in_use(tmp_path):
    gains = RNG(2).rayleigh(size=(4, 6, 8, 3)) * np.array([1.0, 3.0, 50.0])
    np.save(tmp_path / "gains.npy", gains)
    radio = {"fading": "trace", "trace": str(tmp_path / "gains.npy")}
    for used in (1, 2):
        setup = build(small(radio=radio | {"antennas": used}, csi={"error": 0.1}))
        found = setup.scheme.fade(turn_at(setup, 1)).mean2
        wanted = np.square(gains[..., :used]).mean(axis=(0, 2, 3))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_nakagami_of_any_order_knows_its_means():
    for m, wanted in ((0.5, np.sqrt(2 / np.pi)), (1.0, np.sqrt(np.pi) / 2), (3.0, 0.959368)):
        assert Nakagami(1.0, m).root() == pytest.approx(wanted, rel=1e-6)
    for m in (171.0, 400.0, 1e5, 1e12):
        assert Nakagami(1.0, m).root() == pytest.approx(
            1.0 - 1.0 / (8.0 * m), abs=1.0 / m**2 + 1e-14
        )
        assert Nakagami(1.0, m).inverse(0.0) == pytest.approx(m / (m - 1.0), rel=1e-9)


def test_without_fading_a_wrong_estimate_still_falls_silent():
    """|ĥ|² is below half of its mean now and then; with exact knowledge it never is."""
    still = {"radio": {"fading": "none"}, "hardware": {"truncation": 0.5}}
    known, wrong, turned = (
        build(small(**still, **csi)).scheme.fade(turn())
        for csi in ({}, {"csi": {"error": 0.3}}, {"csi": {"phase_bits": 2}})
    )
    assert not known.silent.any()
    assert 0 < wrong.silent.sum() < wrong.silent.size
    np.testing.assert_array_equal(wrong.silent, wrong.air_gain2 < 0.5 * wrong.mean2[:, None])
    assert (turned.relative == 1.0).all()

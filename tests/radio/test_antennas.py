"""Several antennas: unit vectors that hear all devices, and skies that know of them."""

import numpy as np
import pytest

from airfeel.build.setup import build
from airfeel.radio.channel.fading import Rayleigh, Sky
from airfeel.radio.channel.gaussian import complex_normal
from airfeel.radio.impairments.antennas import Antennas, centroid, heard_by, uniform_forcing, zf_sum
from airfeel.radio.impairments.channel_estimation import Sounding
from airfeel.radio.impairments.real_channel import RealSky
from airfeel.types import BadInput
from rounds import turn
from small import play, small, turn_at

RNG = np.random.default_rng


def channels(r, n=20, m=400, seed=0):
    """H [M R N], independent Rayleigh with Ω = 2."""
    return np.sqrt(2.0) * complex_normal(RNG(seed).random((m, r, n, 2)))


def least(h, f):
    return np.abs(np.einsum("mr,mrn->mn", f.conj(), h)).min(axis=1) ** 2


@pytest.mark.parametrize("receiver", [centroid, uniform_forcing])
@pytest.mark.parametrize("r", [2, 5])
def test_receivers_in_loops(receiver, r):
    """Plain loops with eigenvalues and solves of one sub-channel at a time."""
    h = channels(r, n=6, m=3)
    found = receiver(h)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0)
    for m in range(3):
        R = sum(np.outer(c, c.conj()) / np.linalg.norm(c) ** 2 for c in h[m].T)
        values, vectors = np.linalg.eigh(R)
        f = best = vectors[:, np.argmax(values)]
        if receiver is uniform_forcing:
            HH = sum(np.outer(c, c.conj()) for c in h[m].T)
            for _ in range(10):
                wanted = sum(c * np.exp(1j * np.angle(c.conj() @ f)) for c in h[m].T)
                f = np.linalg.inv(HH + 0.1 * np.trace(HH).real / r * np.eye(r)) @ wanted
                f /= np.linalg.norm(f)
            best = max((f, best), key=lambda g: min(abs(g.conj() @ c) for c in h[m].T))
        np.testing.assert_allclose(abs(found[m].conj() @ best), 1.0, atol=1e-9)


def test_medians_of_the_weakest_device():
    """Of 400 draws, N = 20, Ω = 2; figures of other draws, to a fifth."""
    wanted = {2: (0.11, None), 4: (0.16, 0.52), 8: (0.19, 1.25), 16: (0.26, 2.8)}
    before = 0.0
    for r, (middle, forced) in wanted.items():
        h = channels(r, seed=r)
        assert np.median(least(h, centroid(h))) == pytest.approx(middle, rel=0.25)
        found = np.median(least(h, uniform_forcing(h)))
        assert forced is None or found == pytest.approx(forced, rel=0.2)
        assert found > before
        before = found


def test_zero_forcing_hears_all_alike_and_never_less_than_the_choice_promises():
    h = channels(32, n=20, m=50)
    heard = np.abs(np.einsum("mr,mrn->mn", zf_sum(h).conj(), h))
    np.testing.assert_allclose(heard, heard[:, :1] * np.ones(20), rtol=1e-9)
    for r in (2, 4, 8):
        h = channels(r, seed=9)
        assert (least(h, uniform_forcing(h)) >= least(h, centroid(h)) * (1 - 1e-12)).all()


def test_zero_forcing_with_fewer_antennas_is_refused():
    with pytest.raises(BadInput, match=r"radio\.receiver = 'zf-sum'.*4 are fewer than 6"):
        build(small(radio={"antennas": 4, "receiver": "zf-sum"}))


@pytest.mark.parametrize("receiver", ["centroid", "zf-sum", "uniform-forcing"])
def test_a_run_with_antennas_spends_less_on_the_air_for_more_of_them(receiver):
    radio = {"receiver": receiver, "fading": "tdl", "correlation": "jakes", "speed": 1.0}
    needed = []
    for count in (1, 16):
        setup = build(small(radio=radio | {"antennas": count}))
        played = play(setup, 2)
        assert len(played) == 2
        needed.append(np.nanmedian(played[0][2].plan.needed))
    assert needed[1] < needed[0]


@pytest.mark.parametrize("receiver", ["centroid", "zf-sum", "uniform-forcing"])
def test_one_antenna_is_the_ideal_sky(receiver):
    sky = Sky(Rayleigh(1.5), 1e-6, (1.0, 2.0, 3.0, 1.0, 1.0, 0.5))
    one, plain = RealSky(sky, antennas=Antennas(1, receiver))(turn()), sky(turn())
    np.testing.assert_array_equal(one.gain, plain.gain)
    assert one.air is None
    assert one.residual is None


def test_more_antennas_with_perfect_knowledge():
    """Packets by maximum ratio, the air by one vector; everything arrives as it was meant."""
    sky = RealSky(Sky(Rayleigh(), 1e-6), antennas=Antennas(4, "centroid"))
    found = sky(turn())
    assert found.residual is None
    assert found.truth is None
    assert (found.air <= found.gain + 1e-12).all()
    np.testing.assert_array_equal(found.arriving, found.air)
    assert np.mean(sky(turn(2000, 4)).gain ** 2) == pytest.approx(8.0, rel=0.05)


def test_estimates_at_several_antennas():
    """E|ĥ|² = Ω(1 − ε) at each; what was inverted arrives off, and never more than is there."""
    sky = RealSky(
        Sky(Rayleigh(), 1e-6), sounding=Sounding(error=0.1), antennas=Antennas(3, "uniform-forcing")
    )
    found = sky(turn(3000, 4))
    assert np.mean(found.gain**2) == pytest.approx(3 * 2 * 0.9, rel=0.02)
    assert np.abs(found.residual - 1.0).max() > 0.01
    assert found.truth.shape == found.gain.shape
    assert abs(np.mean(found.truth) / np.mean(found.gain) - 1.0) < 0.1


def test_one_antenna_hears_itself():
    h = complex_normal(RNG(0).random((3, 4, 1, 2)))
    np.testing.assert_array_equal(heard_by(np.ones((4, 1)) + 0j, h), h[..., 0])


@pytest.mark.parametrize("receiver", [centroid, zf_sum, uniform_forcing])
def test_a_dead_subchannel_and_a_dead_device_disturb_no_other(receiver):
    """What is left of H is heard as if the rest were not there."""
    h = channels(8, n=6, m=4)
    h[1] = 0.0
    h[2:, :, 3] = 0.0
    found = receiver(h)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0)
    alive = receiver(np.delete(h[2:], 3, axis=2))
    np.testing.assert_allclose(np.abs((alive.conj() * found[2:]).sum(axis=1)), 1.0, atol=1e-9)
    np.testing.assert_allclose(found[0], receiver(h[:1])[0], atol=1e-9)


@pytest.mark.parametrize("receiver", ["centroid", "zf-sum", "uniform-forcing"])
def test_skies_with_dead_devices_and_subchannels_are_played(receiver, tmp_path):
    h = RNG(0).normal(size=(3, 6, 8, 8)) + 1j * RNG(1).normal(size=(3, 6, 8, 8))
    h[:, 2] = 0.0
    h[1, :, 5] = 0.0
    np.save(tmp_path / "h.npy", h)
    radio = {"fading": "trace", "trace": str(tmp_path / "h.npy")}
    setup = build(small(radio=radio | {"antennas": 8, "receiver": receiver}, csi={"pilots": 1}))
    for t in (1, 2):
        fading = setup.scheme.fade(turn_at(setup, t))
        assert np.isfinite(fading.air).all()
        assert not fading.air[2].any()
        assert (fading.air[[0, 1, 3, 4, 5], 0] > 0.0).all()
    assert len(play(setup, 2)) == 2

"""The air in samples: the waveform keeps what the symbol-level model says, W1 to W7, and tells."""

import csv
import importlib.util

import numpy as np
import pytest
from typer.testing import CliRunner

from airfeel.cli import app
from airfeel.radio.ofdm import Ofdm, Paths, carry
from airfeel.streams import Streams
from airfeel.types import BadInput
from airfeel.waveform import claims, coded, limits
from airfeel.waveform.carry_out import EXPERIMENTS
from airfeel.waveform.scene import Finding, Point, scene
from airfeel.waveform.write import verdict, write

FEW = {
    "W1": claims.aligned,
    "W2": lambda streams: claims.noisy(streams, symbols=100),
    "W3": lambda streams: claims.timing(streams, spans=(4,)),
    "W4": lambda streams: claims.beyond(streams, draws=2),
    "W5": lambda streams: claims.drifting(streams, draws=2),
    "W6": lambda streams: limits.selective(streams, draws=3),
    "W7": lambda streams: limits.clipped(streams, symbols=20),
}


@pytest.mark.parametrize("name", FEW)
def test_experiments_pass(name):
    found = FEW[name](Streams(1))
    assert found.key == name
    assert found.passed, found.found


def small_scene(rng, points=16, prefix=8):
    ofdm = Ofdm(subchannels=3, subcarriers=4, points=points, prefix=prefix)
    taps = rng.normal(size=(2, 2, 3)) + 1j * rng.normal(size=(2, 2, 3))
    paths = Paths(taps, np.array([0, 1, 3]), np.array([1, -2]), np.array([20.0, -50.0]))
    return ofdm, paths


def test_the_chain_in_loops():
    """Every sample by its definition: sums of exponentials, no transform, no convolution."""
    rng = np.random.default_rng(4)
    ofdm, paths = small_scene(rng)
    x = rng.normal(size=(2, 22)) + 1j * rng.normal(size=(2, 22))
    inverse = rng.normal(size=(2, 3, 4)) + 1j * rng.normal(size=(2, 3, 4))
    beam = rng.normal(size=(3, 2)) + 1j * rng.normal(size=(3, 2))
    found = carry(ofdm, x, paths, inverse, beam=beam, rng=rng)
    F, CP, L, rate, early = 16, 8, 24, 16 * 15e3, 2
    sizes = [8, 7, 7]
    places = [(m, i % 4, i // 4) for m in range(3) for i in range(sizes[m])]

    def frequency(m, s):
        return ((m - 1) * 4 + s - 1.5) * 15e3

    def sent(n, t):
        """Of device n at sample t, its half bin of carrier aside."""
        if not 0 <= t < 2 * L:
            return 0.0
        b, inside = t // L, t % L - CP
        return sum(
            x[n, k]
            * inverse[n, m, s]
            * np.exp(2j * np.pi * (frequency(m, s) + 7500) / rate * inside)
            for k, (m, s, symbol) in enumerate(places)
            if symbol == b
        ) / np.sqrt(F)

    def heard(r, t):
        total = 0.0
        for n in range(2):
            for tap, delay in zip(paths.taps[n, r], (0, 1, 3), strict=True):
                late = delay + int(paths.late[n])
                turn = np.exp(2j * np.pi * (7500 * late + paths.offset[n] * t) / rate)
                total += tap * sent(n, t - late) * turn
        return total

    wave = np.array([[heard(r, t) for t in range(2 * L)] for r in range(2)])
    for k, (m, s, b) in enumerate(places):
        bin = (frequency(m, s) + 7500) / 15e3
        window = np.arange(F)
        start = b * L + CP - early
        spectrum = (wave[:, start : start + F] * np.exp(-2j * np.pi * bin * window / F)).sum(axis=1)
        wanted = (
            (beam[m].conj() * spectrum).sum() / np.sqrt(F) * np.exp(2j * np.pi * bin * early / F)
        )
        assert found[k] == pytest.approx(wanted, abs=1e-9)


def test_laying_out_and_taking_back():
    ofdm = Ofdm(subchannels=3, subcarriers=2, points=8, prefix=2)
    x = np.arange(1.0, 12.0) + 0j
    grid = ofdm.lay(x)
    assert grid.shape == (2, 3, 2)
    assert grid[:, 0].ravel().tolist() == [1, 2, 3, 4]  # the first segment, symbol by symbol
    np.testing.assert_array_equal(ofdm.take(grid, 11), x)
    np.testing.assert_allclose(ofdm.demodulate(ofdm.modulate(grid)), grid, atol=1e-14)


def test_real_values_have_the_noise_of_the_paper_and_iq_half_of_it():
    """σ0² on a real value; with I and Q, σ0²/2 on each, at the same σ0²."""
    ofdm, rng = Ofdm(), np.random.default_rng(0)
    s = scene(ofdm, 40, rng=rng)
    inverse = s.inverse(s.gain)
    for noise, wanted in ((2e-4, 1e-4), (1e-4, 5e-5)):
        z = carry(ofdm, s.values, s.paths, inverse, noise=noise, rng=rng) - s.total()
        assert np.var(z.real) == pytest.approx(wanted, rel=4 * np.sqrt(2 / len(z)))


def test_too_few_points_are_refused():
    with pytest.raises(BadInput, match="points = 64: must be at least 25 × 12"):
        Ofdm(points=64)


def test_the_command_writes_its_page_and_ends_well(tmp_path):
    result = CliRunner().invoke(app, ["waveform", "--only", "W1,W7", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "2 of 2 experiments pass" in result.output
    page = (tmp_path / "waveform.html").read_text("utf-8")
    assert "W7: Clipped samples" in page
    assert page.count("data:image/svg+xml") == 1
    assert "http-equiv" in page
    assert 'src="http' not in page
    with (tmp_path / "points.csv").open(newline="") as file:
        assert {row["curve"] for row in csv.DictReader(file)} == {"all samples", "in band"}
    assert (tmp_path / "waveform.png").stat().st_size > 1000
    assert not list(tmp_path.glob(".W*"))


def test_a_failure_is_told_by_the_status(tmp_path, monkeypatch):
    bad = Finding("W1", "t", "r", "f", False, (Point(1.0, 1.0, 1.0),), "x")
    monkeypatch.setitem(EXPERIMENTS, "W1", lambda streams: bad)
    result = CliRunner().invoke(app, ["waveform", "--only", "W1", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "0 of 1 experiments pass; W1 fail" in result.output


def test_what_was_not_judged_is_said(tmp_path):
    found = Finding("W8", "t", "r", "f", None, (Point(1.0, 1.0, 1.0),), "x")
    assert verdict([found]) == "0 of 0 experiments pass; W8 not judged."
    assert "not judged" in write([found], tmp_path, 0)[1].read_text("utf-8")


def test_rates_over_capacity_are_drawn_beside_packets(tmp_path):
    found = Finding("W8", "t", "r", "f", None, (Point(1.0, 1.0, 1.0),), "x")
    paths = write([found], tmp_path, 0)
    assert "rates: Bits of the table over capacity" in paths[0].read_text("utf-8")
    with (tmp_path / "points.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["experiment"] == "rates"]
    share = {float(row["x"]): (float(row["measured"]), float(row["expected"])) for row in rows}
    assert share[-5.0][0] == 0.0  # below all rows
    assert all(mine <= 0.9 * most + 1e-6 for mine, most in share.values())
    assert share[40.0][0] == pytest.approx(0.9 * 7.4063 / np.log2(1.0 + 1e4), rel=1e-4)
    assert verdict([found]) == "0 of 0 experiments pass; W8 not judged."


def test_an_unknown_experiment_is_refused():
    with pytest.raises(BadInput, match="--only W9: must be one of W1"):
        CliRunner().invoke(app, ["waveform", "--only", "W9"], catch_exceptions=False)


def test_packets_without_the_extra_are_not_judged(monkeypatch):
    def missing():
        raise BadInput("sionna is missing")

    monkeypatch.setattr(coded, "library", missing)
    found = coded.coded(Streams(0))
    assert found.passed is None
    assert found.found == "sionna is missing"


@pytest.mark.skipif(importlib.util.find_spec("sionna") is None, reason="needs the extra sionna")
def test_packets_at_both_sides_of_a_threshold():
    """Row 5 (16-QAM) of the table, a few blocks: far above all arrive, far below none does."""
    efficiency, threshold = coded.ROWS_DB[3]
    for step, wanted in ((1.0, 0.0), (-1.5, 1.0)):
        snr = 10 ** ((threshold + step) / 10)
        rng = np.random.default_rng(0)
        assert coded.block_error(5, efficiency, snr, 4, rng=rng) == wanted

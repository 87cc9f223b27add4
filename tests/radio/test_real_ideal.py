"""A real radio whose impairments are off is the ideal one, and what is not legal is named."""

import hashlib

import numpy as np
import pytest

import airfeel
from airfeel.errors import BadInput
from airfeel.settings.load import load
from airfeel.settings.relevance import as_toml
from airfeel.storage.store import fingerprint

ZEROS = [
    ["csi.error=0"],
    ["csi.age_air=0", "csi.age_digital=0.5"],  # nobody moves
    ["csi.age_air=0", "radio.speed=3.0"],
    ["csi.magnitude_bits=0", "csi.phase_bits=0"],
    ["csi.pilot_power=0.1"],
    ["sync.phase=0", "sync.timing=0", "sync.every=7", "sync.debias=true"],
    ["sync.cfo=0", "sync.clock_ppm=0"],
    ["hardware.truncation=0", "hardware.dac_bits=0", "hardware.loading=3.0"],
    ["link.margin_db=0", "link.gap_db=0", "link.transmissions=3"],
    ["link.subcarriers=12", "link.cp_seconds=1e-6"],
    ["cell.radius=50"],
    ["radio.correlation=gauss-markov", "radio.rho=0"],
    ["radio.antennas=1", "radio.receiver=zf-sum"],
    ["radio.antennas=1", "radio.receiver=centroid"],
]
ROUNDS = ["training.rounds=2", "training.local_steps=2", "radio.power_scalar=0.5"]
REFUSED = {
    "csi.error=1": "csi.error",
    "csi.error=-0.1": "csi.error",
    "csi.phase_bits=17": "csi.phase_bits",
    "sync.every=-1": "sync.every",
    "link.subcarriers=0": "link.subcarriers",
    "link.subcarriers=2": "link.cp_seconds",
    "hardware.dac_bits=1": "hardware.dac_bits",
    "link.margin_db=-1": "link.margin_db",
    "cell.model=moon": "cell.model",
    "cell.min_distance=200": "cell.min_distance",
    "csi.pilot=1": "csi.pilot",
}


def bits(run):
    return hashlib.sha256(run.theta.numpy().tobytes()).hexdigest()


@pytest.fixture(scope="module")
def ideal():
    return {scheme: airfeel.run(load(f"digits-{scheme}", ROUNDS)) for scheme in ("tcs-h", "tcs-d")}


@pytest.mark.parametrize("given", ZEROS, ids=lambda given: given[-1])
@pytest.mark.parametrize("scheme", ["tcs-h", "tcs-d"])
def test_a_zero_that_is_given_keeps_the_model_to_the_bit(ideal, scheme, given):
    run = airfeel.run(load(f"digits-{scheme}", [*ROUNDS, *given]))
    assert bits(run) == bits(ideal[scheme])
    if given[-1] != "link.transmissions=3":
        assert list(run.rounds) == list(ideal[scheme].rounds)
    for name, wanted in ideal[scheme].rounds.items():
        if name != "seconds":
            assert np.array_equal(run.rounds[name], wanted, equal_nan=True), name


def test_sections_at_their_default_are_in_no_file_and_no_name():
    e = load("digits-tcs-h")
    text = as_toml(e)
    for section in ("csi", "sync", "hardware", "link", "cell"):
        assert f"[{section}]" not in text
    assert fingerprint(load("digits-tcs-h", ["csi.pilots=0"])) == fingerprint(e)
    assert fingerprint(load("digits-tcs-h", ["csi.pilots=1"])) != fingerprint(e)
    assert "[csi]\npilots = 1\n" in as_toml(load("digits-tcs-h", ["csi.pilots=1"]))


@pytest.mark.parametrize("given", REFUSED)
def test_what_is_not_legal_is_refused_by_name(given):
    with pytest.raises(BadInput, match=f"^{REFUSED[given]}") as refusal:
        load("digits-tcs-h", [given])
    assert "\n" not in str(refusal.value)


def test_timing_over_the_guard_names_the_experiment_that_still_holds():
    over = ["link.subcarriers=12", "link.cp_seconds=1e-6", "sync.timing=6e-7"]
    with pytest.raises(BadInput, match=r"^sync.timing = 6e-07: .*waveform"):
        load("digits-tcs-h", over)


def test_a_cell_and_mean_gains_together_are_refused():
    with pytest.raises(BadInput, match=r"^radio.mean_gain = 2.0: follows from cell.model"):
        load("digits-tcs-h", ["cell.model=umi", "radio.mean_gain=2.0"])


def test_free_schemes_meet_no_radio():
    plain, real = (
        airfeel.run(load("digits-fedavg", [*ROUNDS, *given])) for given in ([], ["csi.pilots=1"])
    )
    assert bits(plain) == bits(real)
    assert list(plain.rounds) == list(real.rounds)

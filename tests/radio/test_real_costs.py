"""What a real radio tells in its rows: seconds with all tries, feedback, coherence, who is near."""

import math
import warnings

import numpy as np
import pytest
from scipy.special import j0

import airfeel
from airfeel.build.setup import build
from airfeel.runs.near_far import verdict
from airfeel.runs.starvation import Starving
from small import play, small

TRIES = {
    "csi": {"error": 0.3, "pilots": 2},
    "link": {"transmissions": 3},
    "radio": {"meters": ["latency"], "speed": 2.0},
    "sync": {"cfo": 50.0, "every": 2},
    "budget": {"slots": 10**6},
}


def test_a_round_lasts_as_long_as_all_its_slots():
    """Pilots, re-alignments and every try count, in seconds as in the budget."""
    planned = []
    for _, _, report, _ in play(build(small(**TRIES)), 6):
        costs = report.costs
        assert costs.columns["latency"] == pytest.approx(costs.slots * 1e-6, rel=1e-12)
        assert costs.slots_other == costs.columns["slots_pilot"] + costs.columns["slots_sync"] > 0
        planned.append(costs.slots_digital - report.plan.slots_digital)
    assert min(planned) >= 0
    assert max(planned) > 0  # somebody tried again


def test_an_ideal_round_lasts_as_long_as_its_plan():
    for _, _, report, _ in play(build(small(radio={"meters": ["latency"]})), 3):
        assert report.costs.columns["latency"] == report.plan.slots * 1e-6


def test_coherence_is_that_of_the_rounds_slots():
    doppler = 2.0 * 3.5e9 / 299_792_458.0
    for _, _, report, _ in play(build(small(**TRIES)), 4):
        wanted = j0(2.0 * np.pi * doppler * report.costs.slots * 1e-6)
        assert report.costs.columns["coherence"] == pytest.approx(wanted, rel=1e-12)
    moving = {"correlation": "jakes", "speed": 1.0}
    assert build(small(radio=moving)).scheme.columns[-1] == "coherence"
    assert "coherence" not in build(small(radio={"speed": 1.0})).scheme.columns  # block: as ideal
    assert "coherence" not in build(small(csi={"error": 0.1})).scheme.columns


def test_the_paper_at_walking_pace():
    """0.994 after the air of a round, 0.24 after 27 000 slots of packets."""
    doppler = 3.5e9 / 299_792_458.0
    found = [float(j0(2.0 * np.pi * doppler * slots * 1e-6)) for slots in (2072, 27_000)]
    assert found == pytest.approx([0.994, 0.24], abs=5e-3)


def test_fed_back_bits_are_recorded_and_cost_nothing():
    told, free = (
        play(build(small(csi={"error": 0.1, **bits})), 2)
        for bits in ({"magnitude_bits": 5, "phase_bits": 4}, {})
    )
    for _, _, report, _ in told:
        devices, subchannels = report.fading.gain.shape
        assert report.costs.columns["bits_feedback"] == devices * subchannels * 9
        assert report.costs.slots_other == 0
    assert "bits_feedback" not in free[0][2].costs.columns


def test_a_slot_decides_a_sky_and_is_no_matter_of_looks():
    """With clocks or a cell its length changes results: runs that differ in it are not alike."""
    from airfeel.reproduce.curves import essence

    one, two = (small(sync={"cfo": 1e4}, radio={"symbol_seconds": s}) for s in (1e-6, 5e-6))
    assert essence(one) != essence(two)
    first, second = (play(build(e), 1)[0][1].theta for e in (one, two))
    assert not (first == second).all()


FAR = {
    "cell": {"model": "log-distance", "radius": 60.0, "min_distance": 2.0},
    "training": {"rounds": 12, "devices": 10},
    "radio": {"power_scalar": 0.2},
}


def test_a_run_says_when_near_devices_speak_alone(tmp_path):
    with pytest.warns(Starving, match=r"^cell.model = 'log-distance': near devices speak alone"):
        run = airfeel.run(small(**FAR), tmp_path / "run")
    heard = np.array(run.summary["heard"])
    assert heard.sum() == run.rounds["scheduled"].sum()
    told = build(small(**FAR)).facts
    loss = np.array(told["cell"]["loss_db"])
    assert loss[heard <= 1].min() > loss[heard >= 6].max()


def test_a_run_in_which_all_are_heard_says_nothing():
    near = FAR | {"cell": {"model": "umi", "radius": 20.0, "los": "always", "shadowing_db": 0.0}}
    e = small(**near | {"radio": {"power_scalar": 1e-3}})
    with warnings.catch_warnings(action="error"):
        run = airfeel.run(e)
    assert run.summary["heard"] == [12] * 10
    assert "heard" not in airfeel.run(small(training={"rounds": 1})).summary
    assert verdict(e, build(e).facts, run.summary) is None


@pytest.mark.parametrize("fading", ["none", "rayleigh"])
def test_two_values_on_an_element_train_the_same_model(fading):
    """I and Q to the end of a run: the sum of real values in half the slots and, flat, energy."""
    quiet = {"fading": fading, "noise": 1e-26, "power": 1e6, "power_scalar": 1.0}
    runs = [
        airfeel.run(
            small(
                link={"analog": kind},
                radio=quiet | {"power_scalar": scalar},
                training={"rounds": 5},
                scheme={"scheduler": "all"},
            )
        )
        for kind, scalar in (("real", 1.0), ("iq", 0.5**0.5))
    ]
    real, iq = runs
    assert (real.theta - iq.theta).norm() < 1e-5 * real.theta.norm()
    k, m = round(0.3 * real.summary["dim"]), real.experiment.radio.subchannels
    slots = [run.rounds["slots_air"][1:] for run in runs]
    assert (slots[0] == math.ceil(k / m)).all()
    assert (slots[1] == math.ceil(math.ceil(k / 2) / m)).all()
    if fading == "none":
        air = [run.rounds["needed_median"][1:] for run in runs]
        np.testing.assert_allclose(air[1], air[0] / 2.0, rtol=1e-4)

"""Runs from settings to folder: same bytes, stopping reasons, and what the folder holds."""

import dataclasses
import json
import math
import sys
import tomllib

import numpy as np
import pytest
import torch

import airfeel
from airfeel.build.setup import build
from airfeel.schemes import SCHEMES
from airfeel.settings.columns import ROUND_COLUMNS
from airfeel.settings.load import experiment
from airfeel.storage.rows import DEVICE_COLUMNS, read_columns
from airfeel.storage.store import fingerprint
from airfeel.training.local_sgd import LocalSGD
from airfeel.types import BadInput
from small import play, small
from stopping import timeless


@pytest.mark.parametrize("scheme", SCHEMES)
def test_same_seed_same_bytes_for_any_number_of_threads(tmp_path, scheme):
    for threads in (1, 2, 5):
        e = small(scheme, training={"dtype": "float32"}, run={"threads": threads})
        airfeel.run(e, tmp_path / str(threads))
    other = small(scheme, training={"dtype": "float32"}, run={"seed": 9})
    airfeel.run(other, tmp_path / "other")
    one, two, five = (timeless(tmp_path / n) for n in "125")
    assert one == two == five
    assert one != timeless(tmp_path / "other")
    devices = [(tmp_path / n / "devices.csv").read_bytes() for n in "125"]
    assert len(set(devices)) == 1


def test_the_folder_tells_everything(tmp_path):
    run = airfeel.run(small(), tmp_path / "r")
    rounds = read_columns(tmp_path / "r" / "rounds.csv")
    assert list(rounds) == ROUND_COLUMNS
    for name, column in rounds.items():
        np.testing.assert_array_equal(column, run.columns[name])
    assert rounds["round"].tolist() == list(range(13))
    blocks = 8 * np.cumsum(rounds["slots_air"] + rounds["slots_digital"])
    np.testing.assert_array_equal(rounds["resource_blocks"], blocks)
    devices = read_columns(tmp_path / "r" / "devices.csv")
    assert list(devices) == DEVICE_COLUMNS
    assert len(devices["round"]) == 12 * 6
    by_round = devices["scheduled"].reshape(12, 6).sum(axis=1)
    np.testing.assert_array_equal(by_round, rounds["scheduled"][1:])
    heard = devices["reason"] == "scheduled"
    np.testing.assert_array_equal(heard, devices["scheduled"] == 1)
    assert (devices["needed"] <= devices["budget"])[heard].all()
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert summary["reason"] == "rounds"
    assert summary["rounds"] == 12
    assert summary["resource_blocks"] == blocks[-1]
    energy = devices["energy"].sum() * 1e-6
    assert summary["energy_total"] == pytest.approx(energy)


def test_the_resolved_config_gives_the_same_run(tmp_path):
    first = airfeel.run(small(budget={"slots": 500}), tmp_path / "a")
    table = tomllib.loads((tmp_path / "a" / "config.toml").read_text())
    again = experiment(table)
    assert again == first.experiment
    assert fingerprint(again) == fingerprint(first.experiment)
    airfeel.run(again, tmp_path / "b")
    assert timeless(tmp_path / "a") == timeless(tmp_path / "b")


def test_row_0_is_the_same_start_for_every_scheme():
    starts = [airfeel.run(small(s, training={"rounds": 1})).columns for s in SCHEMES]
    for columns in starts:
        assert columns["test_loss"][0] == starts[0]["test_loss"][0]
        assert columns["resource_blocks"][0] == 0


def test_budget_ends_the_run_and_is_never_passed():
    run = airfeel.run(small(training={"rounds": 500}, budget={"slots": 120}))
    assert run.summary["reason"] == "budget"
    assert 80 < run.summary["slots"] <= 120
    blocks = airfeel.run(small(training={"rounds": 500}, budget={"resource_blocks": 120 * 8 + 7}))
    assert blocks.summary["slots"] == run.summary["slots"]


def test_a_run_without_round_limit_ends_with_its_budget():
    table = small(budget={"slots": 100}).model_dump(exclude_none=True)
    table["training"]["rounds"] = None
    assert airfeel.run(experiment(table)).summary["reason"] == "budget"


def test_target_accuracy_ends_the_run():
    run = airfeel.run(small(training={"rounds": 200}, budget={"target_accuracy": 0.6}))
    assert run.summary["reason"] == "target"
    assert run.columns["test_accuracy"][-1] >= 0.6 > max(run.columns["test_accuracy"][:-1])


def test_stalled_after_idle_rounds_with_model_and_costs_unchanged():
    run = airfeel.run(small(radio={"power_scalar": 1e9}, run={"idle_limit": 4}))
    assert run.summary["reason"] == "stalled"
    assert run.columns["scheduled"].tolist() == [0] * 5
    assert run.columns["slots"].tolist() == [0] * 5
    assert len(set(run.columns["test_loss"])) == 1


def test_converged_by_the_stated_rule():
    slow = {"training": {"learning_rate": 1e-9}, "radio": {"noise": 1e-20}}
    run = airfeel.run(small(**slow, budget={"convergence": 1e-4}))
    assert (run.summary["reason"], run.summary["rounds"]) == ("converged", 1)
    assert airfeel.run(small(**slow)).summary["reason"] == "rounds"


def test_diverged_when_every_update_is_not_finite():
    run = airfeel.run(small(training={"learning_rate": 1e200, "rounds": 30}))
    assert run.summary["reason"] == "diverged"
    assert run.summary["rounds"] < 30


def test_a_device_with_a_broken_update_is_left_out_and_recorded(tmp_path):
    """One device's data holds infinities: the others train on."""
    setup = build(small("tcs-d", scheme={"scheduled": 6}))
    setup.world.data.train_x[setup.world.shards[2]] = torch.inf
    for _, after, report, memory in play(setup, 4):
        assert report.plan.reason[2] == "update-not-finite"
        assert report.plan.active.sum() == 5
        assert torch.isfinite(after.theta).all()
        assert not memory[2].any()


def test_evaluation_only_when_asked():
    run = airfeel.run(small(run={"eval_every": 5}))
    known = np.flatnonzero(~np.isnan(run.columns["test_accuracy"]))
    assert known.tolist() == [0, 5, 10, 12]
    assert np.flatnonzero(~np.isnan(run.columns["distortion"])).tolist() == [5, 10, 12]
    assert run.summary["test_accuracy"] == run.columns["test_accuracy"][-1]
    budget = airfeel.run(small(run={"eval_every": 50}, budget={"slots": 100}))
    assert not math.isnan(budget.summary["test_accuracy"])


def test_distortion_is_the_error_against_the_ideal_mean():
    whole = {"global_sparsity": 1.0, "local_sparsity": 0.0}
    quiet = airfeel.run(small(scheme=whole, radio={"noise": 1e-30, "power": 1e9}))
    loud = airfeel.run(small(scheme=whole, radio={"noise": 1e-2, "power": 1e9}))
    assert quiet.columns["distortion"][1:].max() < 1e-20
    noise = 1e-2 * loud.experiment.radio.power_scalar**-2 * quiet.summary["dim"] / 36
    ideal = quiet.columns["update_norm"][1] ** 2
    assert loud.columns["distortion"][1] == pytest.approx(noise / ideal, rel=0.4)


def test_uninvited_devices_are_not_trained():
    setup = build(small("top-k"))
    trained = []

    class Spy(LocalSGD):
        def __call__(self, turn, devices, dice):
            trained.append(len(devices))
            return super().__call__(turn, devices, dice)

    learn = setup.scheme.learn
    spy = Spy(learn.backend, learn.steps, learn.batch_size, learn.learning_rate)
    scheme = dataclasses.replace(setup.scheme, learn=spy)
    play(dataclasses.replace(setup, scheme=scheme), 3)
    assert sum(trained) == 6 + 3 * 4


def test_a_run_refuses_a_folder_with_something_in_it(tmp_path):
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(BadInput, match="already holds something"):
        airfeel.run(small(), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def test_rounds_are_columns_with_or_without_pandas(monkeypatch):
    run = airfeel.run(small(training={"rounds": 2}))
    assert run.rounds is run.columns
    assert run.rounds["round"].tolist() == [0, 1, 2]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(BadInput, match="pandas is missing: install it with pip install pandas"):
        run.frame()


def test_a_frame_has_a_row_per_round():
    pandas = pytest.importorskip("pandas")
    run = airfeel.run(small(training={"rounds": 2}))
    pandas.testing.assert_frame_equal(run.frame(), pandas.DataFrame(run.columns))


def test_watchers_see_every_row():
    seen = []

    class Watch:
        def begin(self, experiment, world):
            seen.append(experiment.training.rounds)

        def row(self, row):
            seen.append(row["round"])

        def end(self, summary):
            seen.append(summary["reason"])

    airfeel.run(small(training={"rounds": 2}), watchers=[Watch()])
    assert seen == [2, 0, 1, 2, "rounds"]

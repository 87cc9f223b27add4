"""Every scheme on real pictures, the embedded digits: it finishes, and its books add up."""

import json

import numpy as np
import pytest
import torch

import airfeel
from airfeel.analysis.criterion import Judge
from airfeel.analysis.energy import until_each_row
from airfeel.analysis.ranking import lines
from airfeel.catalogues import SCHEMES
from airfeel.reports.data import run_facts
from airfeel.settings.load import experiment
from airfeel.storage.rows import read_columns
from small import small

DIGITS = {
    "data": {"dataset": "digits"},
    "model": {"name": "logistic"},
    "training": {"devices": 5, "local_steps": 2, "batch_size": 16, "rounds": 3},
    "radio": {"subchannels": 8, "power_scalar": 0.5},
}
COMPUTING = {"invite": {"name": "energy-queue", "compute": 1e-3}, "schedule": "power"}


def check_books(folder):
    """Slots, bits and joules of rows and devices are those of the summary."""
    rounds, devices = (read_columns(folder / f"{name}.csv") for name in ("rounds", "devices"))
    summary = json.loads((folder / "summary.json").read_text())
    slots = rounds["slots"].sum()
    assert slots == (rounds["slots_air"] + rounds["slots_digital"]).sum() == summary["slots"]
    assert rounds["resource_blocks"][-1] == 8 * slots == summary["resource_blocks"]
    joules = devices["energy"].sum() * 1e-6
    assert summary["energy_total"] == pytest.approx(joules, rel=1e-9)
    heard = devices["scheduled"].reshape(len(rounds["round"]) - 1, -1)
    np.testing.assert_array_equal(heard.sum(axis=1), rounds["scheduled"][1:])
    assert summary["scheduled_mean"] == pytest.approx(heard.sum(axis=1).mean())
    return summary


@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_finishes_on_digits_and_its_books_add_up(scheme, tmp_path):
    run = airfeel.run(experiment({**DIGITS, "scheme": {"name": scheme}}), tmp_path / "r")
    summary = check_books(tmp_path / "r")
    assert (summary["reason"], summary["rounds"], summary["dim"]) == ("rounds", 3, 650)
    assert torch.isfinite(run.theta).all()
    assert np.isfinite(run.columns["test_loss"]).all()
    assert (run.columns["update_norm"][1:] > 0.0).all()
    assert (summary["slots"] > 0) == (summary["energy_total"] > 0.0) == (scheme != "fedavg")


@pytest.mark.parametrize(
    ("scheme", "changes"),
    [
        ("top-k", {"scheme": {"strict_bits": True, "screen": {"name": "bn2", "scheduled": 2}}}),
        ("tcs-h", {"csi": {"pilots": 1}, "radio": {"power_scalar": 3.0}}),
        ("analog", {"scheme": COMPUTING, "radio": {"power_scalar": 3.0}}),
    ],
)
def test_who_pays_and_is_not_heard_is_in_the_books(scheme, changes, tmp_path):
    """For a report, for pilots, for training."""
    run = airfeel.run(small(scheme, training={"rounds": 4}, **changes), tmp_path / "r")
    rounds, devices = (read_columns(tmp_path / "r" / f"{n}.csv") for n in ("rounds", "devices"))
    joules = devices["energy"].sum() * 1e-6
    assert run.summary["energy_total"] == pytest.approx(joules, rel=1e-9)
    assert run.summary["slots"] == rounds["slots"].sum()
    by_round = devices["energy"].reshape(4, -1).sum(axis=1)
    np.testing.assert_allclose(rounds["energy_total"][1:], by_round, rtol=1e-9)
    scheduled = np.nansum(rounds["energy_mean"] * rounds["scheduled"]) * 1e-6
    assert run.summary["energy_scheduled"] == pytest.approx(scheduled, rel=1e-9)
    assert scheduled < 0.99 * joules
    (line,) = lines({scheme: [run]}, Judge("joules"))
    for told in (line.joules, run_facts(run).joules, until_each_row(run)[-1]):
        assert told == pytest.approx(joules, rel=1e-9)

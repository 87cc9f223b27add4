"""The paper's curves beside each other: `reproduce --workers`."""

import math
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from airfeel.cli.reproduce import app
from airfeel.reproduce import running
from airfeel.reproduce.curves import Curve, curves
from airfeel.settings.columns import ROUND_COLUMNS
from airfeel.storage.rows import read_columns
from airfeel.sweeps.pool import STOPPED
from airfeel.sweeps.sweep import Sweep
from small import small


def cli(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


def tiny(rounds=6):
    """Curves of the paper's shape and a millisecond's length."""
    schemes = ("tcs-h", "top-k")
    return [Curve(s, small(s, training={"rounds": rounds}, run={"seed": 0})) for s in schemes]


@pytest.fixture
def only(monkeypatch):
    """Lets the command know these curves alone."""

    def put(chosen):
        known = curves() | {curve.name: curve for curve in chosen}
        monkeypatch.setattr("airfeel.cli.reproduce.pick", lambda *_: chosen)
        monkeypatch.setattr("airfeel.cli.reproduce.curves", lambda _: known)

    return put


@dataclass
class Under:
    """A job that goes on until it is asked to stop."""

    asked: int = 0

    def poll(self):
        return STOPPED if self.asked else None

    def stop(self):
        self.asked += 1


def clock(monkeypatch, times):
    monkeypatch.setattr(running, "time", SimpleNamespace(monotonic=iter(times).__next__))


def test_of_three_runs_two_at_a_time_each_has_two_thirds_of_the_time(tmp_path, monkeypatch):
    planned = running.trials(tiny(), [0, 1], 1.0, tmp_path)[:3]
    work, shares = Sweep(planned, 2), running.Shares(90.0)
    jobs = [Under() for _ in planned]
    work.running = {trial.folder: job for trial, job in zip(planned[:2], jobs, strict=False)}
    clock(monkeypatch, [0.0, 59.0, 60.0, 60.0, 89.0, 90.0])
    shares(work)
    shares(work)
    assert [job.asked for job in jobs] == [0, 0, 0]
    shares(work)
    assert [job.asked for job in jobs] == [1, 1, 0]
    work.faults = dict.fromkeys(work.running, STOPPED)
    work.running = {planned[2].folder: jobs[2]}  # it has all that is left
    shares(work)
    shares(work)
    assert jobs[2].asked == 0
    shares(work)
    assert jobs[2].asked == 1


def test_without_a_limit_no_run_is_stopped(tmp_path, monkeypatch):
    planned = running.trials(tiny(), [0], 1.0, tmp_path)
    work, job = Sweep(planned, 2), Under()
    work.running = {planned[0].folder: job}
    clock(monkeypatch, [0.0, 1e9])
    shares = running.Shares(math.inf)
    shares(work)
    shares(work)
    assert job.asked == 0


def test_curves_beside_each_other_have_the_rows_of_curves_in_turn(tmp_path, only):
    only(tiny())
    for workers in (1, 2):
        told = cli("iid", "--out", tmp_path / str(workers), "--workers", workers)
        assert told.exit_code == 0, told.output
    one, two = (sorted((tmp_path / name).glob("*/rounds.csv")) for name in ("1", "2"))
    assert [path.parent.name for path in one] == [path.parent.name for path in two]
    assert len(one) == 2
    for first, second in zip(one, two, strict=True):
        ours, theirs = read_columns(first), read_columns(second)
        for name in ROUND_COLUMNS[:-1]:
            np.testing.assert_array_equal(ours[name], theirs[name])


def test_beside_each_other_too_a_share_that_is_over_saves_a_run(tmp_path, only):
    only(tiny(100_000))
    told = cli("iid", "--out", tmp_path, "--workers", 2, "--budget-hours", 4 / 3600)
    assert told.exit_code == 0, told.output
    assert "tcs-h seed 0: stopped" in told.output
    played = [read_columns(path)["round"][-1] for path in sorted(tmp_path.glob("*/rounds.csv"))]
    assert len(played) == 2
    assert all(0 < rounds < 100_000 for rounds in played)
    assert not list(tmp_path.glob("*/summary.json"))


def test_beside_each_other_too_a_run_that_cannot_be_resumed_harms_no_other(tmp_path, only):
    only(tiny())
    bad, good = running.trials(tiny(), [0], 1.0, tmp_path)
    bad.folder.mkdir()
    (bad.folder / "config.toml").write_text("[training]\nrounds = 'many'\n", "utf-8")
    told = cli("iid", "--out", tmp_path, "--workers", 2)
    assert told.exit_code == 1
    assert f"airfeel: {bad.folder}: BadInput: " in told.output
    assert "has no section [data]" in told.output
    assert good.done

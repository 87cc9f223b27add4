"""Long runs that nobody watches: where each is, what a restart does, and copies at any time."""

from datetime import datetime
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from airfeel.cli.reproduce import app
from airfeel.reports.runs import read
from airfeel.reproduce import running, whereabouts
from airfeel.reproduce.curves import Curve
from airfeel.reproduce.results import export
from airfeel.storage.rows import read_columns
from airfeel.types import BadInput
from small import small

NOW = datetime(2030, 1, 1, 12, 0)


def planned(folder, rounds=6, names=("tcs-h", "top-k"), **more):
    curves = [
        Curve(name, small(name, training={"rounds": rounds}, run={"seed": 0})) for name in names
    ]
    return running.trials(curves, [0], 1.0, folder, **more)


def store(trial, rounds, seconds, *, end="", pause=0.0):
    """Rows of so many rounds that took so long each, with a look in every second one.

    pause: how long the last one took beside.
    """
    trial.folder.mkdir(parents=True)
    took = ["", *[seconds] * (rounds - 1), seconds + pause]
    rows = [f"{t},{'' if t % 2 else 0.5 + t / 1000},{took[t]}" for t in range(rounds + 1)]
    text = "\n".join(["round,test_accuracy,seconds", *rows]) + "\n" + end
    (trial.folder / "rounds.csv").write_text(text, "utf-8")


def test_each_curve_has_a_line_that_says_where_it_is_and_when_it_will_be_done(tmp_path):
    first, second, third = trials = planned(tmp_path, 100, ("tcs-h", "top-k", "fedavg"))
    assert whereabouts.whereabouts(trials, NOW) == [
        "tcs-h seed 0   waiting, 0 of 100 rounds, no pace known yet",
        "top-k seed 0   waiting, 0 of 100 rounds, no pace known yet",
        "fedavg seed 0  waiting, 0 of 100 rounds, no pace known yet",
    ]
    store(first, 100, 30.0)
    (first.folder / "summary.json").write_text('{"seed": 0}', "utf-8")
    store(second, 40, 90.0, end="41,0.9")  # a line that is being written
    assert whereabouts.whereabouts(trials, NOW) == [
        "tcs-h seed 0   round 100 of 100, accuracy 60.00%, done",
        "top-k seed 0   round 40 of 100, accuracy 54.00%, 90 min to go, "
        "done about 2030-01-01 13:30",
        "fedavg seed 0  waiting, 0 of 100 rounds, 100 min to go, done about 2030-01-01 15:10",
    ]
    assert not third.begun


def test_a_run_that_ended_by_itself_says_why(tmp_path):
    (trial,) = planned(tmp_path, 100, ("tcs-h",))
    store(trial, 40, 1.0)
    (trial.folder / "summary.json").write_text('{"reason": "stalled"}', "utf-8")
    assert whereabouts.whereabouts([trial], NOW) == [
        "tcs-h seed 0  round 40 of 100, accuracy 54.00%, done (stalled)"
    ]


def test_a_pause_in_the_midst_of_a_round_does_not_move_the_end_by_hours(tmp_path):
    (trial,) = planned(tmp_path, 600, ("tcs-h",))
    store(trial, 200, 60.0, pause=7200.0)  # stopped for two hours, 400 rounds to go
    (line,) = whereabouts.whereabouts([trial], NOW)
    assert line.endswith("7.0 h to go, done about 2030-01-01 18:58")  # 400 · 60 s · 209/200


def test_within_a_budget_each_line_tells_whether_its_share_is_enough(tmp_path):
    first, second, third = trials = planned(tmp_path, 100, ("tcs-h", "top-k", "fedavg"))
    store(first, 40, 90.0)  # an hour and a half to go
    store(second, 80, 90.0)  # half an hour
    store(third, 40, 90.0)
    endings = [line.split("%, ")[1] for line in whereabouts.whereabouts(trials, NOW, 3.0)]
    assert endings == [
        "90 min to go, of which 60 min within the budget",
        "30 min to go, done about 2030-01-01 13:30",
        "90 min to go, done about 2030-01-01 15:00",  # with what the second left over
    ]
    with pytest.raises(BadInput, match="--budget-hours 0"):
        whereabouts.whereabouts(trials, NOW, 0.0)


def test_curves_beside_each_other_are_done_earlier(tmp_path):
    first, second, third = trials = planned(tmp_path, 100, ("tcs-h", "top-k", "fedavg"))
    store(first, 40, 90.0)  # an hour and a half to go
    store(second, 80, 90.0)  # half an hour
    store(third, 40, 90.0)

    def endings(*more):
        return [line.split("%, ")[1] for line in whereabouts.whereabouts(trials, NOW, *more)]

    assert endings(None, 2) == [
        "90 min to go, done about 2030-01-01 13:30",
        "30 min to go, done about 2030-01-01 12:30",
        "90 min to go, done about 2030-01-01 14:00",  # where the second was
    ]
    assert endings(1.5, 2) == [
        "90 min to go, of which 60 min within the budget",
        "30 min to go, done about 2030-01-01 12:30",
        "90 min to go, of which 60 min within the budget",
    ]
    for trial in trials:
        (trial.folder / "rounds.csv").unlink()
    assert {line.split("rounds, ")[1] for line in whereabouts.whereabouts(trials, NOW, 1.0, 2)} == {
        "no pace known yet"
    }


def test_a_last_line_without_its_end_is_read_only_where_the_file_is_finished(tmp_path):
    (trial,) = planned(tmp_path, 10, ("tcs-h",))
    store(trial, 4, 1.0, end="5,0.1,1.2")
    path = trial.folder / "rounds.csv"
    assert read_columns(path)["round"][-1] == 5
    assert read_columns(path, growing=True)["round"][-1] == 4


def test_rows_can_be_copied_while_a_run_writes_them(tmp_path, monkeypatch):
    monkeypatch.setattr("airfeel.storage.store._SECONDS", 0.0)  # rows wait for no others
    (trial,) = planned(tmp_path / "runs", 5, ("tcs-h",))
    known = {"tcs-h": Curve("tcs-h", trial.experiment)}
    copied = []

    class Exporter:
        def begin(self, experiment, world):
            pass

        def row(self, row):
            if row["round"] >= 2:
                export([tmp_path / "runs"], tmp_path / "results", known)
                copied.append(read(tmp_path / "results" / "tcs-h").columns["round"][-1])

        def end(self, summary):
            pass

    assert running.carry_out([trial], None, lambda name, e: [Exporter()])
    assert copied == sorted(copied)
    assert copied[-1] >= 3
    export([tmp_path / "runs"], tmp_path / "results", known)
    assert {path.name for path in (tmp_path / "results" / "tcs-h").iterdir()} == {
        "config.toml", "rounds.csv", "summary.json",
    }  # fmt: skip


def test_a_run_that_cannot_be_resumed_does_not_keep_the_others(tmp_path, monkeypatch):
    trials, told = planned(tmp_path), []
    store(trials[0], 2, 1.0)
    carried = running.run_missing

    def run_missing(e, folder, *rest):
        if folder == trials[0].folder:
            raise BadInput(f"{folder}: was computed by another kernel")
        return carried(e, folder, *rest)

    monkeypatch.setattr(running, "run_missing", run_missing)
    assert not running.carry_out(trials, None, tell=told.append)
    assert [trial.done for trial in trials] == [False, True]
    assert len(told) == 1
    assert told[0].startswith("tcs-h seed 0: left as it is, ")


def test_what_cannot_begin_is_refused_as_ever(tmp_path, monkeypatch):
    def run_missing(*_):
        raise BadInput("data.dir: holds no such data")

    monkeypatch.setattr(running, "run_missing", run_missing)
    with pytest.raises(BadInput, match=r"data\.dir"):
        running.carry_out(planned(tmp_path), None)


@pytest.fixture
def told(tmp_path, monkeypatch):
    """The command on short curves; returns what it says."""
    curves = [Curve(t.label, t.experiment) for t in planned(tmp_path)]
    monkeypatch.setattr("airfeel.cli.reproduce.pick", lambda *_: curves)
    monkeypatch.setattr("airfeel.cli.reproduce.curves", lambda _: {c.name: c for c in curves})
    monkeypatch.setattr("airfeel.cli.reproduce._judge", lambda *_: None)

    def call(*arguments):
        command = ["all", "--out", str(tmp_path / "out"), *arguments]
        return CliRunner().invoke(app, command, env={"COLUMNS": "200"})

    return call


def test_the_command_gives_way_looks_as_often_as_asked_and_says_where_it_is(
    told, tmp_path, monkeypatch
):
    gave = []
    monkeypatch.setattr(whereabouts, "os", SimpleNamespace(nice=gave.append))
    monkeypatch.setattr(whereabouts, "Path", lambda *_: tmp_path / "autogroup")
    before = told("--status", "--eval-every", "4")
    assert before.output.count("waiting, 0 of 6 rounds") == 2
    assert not (tmp_path / "out").exists()
    assert not gave
    done = told("--nice", "--eval-every", "4", "--budget-hours", "1")
    assert done.exit_code == 0, done.output
    assert done.output.count("round 6 of 6") == 2
    assert gave == [19]
    assert (tmp_path / "autogroup").read_text("utf-8") == "19"
    (folder,) = (tmp_path / "out").glob("tcs-h*")
    assert "eval_every = 4" in (folder / "config.toml").read_text("utf-8")


def test_the_budget_is_part_of_what_status_tells(told):
    refused = told("--status", "--budget-hours", "-1").exception
    assert isinstance(refused, BadInput)
    assert "--budget-hours -1.0: must be above 0" in str(refused)


def test_a_machine_that_knows_no_priorities_is_no_fault(monkeypatch, tmp_path):
    monkeypatch.setattr(whereabouts, "os", SimpleNamespace())
    monkeypatch.setattr(whereabouts, "Path", lambda *_: tmp_path / "none" / "autogroup")
    whereabouts.give_way()


def test_the_command_ends_with_a_fault_where_a_curve_was_left(told, monkeypatch):
    def carry_out(planned, hours, watch, signals, tell):
        tell("tcs-h seed 0: left as it is, why")

    monkeypatch.setattr("airfeel.cli.reproduce.carry_out", carry_out)
    ended = told()
    assert ended.exit_code == 1
    assert "tcs-h seed 0: left as it is, why" in ended.output

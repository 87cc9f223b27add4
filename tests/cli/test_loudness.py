"""How much is said: -q, -v, a log file; completion; and which classes devices hold."""

import math
import os
import re
from dataclasses import dataclass, replace

import pytest
from test_cli import QUICK, call

from airfeel.cli import league, reproduce
from airfeel.cli.options import LOUDNESS, Loudness
from airfeel.cli.shares_shown import class_counts
from airfeel.reproduce.curves import Curve
from airfeel.settings.columns import ROUND_COLUMNS
from airfeel.settings.load import load
from airfeel.sweeps.following import Following
from airfeel.sweeps.pool import Trial
from airfeel.sweeps.sweep import Sweep
from airfeel.types import BadInput
from small import small

RUN = ["run", "digits-tcs-h", *QUICK]


def test_quiet_says_results_only_and_verbose_a_line_for_each_round(monkeypatch, capsys, tmp_path):
    quiet = call(monkeypatch, capsys, "-q", *RUN, "--out", str(tmp_path / "q"))
    assert quiet == f"results in {tmp_path / 'q'}\n"
    log = tmp_path / "log.txt"
    said = ["-v", "--log-file", str(log)]
    loud = call(monkeypatch, capsys, *said, *RUN, "--out", str(tmp_path / "v"))
    assert re.findall(r"round (\d+)", loud) == ["0", "1", "2", "3"]
    assert re.findall(r"round (\d+)", log.read_text("utf-8")) == ["0", "1", "2", "3"]
    call(monkeypatch, capsys, *said[1:], *RUN, "--out", str(tmp_path / "w"))
    assert log.read_text("utf-8").count("after 3 rounds") == 2  # appended


def test_classes_by_device_are_those_of_the_run(monkeypatch, capsys, tmp_path):
    words = ["--set", "data.partition=classes", "--set", "data.classes_per_device=2"]
    plot = tmp_path / "classes.png"
    out = call(monkeypatch, capsys, "data", "show", "digits-tcs-h", *words, "--plot", str(plot))
    assert len(re.findall(r"^\d+ ", out, re.MULTILINE)) == 20
    assert plot.stat().st_size > 1000
    counts = class_counts(load("digits-tcs-h", words[1::2]))
    assert counts.shape == (20, 10)
    assert ((counts > 0).sum(axis=1) == 2).all()


def test_targets_that_are_numbers_have_no_classes():
    with pytest.raises(BadInput, match="has no classes"):
        class_counts(load("digits-tcs-h", ["data.dataset=synthetic", "data.classes=0"]))


def test_a_shell_can_complete_commands(monkeypatch, capsys):
    monkeypatch.setenv("_AIRFEEL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "airfeel rep")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert call(monkeypatch, capsys).split() == ["report", "reproduce"]


def test_runs_of_other_processes_are_told_as_one_here_is(monkeypatch, capsys, tmp_path):
    file, log, out = tmp_path / "two.toml", tmp_path / "log.txt", str(tmp_path / "out")
    settings = "training.rounds = [3]\ntraining.local_steps = [1]\n"
    file.write_text(f"seeds = [0, 1]\n[grid]\n{settings}")
    words = ["--log-file", str(log), "sweep", str(file), "--out", out]
    loud = call(monkeypatch, capsys, "-v", *words, "--workers", "1")
    assert re.findall(r"seed (\d): \d+%, round (\d)", loud) == [
        (seed, t) for seed in "01" for t in "0123"
    ]
    assert re.findall(r"seed (\d): accuracy .* after 3 rounds", loud) == ["0", "1"]
    told = log.read_text("utf-8").splitlines()
    assert [line for line in loud.splitlines() if re.search(r"seed \d: ", line)] == told
    quiet = call(monkeypatch, capsys, "-q", *words)
    assert "seed 0:" not in quiet
    assert "report in" in quiet
    assert log.read_text("utf-8").splitlines() == told  # finished runs are read, not told again


def test_what_is_under_way_is_told_once_and_what_was_there_before_is_not(tmp_path):
    trials = [Trial(name, small(), tmp_path / name) for name in ("resumed", "fresh")]
    trials[1] = replace(trials[1], fresh=True)
    for trial in trials:
        trial.folder.mkdir()
        (trial.folder / "config.toml").write_text("")
        (trial.folder / "rounds.csv").write_text(HEAD + row(0) + row(1))
    told = []
    work = Sweep(trials, running={trial.folder: UnderWay() for trial in trials})
    follow = Following(trials, lambda name, _: [Told(told, name)])
    follow.look(work)
    assert told == ["resumed begins"]
    with (trials[0].folder / "rounds.csv").open("a") as file:
        file.write(row(2) + row(3)[:-1])  # the last line is not whole yet
    follow.look(work)
    assert told.pop() == "resumed 2"
    (trials[0].folder / "rounds.csv").write_text(HEAD + row(0) + row(1))  # cut, and gone on with
    follow.look(work)
    (trials[0].folder / "rounds.csv").write_text(HEAD + "".join(map(row, range(4))))
    os.utime(trials[1].folder / "config.toml", (1, 1))  # deleted, and begun anew
    follow.look(work)
    assert told == ["resumed begins", "resumed 3", "fresh begins", "fresh 0", "fresh 1"]
    (trials[1].folder / "summary.json").write_text('{"rounds": 1}')
    del work.running[trials[1].folder]
    follow.look(work)
    follow.look(work)
    assert told[5:] == ["fresh ended after 1"]


HEAD = ",".join(ROUND_COLUMNS) + "\n"


def row(number):
    return f"{number}" + "," * (len(ROUND_COLUMNS) - 1) + "\n"


class UnderWay:
    """A job that never ends."""

    def poll(self): ...

    def stop(self): ...


@dataclass
class Told:
    """Writes down what it is told."""

    to: list[str]
    name: str

    def begin(self, experiment):
        self.to.append(f"{self.name} begins")

    def row(self, row):
        assert math.isnan(row["test_accuracy"])
        self.to.append(f"{self.name} {row['round']}")

    def end(self, summary):
        self.to.append(f"{self.name} ended after {summary['rounds']}")


@pytest.mark.parametrize(("loud", "said"), [([], 2), (["-q"], 0), (["-v"], 6)])
def test_curves_of_the_paper_are_as_loud_as_runs(monkeypatch, capsys, tmp_path, loud, said):
    short = small(training={"rounds": 1})
    monkeypatch.setattr(reproduce, "pick", lambda *_: [Curve(n, short) for n in ("one", "two")])
    monkeypatch.setattr(reproduce, "_judge", lambda *_: None)
    out = call(monkeypatch, capsys, *loud, "reproduce", "iid", "--out", str(tmp_path))
    assert len(re.findall(r"^(?:one|two) seed 0: ", out, re.MULTILINE)) == said


def test_a_league_that_is_quiet_does_not_count_its_runs(capsys, tmp_path):
    work = Sweep([Trial("a", small(), tmp_path / "a")])
    for loud, said in ((Loudness(), "tuning: 0 of 1 runs\n"), (Loudness(quiet=True), "")):
        before = LOUDNESS.set(loud)
        league._Told()("tuning", work)
        LOUDNESS.reset(before)
        assert capsys.readouterr().out == said


def test_a_league_says_how_long_the_rest_takes_at_the_pace_so_far(capsys, tmp_path):
    work = Sweep([Trial(str(i), small(), tmp_path / str(i)) for i in range(10)])
    before = LOUDNESS.set(Loudness())
    told = league._Told(iter((0.0, 240.0, 600.0)).__next__)
    for done in (2, 4, 10):  # two were there before
        for i in range(done):
            (tmp_path / str(i)).mkdir(exist_ok=True)
            (tmp_path / str(i) / "summary.json").touch()
        told("playing", work)
    LOUDNESS.reset(before)
    said = "2 of 10 runs", "4 of 10 runs, about 12 min to go", "10 of 10 runs"
    assert capsys.readouterr().out == "".join(f"playing: {each}\n" for each in said)

"""How much is said: -q, -v, a log file; completion; and which classes devices hold."""

import re

import pytest
from test_cli import QUICK, call

from airfeel.experiment.load import load
from airfeel.experiment.shares_shown import class_counts
from airfeel.types import BadInput

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

"""What tuning has found is kept as a file, and taken from it in place of tuning again."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from airfeel.cli import app
from airfeel.errors import BadInput
from airfeel.sweeps.benchmark.rules import read_league
from airfeel.sweeps.benchmark.tuned import Tried, how, read_tuning, told_how, write_tuning

TEXT = """
base = "digits"
slots = [3000]
seeds = [0]
set = {"training.rounds" = 2, "training.local_steps" = 1}
[tuning]
seeds = [8, 9]
points = 4
[contenders.air]
scheme = "tcs-h"
try = {"radio.power_scalar" = [1e-4, 0.5], "scheme.mask" = ["top", {name = "fair-k", large = 0.5}]}
[contenders.top]
scheme = "top-k"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture
def league(file):
    return read_league(str(file))


def found(league, best=2):
    """As if every point of `air` had been tried, and one of them was best."""
    air, top = league.contenders
    tried = [
        Tried("air", 3000, p, (0.4, round(0.6 + 0.1 * i, 1)), i == best, (8, 9), 0.1)
        for i, p in enumerate(air.points)
    ]
    return [*tried, Tried("top", 3000, top.points[0], (), True)]


def test_what_is_written_is_read(league, tmp_path):
    write_tuning(found(league), tmp_path / "deep" / "tuning.csv")
    assert read_tuning(league, tmp_path / "deep" / "tuning.csv") == found(league)


def test_how_settings_were_chosen_is_told(league):
    told = told_how(found(league))
    assert told.startswith(
        "Tuned on 10 % of the training samples, held out of training, with seeds 8"
    )
    assert told.endswith("Candidate settings at each budget: air 4, top 1.")
    assert how(found(league)) == {
        "evaluated_on": "validation",
        "validation": 0.1,
        "seeds": [8, 9],
        "runs_per_candidate": 2,
        "candidates": {"air": 4, "top": 1},
    }


def test_a_file_of_an_older_version_was_tuned_on_the_test_images(league, tmp_path):
    path = tmp_path / "tuning.csv"
    write_tuning([replace(t, accuracies=t.accuracies[:1]) for t in found(league)], path)
    lines = [line.rsplit(",", 2)[0] for line in path.read_text("utf-8").splitlines()]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    tried = read_tuning(league, path)
    assert {(t.seeds, t.validation) for t in tried} == {((), 0.0)}
    assert told_how(tried).startswith("Tuned on test images with one seed; to be run again.")
    assert how(tried)["evaluated_on"] == "test"


def test_of_contenders_that_do_not_play_nothing_is_read(league, tmp_path):
    write_tuning(found(league), tmp_path / "tuning.csv")
    some = read_tuning(league.narrowed(["top"]), tmp_path / "tuning.csv")
    assert [t.label for t in some] == ["top"]


def test_a_league_plays_with_what_a_file_chose_and_tunes_nothing(file, league, tmp_path):
    write_tuning(found(league, best=1), tmp_path / "known.csv")
    told = ["--tuned", str(tmp_path / "known.csv"), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, ["league", str(file), *told])
    assert result.exit_code == 0, result.output
    assert "tuning:" not in result.output
    assert not (tmp_path / "out" / "tuning").exists()
    page = (tmp_path / "out" / "league.md").read_text("utf-8")
    assert '`radio.power_scalar` = 0.0001, `scheme.mask` = {"name": "fair-k", "large": 0.5}' in page
    assert read_tuning(league, tmp_path / "out" / "tuning.csv") == found(league, best=1)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda text: "", "chooses 0 settings of air at 3000 slots"),
        (lambda text: text.replace("top,", "bottom,"), "chooses 0 settings of top at 3000 slots"),
        (lambda text: text.replace(",3000,", ",9000,"), "chooses 0 settings of air at 3000 slots"),
        (lambda text: text.replace(",0.5,0,8", ",0.5,1,8"), "chooses 2 settings of air"),
        (lambda text: text.replace("contender", "who"), "is not the tuning.csv of a league"),
        (lambda text: text.replace(",3000,", ",many,"), "is not the tuning.csv of a league"),
        (lambda text: text.replace("{", "<"), "is not the tuning.csv of a league"),
    ],
)
def test_files_of_other_leagues_and_no_such_files_are_refused(league, tmp_path, spoil, why):
    path: Path = tmp_path / "tuning.csv"
    write_tuning(found(league), path)
    path.write_text(spoil(path.read_text("utf-8")), "utf-8")
    with pytest.raises(BadInput, match=why):
        read_tuning(league, path)


def test_a_file_that_is_not_there_is_told(league, tmp_path):
    with pytest.raises(BadInput, match=r"nowhere\.csv: cannot be read \(No such file"):
        read_tuning(league, tmp_path / "nowhere.csv")

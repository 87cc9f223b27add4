"""An own scheme takes part in a benchmark: tuned, in the table, and in folders with plain names."""

import json

import pytest
from typer.testing import CliRunner

from airfeel.cli import app
from airfeel.storage.reader import open_run

TEXT = """
base = "digits"
slots = [20000]
seeds = [0, 1]
set = {"training.rounds" = 3, "training.local_steps" = 1}
[tuning]
seeds = [8, 9]
[contenders.mine]
scheme = "air_only:build"
try = {"scheme.options.count" = [2, 10]}
[contenders."air_only:build"]
scheme = "air_only:build"
[contenders.top]
scheme = "top-k"
"""


@pytest.fixture
def out(home):
    (home / "file.toml").write_text(TEXT)
    result = CliRunner().invoke(app, ["league", "file.toml", "--out", "out", "--workers", "1"])
    assert result.exit_code == 0, result.output
    return home / "out"


def test_it_is_tuned_and_ranked_by_its_label(out):
    told = json.loads((out / "league.json").read_text("utf-8"))
    assert told["tuning"]["candidates"] == {"mine": 2, "air_only:build": 1, "top": 1}
    places = {each["label"]: each for each in told["budgets"][0]["contenders"]}
    assert set(places) == {"mine", "air_only:build", "top"}
    assert places["mine"]["settings"]["scheme.options.count"] in (2, 10)
    runs = [open_run(folder) for folder in (out / "runs").iterdir()]
    assert sorted({run.name for run in runs}) == ["air-only", "top-k"]
    folders = {path.name.split("-20000-seed")[0] for path in (out / "runs").iterdir()}
    assert folders == {"mine", "air_only_build", "top"}
    assert len(list((out / "tuning").iterdir())) == 4

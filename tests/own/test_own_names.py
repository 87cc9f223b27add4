"""An own scheme is shown by the name that it gives itself, wherever runs are shown."""

import json

import pytest

import airfeel
from airfeel.cli.outcome import names, renamed
from airfeel.experiment.groups import group
from airfeel.experiment.judge import parse_judge
from airfeel.experiment.report.live import Watched
from airfeel.experiment.report.maps import Axis, over_settings
from airfeel.experiment.report.runs import load

SHORT = ["training.rounds=2", "training.local_steps=1"]
OWN = "air_only:build"


@pytest.fixture
def compared(home):
    return airfeel.compare(schemes=[OWN, "tcs-h"], overrides=SHORT, out=home / "runs")


def test_tables_the_page_and_the_live_view_call_it_so(compared, home):
    assert set(compared.groups) == {"air-only", "tcs-h"}
    assert "air-only" in compared.markdown()
    assert "air-only" in compared.verdict
    assert OWN not in compared.markdown()
    assert compared.groups["air-only"][0].summary["scheme"] == "air-only"
    (page, *_) = compared.report(home / "report")
    text = page.read_text("utf-8")
    assert '<th scope="row">air-only</th>' in text
    assert OWN in text  # what was run says whose it is
    _, shown = Watched([home / "runs"]).state()
    assert {each["label"] for each in shown["data"]["groups"]} == {"air-only", "tcs-h"}


def test_a_run_that_is_not_finished_and_one_of_an_older_version_have_names(compared, home):
    (folder,) = (home / "runs").glob("air_only*")
    (folder / "summary.json").unlink()
    assert airfeel.open(folder).name == "air-only"
    facts = json.loads((folder / "facts.json").read_text("utf-8"))
    del facts["scheme"]
    (folder / "facts.json").write_text(json.dumps(facts))
    assert airfeel.open(folder).name == OWN
    assert set(load([home / "runs"])[0]) == {OWN, "tcs-h"}


def test_names_that_would_mislead_are_told_apart(home, monkeypatch):
    monkeypatch.syspath_prepend(str(home))
    (home / "wrapping.py").write_text(
        "import air_only\nfrom dataclasses import replace\n"
        "def same(s): return air_only.build(s)\n"
        "def posing(s): return replace(air_only.build(s), name='tcs-h')\n"
    )
    schemes = [OWN, "wrapping:same", "wrapping:posing", "tcs-h"]
    compared = airfeel.compare(schemes=schemes, overrides=SHORT, out=home / "runs")
    assert set(compared.groups) == set(schemes)  # two would have one name: all keep theirs
    runs = [runs[0] for runs in compared.groups.values()]
    assert set(group(runs)[0]) == {
        "air-only (name=air_only:build)",
        "air-only (name=wrapping:same)",
        "tcs-h (wrapping:posing)",
        "tcs-h",
    }


@pytest.mark.parametrize("old", [OWN, "air-only"])
def test_another_name_may_be_given_by_either(compared, old):
    labels = names([f"{old}=Mine"])
    assert set(renamed(compared.groups, labels)) == {"Mine", "tcs-h"}
    figure = over_settings(
        compared.groups, parse_judge("final"), Axis("training.rounds", names=labels)
    )
    assert {text.get_text() for text in figure.legends[0].get_texts()} == {"Mine", "tcs-h"}

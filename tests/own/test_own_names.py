"""An own scheme is shown by the name that it gives itself, wherever runs are shown."""

import json

import pytest
from typer.testing import CliRunner

import airfeel
from airfeel.analysis.criterion import parse_judge
from airfeel.analysis.groups import group
from airfeel.cli import app
from airfeel.cli.outcome import names, renamed
from airfeel.reports.live import Watched
from airfeel.reports.maps import Axis, over_settings
from airfeel.reports.runs import load
from airfeel.sweeps.compare import folder_of
from airfeel.sweeps.expand import asked

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


def folders(home):
    return sorted(path.name for path in home.glob("runs/*") if path.is_dir())


@pytest.mark.parametrize(
    ("name", "scheme", "folder"),
    [
        ("digits-tcs-h", OWN, "digits-air_only_build-seed0"),
        ("digits-tcs-h", "top-k", "digits-top-k-seed0"),
        ("digits-tcs-h", "tcs-h", "digits-tcs-h-seed0"),
        ("mine.toml", "top-k", "mine-top-k-seed0"),
        ("mine.toml", "tcs-h", "mine-seed0"),
        ("a:b.toml", "tcs-h", "a_b-seed0"),
    ],
)
def test_a_runs_folder_names_the_scheme_that_ran_and_holds_no_colon(home, name, scheme, folder):
    for file in ("mine.toml", "a:b.toml"):
        (home / file).write_text('[scheme]\nname = "tcs-h"\n')
    short = [word for each in SHORT for word in ("--set", each)]
    told = CliRunner().invoke(app, ["run", name, "--set", f"scheme.name={scheme}", *short])
    assert told.exit_code == 0, told.output
    assert folders(home) == [folder]


def test_a_comparison_names_the_scheme_that_replaced_a_presets_own(home):
    more = [f"scheme.name={OWN}", *SHORT]
    alone = airfeel.compare("digits-tcs-h", overrides=more, out=home / "runs")
    assert set(alone.groups) == {"air-only"}
    (folder,) = folders(home)
    assert folder.startswith("air_only_build-seed0-")
    both = airfeel.compare(["digits-tcs-h", "digits-qsgd"], overrides=more, out=home / "more")
    assert set(both.groups) == {"digits-tcs-h/air-only", "digits-qsgd/air-only"}
    assert not [path.name for path in (home / "more").iterdir() if ":" in path.name]


def test_sweeps_over_own_schemes_have_plain_folders(home):
    (home / "sweep.toml").write_text(
        f'base = "digits-tcs-h"\n[grid]\n"scheme.name" = ["{OWN}", "top-k"]\n'
        '"training.rounds" = [2]\n"training.local_steps" = [1]\n'
    )
    airfeel.sweep("sweep.toml", home / "runs", workers=1)
    names = [name.split(",")[0] for name in folders(home)]
    assert names == ["name=air_only_build", "name=top-k"]


def test_folders_of_presets_are_named_as_ever(home):
    named = asked(["digits-tcs-h"], (), [3])
    named += asked((), ["tcs-h", "top-k"], [3]) + asked(["digits-tcs-h", "digits-top-k"], ["obda"])
    made = [folder_of(home, label, e).name.rpartition("-")[0] for label, e in named]
    assert made == [
        *("digits-tcs-h-seed3", "tcs-h-seed3", "top-k-seed3"),
        *("digits-tcs-h_obda-seed0", "digits-top-k_obda-seed0"),
    ]

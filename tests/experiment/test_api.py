"""What the command line does, from Python."""

import subprocess
import sys

import numpy as np
import pytest

import airfeel

SHORT = ["training.rounds=3", "training.local_steps=1"]


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    found = airfeel.compare(
        schemes=["tcs-h", "fedavg"], seeds=range(2), overrides=SHORT, out=out / "a"
    )
    return out, found


def test_a_comparison_has_its_runs_a_verdict_a_table_and_a_report(compared):
    out, found = compared
    assert {label: len(runs) for label, runs in found.groups.items()} == {"tcs-h": 2, "fedavg": 2}
    assert "tcs-h has" in found.verdict
    assert "| fedavg (free)" in found.markdown()
    assert "<table>" in found._repr_html_()
    page, *_ = found.report(out / "page")
    assert page.name == "report.html"
    assert airfeel.report(out / "a", out / "again")[0].read_text() == page.read_text()


def test_a_stored_run_is_opened_with_its_rounds_and_drawn_under_a_name(compared):
    out, found = compared
    run = found.groups["tcs-h"][0]
    again = airfeel.open(str(run.folder))
    assert again.summary == run.summary | {k: again.summary[k] for k in again.summary}
    for name, values in run.rounds.items():
        np.testing.assert_array_equal(again.rounds[name], values)
    pytest.importorskip("matplotlib")
    axes = again.plot(label="mine")
    again.plot(axes)
    assert [line.get_label() for line in axes[0].lines] == ["mine", "tcs-h"]
    with pytest.raises(airfeel.BadInput):
        airfeel.open(out)


def test_frames_have_a_row_per_round_and_per_run(compared):
    pytest.importorskip("pandas")
    _, found = compared
    assert len(found.groups["tcs-h"][0].frame()) == 4
    assert list(found.frame()["group"]) == ["tcs-h"] * 2 + ["fedavg"] * 2


def test_a_sweep_and_a_comparison_on_workers_give_the_same_runs(compared, tmp_path):
    _, found = compared
    (tmp_path / "s.toml").write_text(
        "base = 'digits-tcs-h'\nseeds = [0, 1]\n[grid]\nscheme.name = ['tcs-h']\n"
        "training.rounds = [3]\ntraining.local_steps = [1]\n"
    )
    swept = airfeel.sweep(tmp_path / "s.toml", tmp_path / "s", workers=2)
    (runs,) = swept.groups.values()
    for one, other in zip(runs, found.groups["tcs-h"], strict=True):
        np.testing.assert_array_equal(one.rounds["test_accuracy"], other.rounds["test_accuracy"])


def test_what_is_wrong_is_named_before_anything_runs(tmp_path):
    with pytest.raises(airfeel.BadInput, match="--judge"):
        airfeel.compare(judge="beauty", out=tmp_path)
    with pytest.raises(airfeel.BadInput, match="tcs-x"):
        airfeel.compare(schemes=["tcs-x"], out=tmp_path)
    with pytest.raises(airfeel.BadInput, match="holds no run"):
        airfeel.report(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_told_in_a_line(compared):
    _, found = compared
    run = found.groups["tcs-h"][0]
    assert repr(run) == f"Run('tcs-h', 3 rounds, ended by rounds, {str(run.folder)!r})"


def test_a_run_takes_a_preset_or_a_file_as_well(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[training]\nrounds = 1\nlocal_steps = 1\n[scheme]\nname = "fedavg"\n')
    assert airfeel.run(path).theta.equal(airfeel.run(airfeel.load(str(path))).theta)


def test_overrides_are_texts_one_text_or_a_dict():
    several = airfeel.load("digits-tcs-h", ["scheme.bits=8"])
    assert airfeel.load("digits-tcs-h", "scheme.bits=8") == several
    assert airfeel.load("digits-tcs-h", {"scheme.bits": 8}) == several
    wanted = airfeel.load("digits-tcs-h", ["radio.fading.factor=3.0", "radio.fading.name=rician"])
    given = {"radio.fading.factor": 3.0, "radio.fading.name": "rician"}
    assert airfeel.load("digits-tcs-h", given) == wanted


CALLS = {
    "load(None)": "source is a value of type NoneType; must be a preset's name",
    'load("digits")': "nor a file; did you mean 'digits-tcs-h'?",
    'load("digits-tcs-h", [3])': "3: must be section.key=value",
    'load("digits-tcs-h", {"bits": 8})': "'bits': must be section.key=value",
    'load("digits-tcs-h", "bits=8")': "must be section.key=value, such as scheme.bits=8; did you",
    'load("rows.npz")': "rows.npz: is neither a preset",
    'load("digits-tcs-h", bits=8)': "bits: is no setting; did you mean scheme.bits?",
    'run("digits-tcs-h", out=3)': "out = 3: must be a folder",
    'run("digits-tcs-h", data=(1, 2))': "data is a value of type tuple; must be a Dataset",
    'run("digits-tcs-h", data="my.npz")': '"file:my.npz"',
    "compare(seeds=2)": "seeds = 2: must be several, such as (0, 1, 2) or range(3)",
    'compare(schemes="tcs-h")': "schemes = 'tcs-h': must be several, such as",
    'open("nowhere")': "nowhere: is no run folder, it has no config.toml",
    'sweep("digits-tcs-h")': "digits-tcs-h: is a preset; must be a TOML file",
}
ASKING = """
import airfeel, sys
for call in sys.argv[1:]:
    try:
        eval("airfeel." + call)
    except airfeel.BadInput as error:
        print(error)
"""


def test_what_is_no_argument_is_named(tmp_path):
    """In a process of its own: here types are checked before the library is asked."""
    command = [sys.executable, "-c", ASKING, *CALLS]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    for message, line in zip(CALLS.values(), told.stdout.splitlines(), strict=True):
        assert message in line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("mark", "command"), [("grid", "sweep"), ("contenders", "league")])
def test_another_commands_file_is_told_by_that_command(mark, command, tmp_path):
    path = tmp_path / "file.toml"
    path.write_text(f'base = "digits-tcs-h"\n[{mark}]\n')
    with pytest.raises(airfeel.BadInput, match=f"is a {command}; play it with `airfeel {command}"):
        airfeel.load(path)

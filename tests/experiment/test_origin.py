"""A run goes on as what it began as: its settings, its backend and its kernels, or not at all."""

import json
import shutil
import sys
from dataclasses import replace

import pytest
import tomli_w

import airfeel
from airfeel.analysis.series import arithmetic, computed_by, not_alike
from airfeel.cli import main
from airfeel.reports import runs
from airfeel.reports.page import page
from airfeel.storage import checkpoint, provenance
from airfeel.storage.checkpoint import NEWEST, PREVIOUS
from airfeel.storage.reader import open_run
from airfeel.storage.store import Store, fingerprint
from airfeel.types import BadInput
from small import small
from stopping import content, interrupted

SECTIONS = ("data", "model", "training", "scheme", "radio", "budget", "run")


def settings(rounds=8, **run):
    training = {"rounds": rounds, "dtype": "float32"}
    return small(training=training, run={"checkpoint_every": 2} | run)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    airfeel.run(settings(), folder)
    return content(folder)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    return interrupted(tmp_path_factory.mktemp("stopped") / "run", 6, settings())


@pytest.fixture
def cut(stopped, tmp_path):
    return shutil.copytree(stopped, tmp_path / "cut")


def refusal(folder, **options):
    with pytest.raises(BadInput) as error:
        airfeel.resume(folder, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def only_begun(folder):
    """As it was before its first checkpoint."""
    for name in (NEWEST, PREVIOUS):
        (folder / name).unlink()
    return folder


def without(kernel, monkeypatch):
    """The machine as it is without a compiler, for one kernel."""
    monkeypatch.setitem(vars(kernel), "missing", "no C++ compiler")
    monkeypatch.setitem(vars(kernel), "digest", None)


@pytest.fixture
def kernels():
    if any(k.missing for k in (provenance.LEARN, provenance.COMPRESS, provenance.RADIO)):
        pytest.skip("needs a C++ compiler")


# --- settings


@pytest.mark.parametrize("begun", [True, False])
def test_empty_settings_are_not_the_default_run(cut, begun):
    (only_begun(cut) if begun else cut).joinpath("config.toml").write_text("")
    assert "config.toml: has no section [data]" in refusal(cut)


@pytest.mark.parametrize("section", SECTIONS)
def test_settings_without_one_of_the_sections_are_refused_by_name(cut, section):
    table = airfeel.settings.load.stored_table(cut)
    del table[section]
    (cut / "config.toml").write_bytes(tomli_w.dumps(table).encode())
    assert f"has no section [{section}]" in refusal(cut)


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("rounds = 8", "rounds = 9", "training.rounds = 9, was 8"),
        ("seed = 3", "seed = 2", "run.seed = 2, was 3"),
        ('name = "tcs-h"', 'name = "tcs-d"', "scheme.name = tcs-d, was tcs-h"),
        ("\nseed = 3", "", "run.seed = 0, was 3"),
    ],
)
@pytest.mark.parametrize("begun", [True, False])
def test_edited_settings_are_refused_by_name(cut, was, becomes, said, begun):
    folder = only_begun(cut) if begun else cut
    path = folder / "config.toml"
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, becomes, 1))
    who = "facts.json" if begun else NEWEST
    assert refusal(folder).endswith(f"config.toml: is not what {who} was made with: {said}")


def test_settings_that_change_no_result_may_be_edited(cut, whole):
    path = cut / "config.toml"
    path.write_text(path.read_text().replace("threads = 0", "threads = 2"))
    airfeel.resume(cut)
    assert content(cut)[:3] == whole[:3]


def test_a_checkpoint_of_another_seed_is_refused_by_name(cut, tmp_path):
    other = interrupted(tmp_path / "other", 6, settings(seed=7))
    for name in (NEWEST, "rounds.csv", "devices.csv"):
        shutil.copyfile(other / name, cut / name)
    assert "run.seed = 3, was 7" in refusal(cut)


def test_facts_and_checkpoint_tell_the_experiment(cut):
    facts = json.loads((cut / "facts.json").read_text())
    assert facts["fingerprint"] == fingerprint(settings())
    found = checkpoint.read(cut / NEWEST).origin
    assert found == provenance.read(cut)
    assert found.settings["run"]["seed"] == 3


@pytest.mark.parametrize("text", ["", "[]", "{", '{"settings": 3, "arithmetic": 4}', "{}"])
def test_facts_that_tell_nothing_are_no_reason_to_refuse(cut, whole, text):
    (only_begun(cut) / "facts.json").write_text(text)
    with pytest.warns(UserWarning, match=r"facts\.json: does not tell .*; going on from round 0"):
        airfeel.resume(cut)
    assert content(cut) == whole


def test_a_checkpoint_of_an_older_version_resumes_with_one_warning(cut, whole):
    saved = [checkpoint.read(cut / name) for name in (PREVIOUS, NEWEST)]
    for each in saved:
        checkpoint.write(cut, replace(each, sums={}, origin=None))
    (cut / "facts.json").write_text('{"commit": "abc"}')
    with Store(cut, settings(), resume=True):
        assert (cut / NEWEST).exists()
    with pytest.warns(UserWarning, match="does not tell settings and backend") as said:
        run = airfeel.resume(cut)
    assert len(said) == 1
    assert content(cut) == whole
    assert [step["from_round"] for step in arithmetic(run)] == [5]
    assert json.loads((cut / "facts.json").read_text())["commit"] == "abc"


# --- arithmetic


def test_a_run_tells_what_computes_it(cut, kernels):
    (step,) = provenance.read(cut).arithmetic
    assert step["backend"] == "native"
    assert all(step[name] for name in ("learn", "compress", "radio", "cpu"))
    assert computed_by(open_run(cut)).startswith(f"native (learn {step['learn']}, compress ")


@pytest.mark.parametrize("kernel", ["LEARN", "COMPRESS", "RADIO"])
def test_without_a_kernel_a_run_goes_on_only_if_asked_to(cut, monkeypatch, kernels, kernel):
    without(getattr(provenance, kernel), monkeypatch)
    before = (cut / "rounds.csv").read_bytes()
    said = refusal(cut)
    assert said.startswith(f"{cut}: was computed with ")
    assert "--allow-other-backend" in said
    assert (cut / "rounds.csv").read_bytes() == before
    run = airfeel.resume(cut, allow_other_backend=True)
    assert [step["from_round"] for step in arithmetic(run)] == [0, 5]
    assert json.loads((cut / "summary.json").read_text())["arithmetic"] == list(arithmetic(run))
    (note,) = not_alike({"a": [run]})
    assert "a seed 3 by native" in note
    assert ", from round 5 on " in note


def test_the_backend_that_auto_chose_is_gone_on_with(tmp_path, monkeypatch, kernels):
    with monkeypatch.context() as patched:
        without(provenance.LEARN, patched)
        airfeel.run(settings(), tmp_path / "whole")
        folder = interrupted(tmp_path / "cut", 6, settings())
    assert airfeel.resume(folder).summary["backend"] == "torch"
    assert content(folder) == content(tmp_path / "whole")
    assert len(provenance.read(folder).arithmetic) == 1


def test_another_cpu_is_another_arithmetic(cut, monkeypatch):
    monkeypatch.setattr(provenance.platform, "machine", lambda: "abacus")
    assert "abacus" in refusal(cut)


def test_a_run_that_starts_over_may_be_computed_by_another_backend(cut, monkeypatch, kernels):
    without(provenance.LEARN, monkeypatch)
    run = airfeel.resume(only_begun(cut))
    (step,) = arithmetic(run)
    assert (step["backend"], step["from_round"]) == ("torch", 0)
    assert not_alike({"a": [run]}) == []


def test_the_command_line_names_the_way(cut, monkeypatch, capsys, kernels):
    without(provenance.COMPRESS, monkeypatch)
    for options, code in ([], 2), (["--allow-other-backend"], 0):
        monkeypatch.setattr(sys, "argv", ["airfeel", "resume", str(cut), *options])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == code
    assert "--allow-other-backend" in capsys.readouterr().err


def test_a_comparison_says_which_runs_were_computed_otherwise(tmp_path, monkeypatch, kernels):
    airfeel.run(settings(rounds=2), tmp_path / "a")
    without(provenance.LEARN, monkeypatch)
    airfeel.run(settings(rounds=2, seed=4), tmp_path / "b")
    groups, _ = runs.load([tmp_path])
    (note,) = not_alike(groups)
    assert "tcs-h seed 3 by native" in note
    assert "tcs-h seed 4 by torch" in note
    assert note in page(groups)
    assert not_alike({"tcs-h": groups["tcs-h"][:1]}) == []

"""A run folder that names own code: resumed by the user who began it, with the same files."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stranger import left

import airfeel
from airfeel.runs.signals import Interrupted, Signals
from airfeel.storage.reader import open_run
from airfeel.sweeps.compare import run_missing
from small import small
from stopping import Stop

MINE = """
import pathlib
from dataclasses import dataclass
import numpy as np
pathlib.Path("imported").write_text("")
@dataclass(frozen=True)
class Flat:
    level: float = 1.0
    def __call__(self, turn):
        return np.full((turn.world.devices, turn.world.subchannels), self.level)
"""
AIRFEEL = Path(sys.executable).parent / "airfeel"


@pytest.fixture
def mine(home, monkeypatch):
    (home / "mine.py").write_text(MINE)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("mine", None)
    yield home
    sys.modules.pop("mine", None)


def stopped(folder, **radio):
    """A run of the user's, stopped in the middle; nothing of it is imported any more."""
    signals = Signals()
    e = small(radio=radio or {"fading": {"name": "mine:Flat", "level": 2.0}})
    with pytest.raises(Interrupted):
        airfeel.run(e, folder, [Stop(signals, 4)], signals=signals)
    sys.modules.pop("mine", None)
    Path("imported").unlink(missing_ok=True)
    return e


def refused(folder):
    with pytest.raises(airfeel.BadInput) as error:
        airfeel.resume(folder)
    assert not Path("imported").exists()
    return str(error.value)


def edit(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_its_own_user_resumes_without_a_word(mine):
    e = stopped("run")
    airfeel.run(e, "whole")
    sys.modules.pop("mine", None)
    shutil.move("run", "elsewhere")
    airfeel.resume("elsewhere")
    assert left(mine / "elsewhere") == left(mine / "whole")


def test_another_user_resumes_with_trust_alone(mine, monkeypatch, tmp_path_factory):
    stopped("run")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("other")))
    said = refused("run")
    assert said.startswith("run/config.toml: radio.fading = 'mine:Flat': is code of unknown origin")
    assert "--trust" in said
    assert airfeel.resume("run", trust=True).summary["rounds"] == 12


@pytest.mark.parametrize("keep", ["facts", "checkpoint", "neither"])
def test_settings_that_were_put_in_are_refused(mine, keep):
    stopped("run", fading="rayleigh")
    edit(mine / "run" / "config.toml", 'fading = "rayleigh"', 'fading = "mine:Flat"')
    if keep != "checkpoint":
        for path in Path("run").glob("checkpoint*"):
            path.unlink()
    if keep != "facts":
        Path("run/facts.json").write_text("{}")
    assert "'mine:Flat': is code of unknown origin" in refused("run")


def test_parameters_and_files_are_those_with_which_the_run_began(mine):
    stopped("run")
    edit(mine / "run" / "config.toml", "level = 2.0", "level = 3.0")
    assert "unknown origin" in refused("run")
    edit(mine / "run" / "config.toml", "level = 3.0", "level = 2.0")
    edit(mine / "mine.py", "level: float = 1.0", "level: float = 2.0")
    assert "unknown origin" in refused("run")
    edit(mine / "mine.py", "level: float = 2.0", "level: float = 1.0")
    assert airfeel.resume("run").summary["rounds"] == 12


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('fading = "rayleigh"', 'fading = ["mine:Flat"]', "radio.fading = 'mine:Flat'"),
        (
            'engine = "threads"',
            'engine = "ray"\naddress = "ray://h:1"',
            "run.address = 'ray://h:1'",
        ),
        ("[run]", '[run]\nloggers = [{name = "mine:Flat"}]', "run.loggers = 'mine:Flat'"),
        (
            "[scheme.options]",
            '[scheme.options]\na = {b = "mine:Flat"}',
            "scheme.options = 'mine:Flat'",
        ),
    ],
)
def test_every_place_that_may_name_code_is_looked_at(mine, old, new, named):
    stopped("run", fading="rayleigh")
    edit(mine / "run" / "config.toml", old, new)
    assert named in refused("run")


def test_readers_import_nothing_and_a_comparison_of_something_else_neither(mine):
    stopped("run", fading="rayleigh")
    edit(mine / "run" / "config.toml", 'fading = "rayleigh"', 'fading = "mine:Flat"')
    assert open_run(mine / "run").experiment.radio.fading == "mine:Flat"
    with pytest.raises(airfeel.BadInput, match="is not the run that its name says"):
        run_missing(small(), mine / "run")
    assert not Path("imported").exists()


def test_a_run_of_components_by_name_is_not_signed_and_needs_no_key(mine, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/nowhere")
    stopped("run", fading="rayleigh")
    assert "own_code" not in json.loads(Path("run/facts.json").read_text("utf-8"))
    assert airfeel.resume("run").summary["rounds"] == 12


def test_a_key_that_others_can_read_is_none(mine, tmp_path_factory, monkeypatch):
    state = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    stopped("run")
    key = state / "airfeel" / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    os.chmod(key, 0o644)
    assert "unknown origin" in refused("run")


def test_the_command_line_says_it_in_one_line(mine, tmp_path_factory):
    stopped("run")
    other = os.environ | {"XDG_STATE_HOME": str(tmp_path_factory.mktemp("other"))}
    ran = subprocess.run([AIRFEEL, "resume", "run"], env=other, capture_output=True, text=True)
    assert ran.returncode == 2
    assert len(ran.stderr.splitlines()) == 1
    assert "mine:Flat" in ran.stderr
    subprocess.run([AIRFEEL, "resume", "--trust", "run"], env=other, check=True)

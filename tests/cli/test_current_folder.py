"""Modules in the current folder: found by `module:factory`, and never instead of a library's."""

import subprocess
import sys
from pathlib import Path

import pytest

from stored import store

AIRFEEL = Path(sys.executable).parent / "airfeel"
SHADOWED = ("email", "json", "typing", "rich", "pydantic", "selectors", "tomllib", "webbrowser")
MINE = """
from dataclasses import dataclass
import numpy as np
@dataclass(frozen=True)
class Flat:
    def __call__(self, turn):
        return np.ones((turn.world.devices, turn.world.subchannels))
"""


@pytest.fixture
def shadowed(tmp_path):
    """A folder whose files have the names of modules of the library and of its dependencies."""
    for name in SHADOWED:
        (tmp_path / f"{name}.py").write_text(f"open('imported-{name}', 'w')\nraise SystemExit(9)\n")
    return tmp_path


def call(folder, *words, program=(AIRFEEL,)):
    ran = subprocess.run([*program, *words], cwd=folder, capture_output=True, text=True)
    assert not sorted(folder.glob("imported-*")), ran.stderr
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize(
    "words", [("config", "show", "digits-tcs-h"), ("list",), ("watch", "--help")]
)
def test_a_file_named_like_a_module_is_not_imported(shadowed, words):
    assert call(shadowed, *words)


def test_a_report_does_not_import_it_either(shadowed):
    store(shadowed / "runs" / "one")
    assert "wrote runs/report.html" in call(shadowed, "report", "runs")


def test_python_m_airfeel_does_not_import_it_either(shadowed):
    for name in ("typing", "json"):  # Python itself has them before airfeel is asked
        (shadowed / f"{name}.py").unlink()
    assert call(
        shadowed, "config", "show", "digits-tcs-h", program=(sys.executable, "-m", "airfeel")
    )


def test_workers_do_not_import_it_either_and_find_an_own_component(shadowed):
    (shadowed / "mine.py").write_text(MINE)
    settings = ["training.rounds=1", "training.local_steps=1", "radio.fading=mine:Flat"]
    put = [f"--set={text}" for text in settings]
    words = ["compare", "digits-tcs-h", "--seeds", "0,1", "--workers", "2", "--out", "runs", *put]
    assert "tcs-h" in call(shadowed, *words)
    assert len(list((shadowed / "runs").glob("*/summary.json"))) == 2

"""README.md: short, and what it shows works."""

import re
import sys
from pathlib import Path

import pytest

import airfeel
from small import small

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
SNIPPETS = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def test_it_is_short():
    assert len(README.splitlines()) <= 130


def test_its_own_scheme_is_of_some_twenty_lines_and_runs(tmp_path, monkeypatch):
    (mine,) = [text for text in SNIPPETS if "class " in text]
    code = [line for line in mine.splitlines() if line and not line.startswith("#")]
    assert len(code) <= 20
    (tmp_path / "mine.py").write_text(mine, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        run = airfeel.run(small("mine:build", training={"rounds": 3}))
    finally:
        sys.modules.pop("mine", None)
    assert run.summary["rounds"] == 3
    assert (run.rounds["scheduled"] > 0).any()


@pytest.mark.parametrize("what", ["airfeel.load", "run.rounds", "run.plot"])
def test_its_python_shows_what_there_is(what):
    (shown,) = [text for text in SNIPPETS if "airfeel.run" in text]
    assert what in shown
    assert compile(shown, "README.md", "exec")

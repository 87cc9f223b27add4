"""Tests of what strangers write: their folders are on the path, and files lie in an empty one."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(HERE.parents[1] / "examples" / "own"))
    monkeypatch.chdir(tmp_path)
    return tmp_path

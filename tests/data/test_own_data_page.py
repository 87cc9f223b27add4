"""docs/own-data.md does what it says: every snippet is executed, in order."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import airfeel
from airfeel.data.own import digest

PAGE = Path(__file__).parents[2] / "docs" / "own-data.md"
SNIPPET = re.compile(r"```(\w+)(?: file=(\S+))?\n(.*?)```", re.S)


def test_every_snippet_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    names: dict[str, Any] = {}
    runs = []
    for language, file, text in SNIPPET.findall(PAGE.read_text("utf-8")):
        if file:
            (tmp_path / file).write_text(text, "utf-8")
        elif language == "python":
            exec(text, names)
        else:
            (tmp_path / "e.toml").write_text(text, "utf-8")
            runs.append(airfeel.run(airfeel.load("e.toml")))
    for module in ("my_data", "my_partition"):
        sys.modules.pop(module, None)
    assert [run.summary["rounds"] for run in runs] == [3, 3, 3]
    assert all(run.rounds["scheduled"][1:].any() for run in runs)
    assert names["run"].experiment.data.dataset["sha256"] == digest(names["data"])
    assert torch.equal(names["data"].train_x, names["same"].train_x)

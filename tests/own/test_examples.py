"""Each file of examples/own runs as its docstring says, and resumes to the same bytes."""

import ast
import shlex
from pathlib import Path

import numpy as np
import pytest
from stranger import left, stopped_and_resumed

import airfeel
import airfeel.parts

FILES = sorted((Path(__file__).parents[2] / "examples" / "own").glob("*.py"))
SHORT = ["training.rounds=6", "training.local_steps=2"]


def told(path):
    """The preset and the overrides of the command in a file's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    command = text[text.index("airfeel run ") :].split("\n\n")[0]
    words = shlex.split(command.replace("\\\n", " "))
    assert set(words[3::2]) == {"--set"}
    return words[2], words[4::2]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_an_example_is_a_page_and_imports_public_names_alone(path):
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= 60
    public = {"airfeel": airfeel, "airfeel.parts": airfeel.parts}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("airfeel.") for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module.startswith("airfeel"):
            assert {alias.name for alias in node.names} <= set(public[node.module].__all__)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_an_example_runs_as_it_says_and_resumes(path, home):
    table = np.random.default_rng(0).normal(size=(200, 4))
    np.savetxt(home / "iris.csv", np.c_[table, table[:, 0] > 0], delimiter=",")
    preset, overrides = told(path)
    e = airfeel.load(preset, [*overrides, *SHORT])
    whole = airfeel.run(e, home / "whole")
    assert whole.summary["rounds"] == 6
    assert whole.columns["scheduled"][1:].any()
    assert stopped_and_resumed(e, home / "cut") == left(home / "whole")
    airfeel.run(airfeel.load(preset, SHORT), home / "usual")
    assert left(home / "usual")[0] != left(home / "whole")[0]

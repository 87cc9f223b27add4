"""Commands that compute nothing import nothing heavy; a name is imported when it is used."""

import json
import subprocess
import sys

import pytest

import airfeel
from airfeel.cli import COMMANDS, find, main

HEAVY = {"torch", "scipy", "pandas", "plotly", "matplotlib", "ray", "flwr", "numpy"}
LOOK = "import json, sys; print(json.dumps(sorted({m.partition('.')[0] for m in sys.modules})))"
CALL = """
import contextlib, io, json, sys
sys.argv = ["airfeel", *json.loads(sys.argv[1])]
from airfeel.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
    try:
        main()
    except SystemExit as stopped:
        code = stopped.code
assert code == (2 if said.getvalue() else 0), (code, said.getvalue())
"""


def imported(program, *arguments):
    command = [sys.executable, "-c", program + LOOK, *arguments]
    return set(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["list"],
        ["lst"],
        ["theory", "--help"],
        ["run", "--help"],
        ["compare", "--help"],
        ["sweep", "--help"],
        ["config", "show", "digits-tcs-h"],
        ["run", "digits-tcs-j"],
        ["run", "digits-tcs-h", "--set", "scheme.bist=8"],
        ["compare", "--schemes", "tcsh"],
    ],
    ids=" ".join,
)
def test_what_computes_nothing_imports_nothing_heavy(words):
    assert imported(CALL, json.dumps(words)) & HEAVY == set()


def test_names_of_the_package_are_imported_when_they_are_used():
    assert imported("import airfeel; airfeel.__version__, airfeel.SCHEMES\n") & HEAVY == set()
    assert "pydantic" not in imported("import airfeel\n")
    assert "torch" in imported("import airfeel; airfeel.run\n")


def test_every_public_name_is_there_and_no_other():
    assert {*airfeel.__all__} <= {*dir(airfeel)}
    assert {*airfeel._HOMES} | {"__version__"} == {*airfeel.__all__}
    for name in airfeel.__all__:
        assert getattr(airfeel, name) is not None
    assert airfeel.data.from_arrays  # a module needs no import of its own
    with pytest.raises(AttributeError, match="has no attribute 'rum'"):
        _ = airfeel.rum


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_of_a_command_is_the_one_that_it_has_itself(name):
    command = find(name)
    assert command.name == name
    line = " ".join((command.help or "").partition("\n\n")[0].split())
    assert line == COMMANDS[name][1]


def test_a_mistyped_command_is_answered_by_the_one_that_was_meant(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["airfeel", "compar"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "'compare'" in capsys.readouterr().err

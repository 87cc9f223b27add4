"""What a setting may name as `module:factory`: nothing else is imported and nothing else called."""

import dataclasses
import sys

import pytest

import airfeel
from airfeel.build.setup import build
from small import play, small

MINE = """
import functools, pathlib, subprocess
from dataclasses import dataclass
from os import system
from subprocess import run
import numpy as np

CALLED = []

@dataclass(frozen=True)
class Flat:
    level: float = 1.0
    def __call__(self, turn):
        return np.full((turn.world.devices, turn.world.subchannels), self.level)

@functools.cache
def kept(level: float = 1.0) -> Flat:
    return Flat(level)

def silent(level: float = 1.0):
    return Flat(level)

class Deaf:
    def __init__(self, **given):
        CALLED.append(given)

class Fewer:
    def __init__(self):
        CALLED.append(1)
    def __call__(self):
        pass

def a_path(text: str = "x") -> pathlib.Path:
    CALLED.append(text)

def nothing() -> None:
    CALLED.append(1)

def a_dict():
    return {}

flat = Flat()
partial = functools.partial(Flat, 2.0)

def raises(settings):
    raise KeyError("eta")
"""


@pytest.fixture
def mine(home, monkeypatch):
    """A module of a user's, in the current folder, which is on no search path."""
    (home / "mine.py").write_text(MINE)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield lambda: sys.modules.get("mine")
    sys.modules.pop("mine", None)


def refused(**radio):
    with pytest.raises(airfeel.BadInput) as error:
        build(small(radio=radio))
    return str(error.value)


@pytest.mark.parametrize(
    "fading",
    [
        {"name": "os:system", "command": "id >PWNED"},
        {"name": "subprocess:getoutput", "cmd": "id >PWNED"},
        {"name": "os.path:join"},
        {"name": "posix:system", "command": "id >PWNED"},
        {"name": "builtins:exec", "source": "open('PWNED', 'w')"},
        {"name": "antigravity:fly"},
    ],
)
def test_the_standard_library_is_refused_unread_and_uncalled(fading, home):
    loaded = set(sys.modules)
    said = refused(fading=fading)
    assert said.endswith("is in Python's standard library; must be in another module")
    assert said.startswith(f"radio.fading = '{fading['name']}'")
    assert not (home / "PWNED").exists()
    assert "antigravity" not in set(sys.modules) - loaded


@pytest.mark.parametrize(
    ("fading", "message"),
    [
        ({"name": "mine:system", "command": "id >PWNED"}, "is a builtin function; must be a class"),
        ({"name": "mine:run"}, "is subprocess.run of Python's standard library; must be defined"),
        ("mine:flat", "is Flat; must be a class or a function"),
        ("mine:partial", "is partial; must be a class or a function"),
        ("mine:MISSING", "cannot be imported (module 'mine' has no attribute 'MISSING')"),
    ],
)
def test_what_is_no_class_and_no_function_of_a_module_is_refused(mine, home, fading, message):
    assert message in refused(fading=fading)
    assert not (home / "PWNED").exists()


@pytest.mark.parametrize(
    ("fading", "message"),
    [
        ({"name": "mine:Deaf", "command": "id"}, "must make a Draw, Deaf has no __call__"),
        ("mine:Fewer", "must make a Draw, Fewer cannot be called with (turn)"),
        ({"name": "mine:a_path", "text": "y"}, "must make a Draw, Path has no __call__"),
        ("mine:nothing", "must make a Draw, is declared to return NoneType"),
    ],
)
def test_what_declares_to_be_something_else_is_refused_before_it_is_called(mine, fading, message):
    assert message in refused(fading=fading)
    assert mine().CALLED == []


def test_what_declares_nothing_is_refused_by_what_it_makes(mine):
    assert "must make a Draw, made dict" in refused(fading="mine:a_dict")


@pytest.mark.parametrize("name", ["Flat", "kept", "silent"])
def test_classes_and_functions_of_the_current_folder_are_found(mine, name):
    setup = build(small(radio={"fading": {"name": f"mine:{name}", "level": 2.0}}))
    play(setup, 1)
    assert dataclasses.asdict(setup.scheme.fade.draw) == {"level": 2.0}


def test_the_current_folder_is_searched_last_and_only_when_it_is_needed(mine, home):
    build(small())
    assert str(home) not in sys.path
    build(small(radio={"fading": "mine:Flat"}))
    assert sys.path[-1] == str(home)


@pytest.mark.parametrize("name", ["pathlib:Path", "mine:raises", "mine:a_path", "numpy:ndarray"])
def test_a_strange_scheme_is_one_line(mine, name):
    with pytest.raises(airfeel.BadInput, match=f"^scheme.name = '{name}': "):
        build(small(name))

"""A file's name in place of a part, and options that nobody reads, are told."""

import subprocess
import sys

import pytest

import airfeel


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mine_too.py").write_text(
        "from airfeel.schemes.tcs_h import tcs_h\n"
        "from dataclasses import replace\n"
        "def build(s):\n"
        "    return tcs_h(replace(s, bits=s.options.get('levels', 16), options={}))\n"
    )
    (tmp_path / "parts_too.py").write_text(PARTS)
    (tmp_path / "rows.npz").write_text("a,b\n1,2\n")
    return tmp_path


PARTS = """
from dataclasses import dataclass
@dataclass(frozen=True)
class Alone:
    def __call__(self, turn): ...
@dataclass(frozen=True)
class Bare:
    def __call__(self, turn, said, fading, plan, delivery): ...
def itself(turn): ...
def hidden(s):
    @dataclass(frozen=True)
    class Mine:
        level: int = 1
    s.read(Mine)
"""


def played(*overrides):
    return airfeel.run(airfeel.load("digits-tcs-h", ["training.rounds=1", *overrides]))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("scheme.name=mine_too", "mine_too.py has factories, such as 'mine_too:NAME'"),
        ("scheme.name=./mine_too.py", "mine_too.py has factories, such as 'mine_too:NAME'"),
        ("scheme.name=mine_too.py:build", "did you mean 'mine_too:build'?"),
        ("scheme.invite=parts_too:Alone", "Alone cannot be called with (turn, fading)"),
        ('radio.meters=["parts_too:Bare"]', "must make a Meter, made Bare, which has no columns"),
        ("radio.meters=parts_too:Bare", "must be a list"),
        ("radio.fading=parts_too:itself", "must make the part, as a dataclass does, not be the"),
        ("scheme.name=parts_too:hidden", "Mine must be defined at the top of its module, not in"),
        ("data.dataset=rows.npz", "did you mean 'file:rows.npz'?"),
        ("data.dataset=file:rows.npz", "it is neither that nor .npy; numpy.savez writes such"),
    ],
)
def test_a_files_name_in_place_of_a_part_is_told(mine, override, message):
    with pytest.raises(airfeel.BadInput) as error:
        played(override)
    assert message in str(error.value)


def test_an_option_that_an_own_scheme_does_not_read_is_told(mine):
    """In a process of its own: here types are checked, and every option is looked at for that."""
    command = [sys.executable, "-m", "airfeel", "run", "digits-tcs-h", "--out"]
    settings = ("training.rounds=1", "scheme.name=mine_too:build")
    told = {}
    for option in ("level", "levels"):
        put = [f"--set={text}" for text in (*settings, f"scheme.options.{option}=8")]
        ran = subprocess.run([*command, option, *put], capture_output=True, text=True, check=True)
        told[option] = ran.stderr
    assert "scheme.options.level: is not read by 'mine_too:build'" in told["level"]
    assert "is not read" not in told["levels"]

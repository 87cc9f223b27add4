"""Components that raise, or that write into what they are given: one line names the component."""

import json
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from airfeel.build.setup import build
from airfeel.catalogues import SCHEMES, TRANSMITS
from airfeel.errors import BadInput, ComponentError
from airfeel.handed import guarded
from airfeel.parts import Everyone, Invited
from small import play, small

RAISES = """
def build(s):
    raise KeyError("eta")

class Broken:
    def __call__(self, turn, fading):
        raise RuntimeError("no such antenna")

class Late:
    def __call__(self, turn):
        raise RuntimeError("too late")

class Rule:
    def __call__(self, weights, gradient, start, rate, memory):
        raise RuntimeError("too late")

class Darker:
    width = 1
    def __call__(self, images, uniforms):
        raise RuntimeError("too late")

def schedule():
    def falling(round):
        raise KeyError("late")
    return falling

class Careless:
    def __init__(self, field):
        self.field = field
    def __call__(self, turn, fading):
        from airfeel.parts import Everyone
        if self.field == "gain":
            fading.gain[:] = 1.0
        elif self.field == "spent":
            turn.state.spent[0] += 1.0
        elif self.field == "theta":
            turn.state.theta.zero_()
        return Everyone()(turn, fading)
"""


@pytest.fixture(autouse=True)
def own_file(tmp_path, monkeypatch):
    """A file with components in the current folder."""
    (tmp_path / "careless.py").write_text(RAISES)
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("careless", None)


def airfeel(*arguments):
    command = [sys.executable, "-m", "airfeel", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("verbose", [False, True])
def test_a_component_that_raises_is_named_in_one_line(verbose):
    settings = ["--set", "scheme.invite=careless:Broken", "--set", "training.rounds=1"]
    ended = airfeel(*["-v"][: int(verbose)], "run", "digits-tcs-h", *settings)
    line = "scheme.invite = Broken: raised RuntimeError: no such antenna (careless.py, line 7)"
    assert ended.returncode == 2
    assert ended.stderr.strip().splitlines()[-1] == f"airfeel: {line}"
    assert ("Traceback" in ended.stderr) is verbose


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("gain", "raised ValueError: assignment destination is read-only"),
        ("spent", "raised ValueError: .*read-only"),
        ("theta", r"changed state\.theta in place; must work on a copy of it"),
    ],
)
def test_what_a_component_is_given_cannot_be_written_to(field, said):
    setup = build(
        small(scheme={"name": "tcs-h", "invite": {"name": "careless:Careless", "field": field}})
    )
    with pytest.raises(BadInput, match=rf"scheme\.invite = Careless: {said}"):
        play(setup, 1)


@pytest.mark.parametrize("method", ["encode", "agree", "decode"])
def test_a_codec_that_raises_is_named_wherever_it_runs(method):
    setup = build(small())

    class Codec(type(setup.scheme.codec)):
        pass

    def fail(self, *given, **named):
        raise IndexError("17")

    setattr(Codec, method, fail)
    scheme = replace(setup.scheme, codec=Codec(**vars(setup.scheme.codec)))
    with pytest.raises(ComponentError, match=r"scheme\.codec = Codec: raised IndexError: 17"):
        play(replace(setup, scheme=scheme), 1)


def test_threads_that_hold_the_same_array_keep_it_read_only():
    array = np.zeros(2)
    with guarded("scheme.learn", Everyone(), array=array):
        with guarded("scheme.codec", Everyone(), array=array):
            assert not array.flags.writeable
        assert not array.flags.writeable  # the outer one still runs
    assert array.flags.writeable


def test_values_of_classes_with_slots_and_of_inference_mode_are_guarded():
    @dataclass(frozen=True, slots=True)
    class Slotted:
        values: np.ndarray

    with torch.inference_mode():
        tensor = torch.zeros(2)
    given = Slotted(np.zeros(2))
    with guarded("scheme.step", Everyone(), slotted=given, tensor=tensor):
        assert not given.values.flags.writeable


def test_the_line_of_an_error_is_in_the_users_file():
    def parse(text):
        return json.loads(text)

    with (
        pytest.raises(ComponentError, match=r"raised JSONDecodeError: .* \(test_component_errors"),
        guarded("scheme.plan", Everyone()),
    ):
        parse("")


INNER = {  # settings of components within others, and what a message begins with
    "radio.fading": ({"radio": {"fading": "careless:Late"}}, "radio.fading = Late: "),
    "training.rule": ({"training": {"rule": "careless:Rule"}}, "training.rule = Rule: "),
    "data.augment": ({"data": {"augment": ["careless:Darker"]}}, "data.augment = Darker: "),
}


@pytest.mark.parametrize("setting", INNER)
def test_a_component_within_another_is_named_by_its_own_setting(setting):
    changes, begin = INNER[setting]
    setup = build(small(**changes))
    with pytest.raises(ComponentError, match=rf"^{begin}raised RuntimeError: too late \(careless"):
        play(setup, 2)


def test_a_schedule_that_raises_is_named():
    with pytest.raises(ComponentError, match=r"training\.learning_rate = falling: raised KeyError"):
        build(small(training={"learning_rate": {"name": "careless:schedule"}}))


def test_a_rehearsal_of_round_1_names_components_too():
    settings = ["--set", "radio.fading=careless:Late", "--set", "training.rounds=2"]
    ended = airfeel("run", "digits-tcs-h", *settings)
    assert ended.stderr.strip().splitlines()[-1].startswith("airfeel: radio.fading = Late: raised")
    assert "Traceback" not in ended.stderr


def test_a_codec_that_changes_updates_in_place_is_refused():
    setup = build(small())

    class Codec(type(setup.scheme.codec)):
        def encode(self, x, *given):
            x.mul_(0.5)
            return super().encode(x, *given)

    scheme = replace(setup.scheme, codec=Codec(**vars(setup.scheme.codec)))
    with pytest.raises(BadInput, match=r"scheme\.codec = Codec: changed x in place"):
        play(replace(setup, scheme=scheme), 1)


def test_arrays_are_writeable_again_behind_a_component():
    array, view = np.zeros(4), np.zeros((2, 2))
    with guarded("scheme.plan", Everyone(), array=array, nested={"view": view[0]}):
        assert not array.flags.writeable
        assert view.flags.writeable  # what is given is a row of it
    array[0] = 1.0
    view[0, 0] = 1.0


def test_an_array_in_memory_of_pytorch_is_compared():
    tensor = torch.zeros(3)
    array = tensor.numpy()
    with guarded("scheme.plan", Everyone(), spent=array):
        pass
    assert array.flags.writeable
    with (
        pytest.raises(BadInput, match=r"scheme\.plan = Everyone: changed spent in place"),
        guarded("scheme.plan", Everyone(), spent=array),
    ):
        array[1] = 2.0


def test_lost_memory_and_bad_input_pass_as_they_are():
    for error in (MemoryError("x"), BadInput("y"), ConnectionError("z")):
        with pytest.raises(type(error)) as seen, guarded("scheme.plan", Everyone()):
            raise error
        assert seen.value is error


def test_a_tensor_that_is_only_read_is_no_fault():
    theta = torch.ones(3)
    with guarded("scheme.plan", Everyone(), theta=theta):
        assert Invited(np.array([float(theta.sum()) == 3.0])).who.all()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("transmit", TRANSMITS)
def test_every_channel_takes_a_scheme_or_refuses_it_by_name(scheme, transmit):
    try:
        play(build(small(scheme, scheme={"transmit": transmit})), 2)
    except BadInput as error:
        refusal = error
    else:
        return
    assert not isinstance(refusal, ComponentError)
    assert str(refusal).startswith(("scheme.", "radio.", "training."))


def test_a_plan_without_symbols_is_refused_by_the_square_law():
    setup = build(small("ncairfl", scheme={"plan": "free"}))
    with pytest.raises(BadInput, match=r"scheme\.transmit = 'square-law': .* sends nothing over"):
        play(setup, 1)


@pytest.mark.parametrize("name", ["pathlib:Path", "builtins:dict", "careless:build"])
def test_a_strange_factory_is_named(name):
    ended = airfeel("run", "digits-tcs-h", "--set", f"scheme.name={name}")
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"airfeel: scheme.name = '{name}': ")
    assert len(ended.stderr.strip().splitlines()) == 1

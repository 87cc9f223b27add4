"""Explained at the door: kernels say their arguments and show themselves, parts their fields."""

import dataclasses
import importlib
import inspect
import re
import textwrap
import typing

import pytest

from airfeel import parts
from airfeel.types import Said, Turn

KERNELS = (  # what the names at the door rest on
    *("segments", "theory.tcs_h", "theory.backlog", "training.local_sgd", "compression.average"),
    *("compression.codecs", "compression.mask_rules", "compression.masks", "compression.memory"),
    *("compression.quantize", "radio.energy", "radio.power_budget", "radio.transmission.air"),
    *("radio.transmission.digital", "radio.power_control.regularized_inversion"),
    *("radio.allocation.matching", "radio.allocation.power"),
    *(f"radio.allocation.allocators.{name}" for name in ("bound", "exact", "exchange", "fill")),
    "radio.allocation.allocators.threshold",
)
MODULES = [parts, *(importlib.import_module(f"airfeel.{name}") for name in KERNELS)]
PLAIN = {  # once each, by where it is at home
    f"{thing.__module__}.{name}": thing
    for module in MODULES
    for name, thing in vars(module).items()
    if inspect.isfunction(thing) and thing.__module__.startswith("airfeel.")
    if not name.startswith(("_", "check_")) and not thing.__module__.endswith(".checks")
}
AT_THE_DOOR = {name: getattr(parts, name) for name in parts.__all__}
FIELDS = {name: part for name, part in AT_THE_DOOR.items() if dataclasses.is_dataclass(part)}


def hints(thing):
    return typing.get_type_hints(thing, include_extras=True)


def silent_arguments(function):
    """Arguments without a line under Args; a Turn needs none, it is the same for everybody."""
    _, _, listed = (inspect.getdoc(function) or "").partition("Args:\n")
    lines = re.findall(r"^    (\w+(?:, \w+)*): \S", listed, re.MULTILINE)
    said = {name for line in lines for name in line.split(", ")}
    types = hints(function)
    return {n for n in inspect.signature(function).parameters if types[n] is not Turn} - said


def shows_itself(function):
    """Whether an example calls it; what reads a whole round is shown by the parts that call it."""
    types = hints(function)
    if {types[n] for n in inspect.signature(function).parameters if n in types} & {Turn, Said}:
        return True
    example = rf"^(>>>|\.\.\.).*\b{function.__name__}\("
    return re.search(example, inspect.getdoc(function) or "", re.MULTILINE) is not None


def says_what_it_is(part):
    """Whether it has a docstring; the signature that a bare dataclass gets is none."""
    return bool(part.__doc__) and not part.__doc__.startswith(f"{part.__name__}(")


def silent_fields(part):
    """Fields with no description, no word in a docstring and no comment behind them."""
    bases = [c for c in part.__mro__ if dataclasses.is_dataclass(c)]
    source = "\n".join(textwrap.dedent(inspect.getsource(c)) for c in bases)
    words = "\n".join(c.__doc__ for c in bases if says_what_it_is(c))
    types = hints(part)

    def explained(name):
        metadata = getattr(types[name], "__metadata__", ())
        described = any(getattr(m, "description", None) for m in metadata)
        comment = re.search(rf"^    {name}: .*  # \S", source, re.MULTILINE)
        return described or comment or re.search(rf"\b{name}(, \w+)*: \S", words)

    return {field.name for field in dataclasses.fields(part) if not explained(field.name)}


@pytest.mark.parametrize("name", PLAIN)
def test_every_kernel_explains_its_arguments_and_shows_itself(name):
    assert not silent_arguments(PLAIN[name])
    assert shows_itself(PLAIN[name])


@pytest.mark.parametrize("name", [n for n, thing in AT_THE_DOOR.items() if callable(thing)])
def test_everything_at_the_door_says_what_it_is(name):
    assert says_what_it_is(AT_THE_DOOR[name])


@pytest.mark.parametrize("name", FIELDS)
def test_every_part_and_noun_explains_its_fields(name):
    assert not silent_fields(FIELDS[name])


def test_silence_is_noticed():
    @dataclasses.dataclass
    class Bare:
        loud: parts.Count

    @dataclasses.dataclass
    class Told:
        """loud, quiet: two numbers."""

        loud: float
        quiet: float
        third: float  # another one

    def bare(x: float) -> float:
        return x

    assert not says_what_it_is(Bare)
    assert silent_fields(Bare) == {"loud"}
    assert not silent_fields(Told)
    assert silent_arguments(bare) == {"x"}
    assert not shows_itself(bare)

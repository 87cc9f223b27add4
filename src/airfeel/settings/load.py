"""From a preset or a TOML file and --set overrides to an Experiment, with one-line errors."""

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import ValidationError

from airfeel import regular
from airfeel.catalogue import Table, Value, suggestion
from airfeel.errors import BadInput, quote, reason, shorten
from airfeel.settings import preset_names as named
from airfeel.settings.config import SECTIONS, Experiment

# The sections that every run folder has; one that came later means its defaults where it is absent.
_WRITTEN = ("data", "model", "training", "scheme", "radio", "budget", "run")


Overrides = str | Iterable[str] | Mapping[str, Value]


def load(source: str | Path, overrides: Overrides = (), **more: Value) -> Experiment:
    """The experiment of a preset's name, of a curve of the paper, or of a TOML file.

    `overrides` are `section.key=value` strings, or one of them, or a dict from `section.key` to
    value; `more` are such keys with `__` for the dot.
    """
    table = _table(source)
    if isinstance(overrides, Mapping):
        for key, value in overrides.items():
            _put(table, str(key), value, f"overrides: {quote(key)}")
    else:
        for text in [overrides] if isinstance(overrides, str) else overrides:
            _override(table, text)
    for key, value in more.items():
        place(table, key.split("__"), value)
    return experiment(table)


def scheme_of(source: str | Path) -> str:
    """Return the scheme that a source names, before any override."""
    section = _table(source).get("scheme", {})
    name = section.get("name") if isinstance(section, dict) else None
    return str(name or SECTIONS["scheme"].model_fields["name"].default)


def stored_table(folder: Path) -> Table:
    """The settings of a run's folder; they are not whole without each section that was written."""
    path = folder / "config.toml"
    if not path.is_file():
        raise BadInput(f"{folder}: is no run folder, it has no config.toml")
    try:
        table = tomllib.loads(regular.text(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from error
    missing = [name for name in _WRITTEN if not isinstance(table.get(name), dict)]
    if missing:
        raise BadInput(f"{path}: has no section [{missing[0]}], so that it is not what was written")
    return table


def experiment(table: Table) -> Experiment:
    """The checked experiment of a nested table; the first fault is named in one line."""
    try:
        _refuse_undecodable(table)
        return Experiment.model_validate(table)
    except ValidationError as error:
        raise BadInput(_one_line(error)) from None
    except RecursionError:
        raise BadInput("settings: must not be nested so deeply") from None


def parse(text: str) -> Table:
    """A TOML text; ValueError says what is wrong with it, also with its numbers and its depth."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse_undecodable(value: object, key: str = "") -> None:
    """Refuse text that no file can hold, such as a path whose bytes are not UTF-8."""
    if isinstance(value, dict):
        for name, inner in value.items():
            _refuse_undecodable(name, f"{key} has a key")
            _refuse_undecodable(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list | tuple):
        for inner in value:
            _refuse_undecodable(inner, key)
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise BadInput(f"{key} = {quote(value)}: must be text in UTF-8") from None


def _table(source: str | Path) -> Table:
    if not isinstance(source, str | Path):
        kind = f"a value of type {type(source).__name__}"
        raise BadInput(f"source is {kind}; must be a preset's name or the path of a TOML file")
    name = str(source)
    return named.table(name) if named.known(name) else _read(Path(source))


def _read(path: Path) -> Table:
    shown = shorten(str(path))
    if not os.path.isfile(path):  # Path's own raises for some names
        usual = f"{path}-tcs-h"  # a base alone, such as digits
        hint = suggestion(str(path), [usual] if named.known(usual) else named.names())
        raise BadInput(f"{shown}: is neither a preset (see airfeel list) nor a file{hint}")
    table = read_toml(path)
    for command, mark in (("league", "contenders"), ("sweep", "grid"), ("sweep", "list")):
        if mark in table:
            raise BadInput(f"{shown}: is a {command}; play it with `airfeel {command} {shown}`")
    return table


def read_toml(path: Path) -> Table:
    """The table in a TOML file."""
    if named.known(str(path)) and not path.exists():
        raise BadInput(f"{path}: is a preset; must be a TOML file here, which may have it as base")
    try:
        return parse(regular.text(path))
    except (OSError, ValueError) as error:
        shown = shorten(str(path))
        if path.suffix == ".npz":
            raise BadInput(f"{shown}: is data; --set data.dataset=file:{shown} names it") from None
        raise BadInput(f"{shown}: is not a TOML file that can be read ({reason(error)})") from error


def _override(table: Table, text: str) -> None:
    """`section.key=value`, at any depth."""
    path, equals, value = text.partition("=") if isinstance(text, str) else ("", "", "")
    if not equals:
        raise BadInput(f"--set {quote(text)}: must be section.key=value, such as scheme.bits=8")
    try:
        parsed = parse(f"v = {value}")["v"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()  # a bare word is a string
    except ValueError as error:
        raise BadInput(f"--set {quote(text)}: cannot be read ({reason(error)})") from None
    _put(table, path.strip(), parsed, f"--set {quote(text)}")


def _put(table: Table, path: str, value: Value, blame: str) -> None:
    """A value at `section.key`; a part that was named by a word becomes a table."""
    keys = path.split(".")
    if len(keys) < 2 or not all(keys):
        hint = _homes(path)
        raise BadInput(f"{blame}: must be section.key=value, such as scheme.bits=8{hint}")
    if len(keys) > 2 and isinstance(named := _default(*keys[:2]), str):
        table.setdefault(keys[0], {}).setdefault(keys[1], named)
    place(table, keys, value)


def _default(section: str, key: str) -> object:
    """What a setting is where no file says anything of it."""
    field = SECTIONS[section].model_fields.get(key) if section in SECTIONS else None
    return None if field is None else field.default


def place(table: Table, keys: list[str], value: Value) -> None:
    """Put a value into nested tables, in place.

    >>> table = {"radio": {"fading": "rician"}}
    >>> place(table, ["radio", "fading", "factor"], 3.0)
    >>> table
    {'radio': {'fading': {'name': 'rician', 'factor': 3.0}}}
    """
    inner = table
    for depth, key in enumerate(keys[:-1]):
        nested = inner.get(key, {})
        if isinstance(nested, str) and depth > 0:
            nested = {"name": nested}
        elif depth > 0 and keys[depth + 1 :] == ["name"] and not isinstance(nested, dict):
            nested = {}  # a number gives way to a part
        if not isinstance(nested, dict):
            raise BadInput(
                f"{shorten('.'.join(keys[: depth + 1]))} = {quote(nested)}: must be a table of "
                "settings"
            )
        inner[key] = nested = dict(nested)
        inner = nested
    inner[keys[-1]] = value


def _one_line(error: ValidationError) -> str:
    """The first fault, with the setting's name, its value and what is legal."""
    first = error.errors()[0]
    where = [str(part) for part in first["loc"]]
    key = shorten(".".join(where))
    if first["type"] == "extra_forbidden":
        return f"{key}: is no setting{_legal(where)}"
    if first["type"] == "value_error":
        fault = first["ctx"]["error"]
        named = isinstance(fault, BadInput)  # it says itself which setting is meant
        return str(fault) if named or not key else f"{key} = {quote(first['input'])}: {fault}"
    message = first["msg"].replace("Input should", "must", 1).replace("a valid tuple", "a list")
    return f"{key} = {quote(first['input'])}: {message}"


def _homes(key: str) -> str:
    """What was meant by a key without its section."""
    homes = [f"{name}.{key}" for name, s in SECTIONS.items() if key in s.model_fields]
    return f"; did you mean {' or '.join(homes)}?" if homes else ""


def _legal(where: list[str]) -> str:
    section = SECTIONS[where[0]] if len(where) > 1 else Experiment
    if len(where) == 1 and (hint := _homes(where[0])):
        return hint
    legal = list(section.model_fields)
    return suggestion(where[-1], legal) or f"; legal are {', '.join(legal)}"

"""The JSON schema and the list: made of the catalogues, and nothing is left unsaid."""

import json
import sys
import tomllib

import jsonschema
import pytest

from airfeel.catalogues import CATALOGUES, SCHEDULES
from airfeel.cli import main
from airfeel.settings.load import load
from airfeel.settings.preset_names import presets
from airfeel.storage.store import as_toml


def call(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["airfeel", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 0
    return capsys.readouterr().out


@pytest.fixture
def schema(monkeypatch, capsys):
    return json.loads(call(monkeypatch, capsys, "config", "schema"))


def nodes(node):
    if isinstance(node, dict):
        yield node
    for inner in (
        node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    ):
        yield from nodes(inner)


def test_the_schema_is_one_and_has_an_address(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"].startswith("urn:airfeel:settings:")
    assert not [key for node in nodes(schema) for key in node if key.startswith("x-")]


def test_every_setting_says_what_it_is(schema):
    for name, node in schema["properties"].items():
        section = schema["$defs"][node["$ref"].rsplit("/", 1)[-1]]
        assert section["description"], name
        for key, setting in section["properties"].items():
            assert setting.get("description"), f"{name}.{key}"


def test_every_setting_of_a_part_says_what_it_is(schema):
    silent = {
        (kind, key)
        for kind, node in schema["$defs"].items()
        for part in node.get("anyOf", ())
        for key, setting in part["properties"].items()
        if key != "name" and not setting.get("description")
    }
    assert silent == set()


@pytest.mark.parametrize("name", presets())
def test_the_schema_accepts_every_preset_in_full(schema, name):
    jsonschema.validate(tomllib.loads(as_toml(load(name))), schema)


LEGAL = [
    {"data": {"dataset": "file:my.npz", "partition": {"name": "fixed-size", "size": 3}}},
    {"data": {"dataset": {"name": "own:data", "anything": [1]}}},
    {"radio": {"fading": {"name": "rician", "factor": 3.0}, "power": [0.1, 0.2]}},
    {"training": {"learning_rate": {"name": "cosine", "start": 0.1, "rounds": 9}}},
    {"scheme": {"memory": "none", "step": "own:Step"}},
]
WRONG = [
    {"data": {"dataset": "emnist"}},
    {"data": {"partition": {"name": "fixed-size", "size": 0}}},
    {"data": {"partition": {"name": "dirichlet", "beta": 1}}},
    {"data": {"partition": {"alpha": 1}}},
    {"radio": {"fading": {"name": "rician", "factor": -1}}},
    {"radio": {"power": -1}},
    {"training": {"learning_rate": {"name": "cosinus"}}},
    {"model": {"name": {"name": "mlp"}}},
    {"scheme": {"bitz": 8}},
]


@pytest.mark.parametrize("table", LEGAL, ids=str)
def test_what_is_legal_is_accepted(schema, table):
    jsonschema.validate(table, schema)


@pytest.mark.parametrize("table", WRONG, ids=str)
def test_what_is_wrong_is_refused(schema, table):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(table, schema)


def test_the_list_holds_every_name_of_every_catalogue(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    out = call(monkeypatch, capsys, "list")
    for kind in CATALOGUES:
        assert f"{kind.kind} · {kind.key}" in out
        for name, entry in kind.items():
            assert f" {name} " in out
            assert entry.about in out
    assert all(about in out for about in SCHEDULES.values())
    assert all(name in out for name in presets())
    assert out.index("presets") > out.index("models")

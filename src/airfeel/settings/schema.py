"""The JSON schema of the settings: names as enumerations, and each part's own settings."""

from collections.abc import Iterator
from inspect import Parameter
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from airfeel.catalogue import Catalogue, Table
from airfeel.catalogues import CATALOGUES
from airfeel.settings.config import Experiment
from airfeel.settings.fields import CATALOGUE
from airfeel.version import VERSION

_Node = Table
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_OWN = {"type": "string", "pattern": "^.+:.+$", "description": "module:factory"}


def schema() -> _Node:
    """The schema that `airfeel config schema` prints; editors check and complete settings by it."""
    whole = Experiment.model_json_schema()
    kinds = {each.key: each for each in CATALOGUES}
    for node in list(_tables(whole)):
        node["anyOf"] = [{"$ref": f"#/$defs/{node[CATALOGUE]}"}]
        whole["$defs"].setdefault(node[CATALOGUE], _parts(kinds[node[CATALOGUE]]))
    head = {"$schema": _DIALECT, "$id": f"urn:airfeel:settings:{VERSION}"}
    return head | _without_marks(whole)


def _tables(node: Any) -> Iterator[_Node]:
    """All tables that name a part."""
    if isinstance(node, dict):
        if CATALOGUE in node:
            yield node
        for inner in node.values():
            yield from _tables(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from _tables(inner)


def _parts(catalogue: Catalogue) -> _Node:
    """The tables that choose a part of one kind: each by its name, or a user's own."""
    own: _Node = {"properties": {"name": _OWN}}
    return {"anyOf": [*(_part(catalogue, name) for name in catalogue), own]}


def _part(catalogue: Catalogue, name: str) -> _Node:
    """The table that chooses one part: its name and its settings."""
    settings, types = catalogue.settings(name), catalogue.field_types(name)
    written = {k: _setting(types[k], p) for k, p in settings.items() if p.kind is not p.VAR_KEYWORD}
    properties = {k: node for k, node in written.items() if node is not None}
    about = {"description": catalogue[name].about}
    return about | {
        "properties": properties | {"name": {"const": name}},
        "additionalProperties": len(written) < len(settings),
    }


def _setting(annotation: Any, parameter: Parameter) -> _Node | None:
    """One setting of a part; None for what no file can hold, such as another part."""
    try:
        node = TypeAdapter(annotation).json_schema()
    except PydanticUserError:
        return None
    plain = isinstance(parameter.default, bool | int | float | str)
    return node | {"default": parameter.default} if plain else node


def _without_marks(node: Any) -> Any:
    """The same without keys that are for airfeel alone."""
    if isinstance(node, dict):
        return {k: _without_marks(v) for k, v in node.items() if not k.startswith("x-")}
    return [_without_marks(inner) for inner in node] if isinstance(node, list) else node

"""Own code that a run folder names: started by this user with these files, or not to be imported.

A folder's settings may name `module:factory`, which `resume` imports. When a run begins, these
settings and the SHA-256 of the modules' source files are signed with a key of the user's; the
signature lies in facts.json. Another user, or who has only the folder, cannot make it.
"""

import hashlib
import hmac
import os
import secrets
import stat
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path

from airfeel import regular
from airfeel.catalogue import Table, Value
from airfeel.errors import BadInput, quote
from airfeel.settings.config import Experiment
from airfeel.settings.relevance import as_toml
from airfeel.storage import provenance

_SIGNED = "own_code"  # the key of facts.json
_BYTES = 32  # of the user's key
_OTHERS = stat.S_IRWXG | stat.S_IRWXO  # may be read or written by others than the owner


def signed(e: Experiment) -> Table:
    """The fact that goes into a run's facts.json; none where the settings name no own code."""
    text = as_toml(e)
    named = list(_named(tomllib.loads(text))) if ":" in text else []
    key = _key() if named else None
    return {_SIGNED: _signature(key, named)} if key else {}


def check(folder: Path, table: Table) -> None:
    """Refuse to import what a stored run names, unless this user began it with the same files."""
    named = list(_named(table))
    if not named:
        return
    found = provenance.stored_facts(folder).get(_SIGNED)
    key = _key()
    if key and isinstance(found, str) and hmac.compare_digest(found, _signature(key, named)):
        return
    where, value = named[0]
    raise BadInput(
        f"{folder}/config.toml: {where} = {quote(_first(value))}: is code of unknown origin, it is "
        "not known that you began this run with the files that are here; airfeel resume --trust "
        "imports it all the same"
    )


def _named(table: Table) -> Iterator[tuple[str, Value]]:
    """Settings that name code, or a place where code runs: all that hold text with a colon.

    `file:my.npz` is the one other use of a colon: samples, from which nothing is imported.
    """
    for section, values in sorted(table.items()):
        for key, value in sorted((values if isinstance(values, dict) else {"": values}).items()):
            samples = (section, key) == ("data", "dataset") and str(value).startswith("file:")
            if any(_texts(value)) and not samples:
                yield f"{section}.{key}", value


def _texts(value: Value) -> Iterator[str]:
    """Every text with a colon in a value, names of fields among them."""
    if isinstance(value, str):
        yield from [value] if ":" in value else []
    elif isinstance(value, dict | list):
        for inner in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from _texts(inner)


def _first(value: Value) -> str:
    return next(_texts(value))


def _signature(key: bytes, named: list[tuple[str, Value]]) -> str:
    """Of these settings, and of the source files of the modules that they name."""
    texts = [text for _, value in named for text in _texts(value)]
    files = {text: _source(text.partition(":")[0]) for text in texts}
    return hmac.new(key, repr((named, sorted(files.items()))).encode(), "sha256").hexdigest()


def _source(module: str) -> str:
    """The SHA-256 of a module's file, found without importing anything; empty where it has none."""
    path: list[str] | None = None if "" in sys.path else [*sys.path, os.getcwd()]
    spec, name = None, ""
    for part in module.split("."):
        name = f"{name}.{part}".strip(".")
        try:
            spec = PathFinder.find_spec(name, path)
        except (ImportError, ValueError):
            return ""
        if spec is None:
            return ""
        path = list(spec.submodule_search_locations or ())
    file = Path(spec.origin or "") if spec and spec.has_location else None
    try:
        return hashlib.sha256(regular.data(file)).hexdigest() if file else ""
    except OSError:
        return ""


def _key() -> bytes | None:
    """The user's key, made when it is first needed; None where it cannot be kept."""
    try:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
        path = base / "airfeel" / "key"
        if not path.exists():
            _make(path)
        key, found = regular.data(path), path.stat()
    except (OSError, RuntimeError):  # nowhere to write, or a user without a home
        return None
    others = os.name == "posix" and (found.st_uid != os.getuid() or found.st_mode & _OTHERS)
    return key if len(key) == _BYTES and not others else None


def _make(path: Path) -> None:
    """Write a key in one step: of several processes that do, the first one's stays."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent) as file:  # its owner alone may read it
        file.write(secrets.token_bytes(_BYTES))
        file.flush()
        with suppress(FileExistsError):
            os.link(file.name, path)

"""What the package imports is what it declares: nothing is there by luck, with another one."""

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"].keys() - {"dev", "docs"}
WHEN_ASKED = {"pandas", "sionna"}  # only one door each needs them, and says so
WITHIN = {"pydantic_core"}  # a part of pydantic


def declared():
    lists = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][name] for name in EXTRAS)]
    return {re.match(r"[\w-]+", each)[0].replace("-", "_") for all_ in lists for each in all_}


def imported():
    """Modules of others that files of ours import, with a file that does."""
    found = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            found |= {name.partition(".")[0]: path.name for name in names}
    return found


def test_every_import_is_declared():
    known = declared() | set(sys.stdlib_module_names) | WHEN_ASKED | WITHIN | {"airfeel"}
    assert {name: path for name, path in imported().items() if name not in known} == {}

"""The house stays as it is drawn: imports go downhill, rooms stay small, words stay true."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "airfeel"
FLOORS = [
    {"errors", "ranges"},
    {"types", "catalogue"},
    {"streams", "catalogues", "compiled", "segments", "carry", "bits"},
    {"data", "learn", "compress", "radio", "server", "wire", "theory"},
    {"schemes", "ledger"},
    {"round"},
    {"engines"},
    {"experiment"},
    {"cli", "flower"},
]
FILES = sorted(PACKAGE.rglob("*.py"))


def room(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def floor(name):
    return next(i for i, rooms in enumerate(FLOORS) if name in rooms)


def imported(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("airfeel"):
            parts = node.module.split(".")
            yield from [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from [a.name.split(".")[1] for a in node.names if a.name.startswith("airfeel.")]


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_downhill(path):
    if path == PACKAGE / "__init__.py":
        return
    here = room(path)
    for other in imported(path):
        assert other == here or floor(other) < floor(here), f"{here} imports {other}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_rooms_are_small(path):
    assert len(path.read_text("utf-8").splitlines()) <= 400


def test_the_round_fits_on_a_page():
    assert len((PACKAGE / "round.py").read_text("utf-8").splitlines()) <= 80
    assert len((ROOT / "examples" / "tcs_h_plain.py").read_text("utf-8").splitlines()) <= 300
    assert len((ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines()) <= 100


def test_only_streams_seeds():
    for path in FILES:
        text = path.read_text("utf-8")
        if room(path) != "streams":
            assert "default_rng" not in text.replace(">>>", "").split('"""')[0], path
            assert "np.random.seed" not in text, path


def test_the_plain_reading_imports_nothing_of_ours():
    tree = ast.parse((ROOT / "examples" / "tcs_h_plain.py").read_text("utf-8"))
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert names <= {"itertools", "math", "numpy"}
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))


def test_every_public_function_says_what_it_is():
    for path in FILES:
        tree = ast.parse(path.read_text("utf-8"))
        assert ast.get_docstring(tree) or not tree.body, path
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                bases = {getattr(base, "id", "") for base in getattr(node, "bases", [])}
                exempt = bases & {"Protocol", "BaseModel"}
                assert ast.get_docstring(node) or exempt, f"{path}: {node.name}"

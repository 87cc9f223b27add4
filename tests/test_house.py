"""The house stays as it is drawn: imports go downhill, rooms stay small, words stay true."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from airfeel import catalogues
from airfeel.catalogue import Catalogue

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "airfeel"
FLOORS = [  # packages and modules; each imports from those above it alone
    {"errors", "ranges", "version", "regular", "kernel_cache", "kernel_sources", "segments"},
    {"streams", "radio"},
    {"types", "factories", "arrays", "prebuilt", "bits", "radio.ofdm"},
    {"catalogue", "compiled", "handed", "optional", "radio.side_information"},
    {"server", "theory", "wire", "entries", "carry", "plotting", "radio.native", "radio.channel"},
    {"compression", "catalogues", "radio.allocation", "radio.energy"},
    {"data", "training", "settings", "engines", "radio.power_budget", "radio.power_control"},
    {"radio.impairments"},
    {"radio.transmission", "radio.cost_metrics"},
    {"ledger", "radio.selection"},
    {"round", "radio.scheduling"},
    {"schemes"},
    {"build", "parts"},
    {"storage"},
    {"runs", "flower"},
    {"analysis"},
    {"sweeps", "reports"},
    {"api", "reproduce", "waveform"},
    {"cli"},
    {"__main__"},
]
FILES = sorted(PACKAGE.rglob("*.py"))
NAMES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in FILES
}
CATALOGUES = [c for c in vars(catalogues).values() if isinstance(c, Catalogue)]
SEEDING = {
    "default_rng",
    "Generator",
    "Philox",
    "PCG64",
    "PCG64DXSM",
    "RandomState",
    "SeedSequence",
}
SEEDING |= {"manual_seed", "seed", "Random", "PCG64DXSM"}
SEEDS = {
    "streams.py": {"SeedSequence", "Generator", "Philox"},
    "radio/channel/sionna.py": {
        "manual_seed"
    },  # Sionna's own generator: seeded from a device's dice
    "training/models.py": {"manual_seed"},  # initial weights: seeded from a stream, in fork_rng
    "training/dropout.py": {
        "Generator",
        "manual_seed",
        "PCG64DXSM",
    },  # seeded from a device's stream
    "training/global_rng.py": {
        "seed",
        "manual_seed",
    },  # for user modules: seeded from a device's stream
}


def room(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return room_of([part for part in parts if part != "__init__"])


def room_of(parts):
    """The package that a module belongs to; radio's packages are told apart."""
    return ".".join(parts[:2] if parts[0] == "radio" else parts[:1])


def floor(name):
    return next(i for i, rooms in enumerate(FLOORS) if name in rooms)


def imported(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("airfeel"):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found = (name if name in NAMES else node.module for name in names)
            yield from (room_of(name.split(".")[1:]) for name in found if name != "airfeel")
        elif isinstance(node, ast.Import):
            names = (alias.name for alias in node.names)
            yield from (room_of(n.split(".")[1:]) for n in names if n.startswith("airfeel."))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_downhill(path):
    if path == PACKAGE / "__init__.py":
        return
    here = room(path)
    for other in imported(path):
        assert other == here or floor(other) < floor(here), f"{here} imports {other}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_rooms_are_small(path):
    assert len(path.read_text("utf-8").splitlines()) <= 300


def test_the_round_fits_on_a_page():
    assert len((PACKAGE / "round.py").read_text("utf-8").splitlines()) <= 80
    assert len((ROOT / "examples" / "tcs_h_plain.py").read_text("utf-8").splitlines()) <= 300
    assert len((ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines()) <= 100


def calls(path):
    """Every call in a file's code, docstrings aside: the last word of what is called, the node."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func).rpartition(".")[2], node


def test_only_streams_seeds():
    found = {
        path.relative_to(PACKAGE).as_posix(): {name for name, _ in calls(path)} & SEEDING
        for path in FILES
    }
    assert {path: names for path, names in found.items() if names} == SEEDS


def modules(path):
    """The modules of ours that a file imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("airfeel."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("airfeel"):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from (inner & NAMES.keys()) or {node.module}


def test_no_module_imports_itself_by_way_of_others():
    graph = {name: set(modules(path)) for name, path in NAMES.items()}
    assert sum(map(len, graph.values())) > len(graph)
    assert set().union(*graph.values()) <= graph.keys()
    TopologicalSorter(graph).prepare()


def test_nobody_looks_at_the_kind_of_a_part_outside_of_its_room():
    """To ask what a part is, is to know its room from outside: wrap it, or give it a word."""
    home = {}
    for entry in (entry for catalogue in CATALOGUES for entry in catalogue.values()):
        module, _, name = entry.where.partition(":")
        home[name] = room_of(module.split(".")[1:])
    for path in FILES:
        for name, node in calls(path):
            asked = ast.walk(node.args[1]) if name == "isinstance" else ()
            kinds = {getattr(n, "id", getattr(n, "attr", None)) for n in asked}
            away = {kind for kind in kinds & home.keys() if home[kind] != room(path)}
            assert not away, f"{path}: isinstance of {away}"


@pytest.mark.parametrize("name", ["tcs_h_plain", "backlog_plain"])
def test_the_plain_readings_import_nothing_of_ours(name):
    tree = ast.parse((ROOT / "examples" / f"{name}.py").read_text("utf-8"))
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    assert names <= {"itertools", "math", "numpy", "tcs_h_plain"}


def test_every_public_function_says_what_it_is():
    for path in FILES:
        tree = ast.parse(path.read_text("utf-8"))
        assert ast.get_docstring(tree) or not tree.body, path
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                bases = {getattr(base, "id", "") for base in getattr(node, "bases", [])}
                exempt = bases & {"Protocol", "BaseModel"}
                assert ast.get_docstring(node) or exempt, f"{path}: {node.name}"

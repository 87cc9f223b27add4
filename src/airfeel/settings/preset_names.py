"""Settings that have a name: the presets, and the curves of the paper. Nothing is checked here."""

import tomllib
from importlib import resources

from airfeel.catalogue import Table
from airfeel.catalogues import SCHEMES
from airfeel.settings.paper import CURVES

BARE = "-bare"  # behind the name of a preset or curve of the paper: without a training recipe
_RECIPE = "paper-recipe"
_FOLDER = resources.files("airfeel.settings") / "presets"


def presets() -> dict[str, str]:
    """Name and first comment line of every preset: each base file with each scheme."""
    told = {name: _text(file).splitlines()[0].lstrip("# ") for name, (file, _) in _pairs().items()}
    return {
        k: f"{v} The paper's stated settings alone." * k.endswith(BARE) or v
        for k, v in told.items()
    }


def names() -> list[str]:
    """Every preset and every curve of the paper."""
    return [*_pairs(), *CURVES]


def known(name: str) -> bool:
    """Whether a name is that of a preset or of a curve of the paper."""
    return name in _pairs() or name.removesuffix(BARE) in CURVES


def table(name: str) -> Table:
    """The settings of a known name, as its files have them."""
    return _preset(name) if name in _pairs() else _curve(name)


def _pairs() -> dict[str, tuple[str, str]]:
    """Base file and scheme of every preset, by its name; some have a file of changes, too."""
    changes = {f"{file}-{scheme}" for file in _files() for scheme in SCHEMES}
    bases = sorted(_files() - changes - {_RECIPE})
    kinds = [(base, end) for base in bases for end in ("", *[BARE] * _has_recipe(base))]
    return {f"{base}-{scheme}{end}": (base, scheme) for base, end in kinds for scheme in SCHEMES}


def _has_recipe(base: str) -> bool:
    return base.startswith("paper-")


def _files() -> set[str]:
    return {file.name.removesuffix(".toml") for file in _FOLDER.iterdir()}


def _text(name: str) -> str:
    return (_FOLDER / f"{name}.toml").read_text("utf-8")


def _preset(name: str) -> Table:
    base, scheme = _pairs()[name]
    found = tomllib.loads(_text(base))
    recipe = _RECIPE if _has_recipe(base) and not name.endswith(BARE) else ""
    for file in (recipe, name):
        for section, changes in (tomllib.loads(_text(file)) if file in _files() else {}).items():
            found.setdefault(section, {}).update(changes)
    found.setdefault("scheme", {})["name"] = scheme
    return found


def _curve(name: str) -> Table:
    """A preset with a curve's changes; only the digital schemes are told how many to invite."""
    preset, changes = CURVES[name.removesuffix(BARE)]
    found = _preset(preset + BARE * name.endswith(BARE))
    if found["scheme"]["name"] not in ("tcs-d", "top-k"):
        del found["scheme"]["scheduled"]
    found["scheme"].update(changes)
    return found

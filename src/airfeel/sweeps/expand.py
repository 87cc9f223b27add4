"""A comparison as it is asked for: sources, schemes and seeds become experiments with labels."""

import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path

from airfeel.catalogue import Value
from airfeel.settings.config import Experiment
from airfeel.settings.load import load, scheme_of

DEFAULT = "digits-tcs-h"
Named = list[tuple[str, Experiment]]


def asked(
    sources: Sequence[str] = (),
    schemes: Sequence[str] = (),
    seeds: Sequence[int] = (0,),
    overrides: Iterable[str] = (),
    **more: Value,
) -> Named:
    """Every source with every scheme and every seed.

    sources: presets or TOML files. schemes: put into each source; its own where none is named.
    overrides: `section.key=value`; `more` are such keys with `__` for the dot. One that replaces
    the scheme gives the label that `schemes` would.

    >>> [(label, e.run.seed) for label, e in asked(schemes=["tcs-h", "top-k"], seeds=[3])]
    [('tcs-h', 3), ('top-k', 3)]
    """
    every, texts = list(sources) or [DEFAULT], list(overrides)
    wanted: list[str | None] = [*schemes] or [None]
    own = {source: scheme_of(source) for source in every}
    named = []
    for source, scheme, seed in itertools.product(every, wanted, seeds):
        e = load(source, texts, **more | _scheme(scheme), run__seed=seed)
        named.append((_label(source, scheme or _replaced(own[source], e), every), e))
    return named


def run_name(source: str, e: Experiment) -> str:
    """Name a run after its source, with the scheme that it has.

    >>> run_name("digits-tcs-h", load("digits-tcs-h"))
    'digits-tcs-h'
    >>> run_name("digits-tcs-h", load("digits-tcs-h", scheme__name="mine:build"))
    'digits-mine_build'
    """
    stem, own = Path(source).stem, scheme_of(source)
    scheme = _replaced(own, e)
    if scheme is None:
        return as_folder(stem)
    new = f"-{stem}-".replace(f"-{own}-", f"-{scheme}-")[1:-1]
    return as_folder(new if new != stem else f"{stem}-{scheme}")


def as_folder(label: str) -> str:
    """Return a label as the name of a folder: without what would part paths or drives.

    >>> as_folder("digits/mine:build")
    'digits_mine_build'
    """
    return label.replace("/", "_").replace(":", "_")


def _replaced(own: str, e: Experiment) -> str | None:
    """Return the scheme that an override put in place of the source's own, if any."""
    return None if e.scheme.name == own else e.scheme.name


def _scheme(name: str | None) -> dict[str, Value]:
    return {} if name is None else {"scheme__name": name}


def _label(source: str, scheme: str | None, every: Sequence[str]) -> str:
    """The source and the scheme, as far as needed; files of one name by their paths."""
    stem = Path(source).stem
    alike = {other for other in every if Path(other).stem == stem}
    name = stem if len(alike) == 1 else source
    if scheme is None:
        return name
    return scheme if len(every) == 1 else f"{name}/{scheme}"

"""A comparison as it is asked for: sources, schemes and seeds become experiments with labels."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from airfeel.catalogue import Value
from airfeel.experiment.config import Experiment
from airfeel.experiment.load import load

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
    overrides: `section.key=value`; `more` are such keys with `__` for the dot.

    >>> [(label, e.run.seed) for label, e in asked(schemes=["tcs-h", "top-k"], seeds=[3])]
    [('tcs-h', 3), ('top-k', 3)]
    """
    every, texts = list(sources) or [DEFAULT], list(overrides)
    wanted: list[str | None] = [*schemes] or [None]
    return [
        (
            _label(source, scheme, every),
            load(source, texts, **more | _scheme(scheme), run__seed=seed),
        )
        for source in every
        for scheme in wanted
        for seed in seeds
    ]


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

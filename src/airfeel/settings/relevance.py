"""Settings as tables: all of them, or those that decide a result."""

from collections.abc import Collection
from functools import cache

import tomli_w

from airfeel.catalogue import Value
from airfeel.settings.config import SECTIONS, Experiment
from airfeel.settings.fields import LATER, Changes

Tables = dict[str, dict[str, Value]]


def as_table(e: Experiment, *, exclude_none: bool = True) -> Tables:
    """The settings as nested tables; one that came later is left out while at its default."""
    table: Tables = e.model_dump(mode="json", exclude_none=exclude_none)
    for section, name, default in _later():
        if getattr(getattr(e, section), name) == default:
            table[section].pop(name, None)
    return {name: values for name, values in table.items() if values}


def as_toml(e: Experiment) -> str:
    """The fully resolved settings as TOML; a setting that is off is left out."""
    return tomli_w.dumps(as_table(e))


def settings_that_decide(e: Experiment, but: Collection[Changes] = (Changes.NOTHING,)) -> Tables:
    """The settings without those that can change no more than what is told, by their marks."""
    table = as_table(e, exclude_none=False)
    for section, model in SECTIONS.items():
        for name, field in model.model_fields.items():
            if any(mark in but for mark in field.metadata if isinstance(mark, Changes)):
                table.get(section, {}).pop(name, None)
    return table


@cache
def _later() -> list[tuple[str, str, object]]:
    """Section, name and default of each setting that came later."""
    return [
        (section, name, field.default)
        for section, model in SECTIONS.items()
        for name, field in model.model_fields.items()
        if isinstance(field.json_schema_extra, dict) and LATER in field.json_schema_extra
    ]

"""From a scheme's name, and parts chosen in its place, to a Scheme."""

import dataclasses
import inspect
import warnings
from collections.abc import Sequence
from typing import Any

from airfeel.catalogue import Catalogue, Choice, Table, name_of
from airfeel.catalogues import (
    AMPLITUDES,
    CODECS,
    INVITES,
    MASKS,
    MEMORIES,
    METERS,
    PLANS,
    SCHEMES,
    SCREENS,
    SKIES,
    STEPS,
    TRANSMITS,
)
from airfeel.errors import quote
from airfeel.factories import Factory, why
from airfeel.schemes import Settings
from airfeel.schemes.equip import equip
from airfeel.schemes.noted import Noted
from airfeel.settings.columns import BEFORE, ROUND_COLUMNS
from airfeel.settings.sections import SchemeChoice
from airfeel.types import BadInput, Scheme, World

_NONE = inspect.Parameter.empty
_REPLACED = {"fade": SKIES, "invite": INVITES, "transmit": TRANSMITS}
_REPLACED |= {"codec": CODECS, "plan": PLANS}  # a codec may ask whether values go by air
_WITHIN: dict[str, Catalogue] = {"mask": MASKS, "memory": MEMORIES, "step": STEPS}
_WITHIN |= {"amplitude": AMPLITUDES, "screen": SCREENS}


def assemble(
    chosen: SchemeChoice, meters: Sequence[Choice], settings: Settings, world: World
) -> Scheme:
    """The scheme of that name; parts that the settings name take the place of its own.

    A part is filled in with the facts of the run that it asks for by name: numbers of `Settings`,
    `devices`, `subchannels`, and the part in whose place it comes (`codec`, `plan`, …), so that it
    can wrap that. A part of the same kind keeps the settings that are not given anew.
    """
    facts = settings.facts
    inner = {
        name: catalogue.make(choice, f"scheme.{name}", **facts)
        for name, catalogue in _WITHIN.items()
        if (choice := getattr(chosen, name)) is not None
    }
    read = tuple(METERS.make(meter, **facts) for meter in meters)
    settings = dataclasses.replace(settings, **inner, meters=read)
    factory = SCHEMES.find(chosen.name)
    try:
        inspect.signature(factory).bind(settings)
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"scheme.name = {quote(chosen.name)}: must take Settings ({error})"
        ) from error
    options = Noted(settings.options)
    scheme = _made(factory, dataclasses.replace(settings, options=options), chosen.name)
    if options.unread:
        unread = f"scheme.options.{sorted(options.unread)[0]}"
        warnings.warn(f"{unread}: is not read by {quote(chosen.name)}", stacklevel=2)
    if not isinstance(scheme, Scheme):
        made = type(scheme).__name__
        raise BadInput(f"scheme.name = {quote(chosen.name)}: must make a Scheme, made {made}")
    for name, catalogue in _REPLACED.items():
        if (choice := getattr(chosen, name)) is not None:
            facts = settings.facts | {"analog": getattr(scheme.transmit, "air", True)}
            for rule in _own_rules(catalogue, choice, chosen):
                del facts[rule]
            part = _placed(getattr(scheme, name), name, catalogue, choice, facts)
            scheme = dataclasses.replace(scheme, **{name: part})
    _refuse_unused(scheme, inner, chosen)
    _refuse_twice(scheme)
    if world.weights is not None and _levels(scheme.plan):
        raise BadInput(
            "training.weights = 'samples': each device is as loud as it can, whatever its weight; "
            f"must be 'equal' beside scheme {quote(chosen.name)}"
        )
    if read and scheme.meters != read:
        raise BadInput(f"radio.meters: scheme {chosen.name!r} has no place for them")
    scheme = equip(scheme)
    _unique_columns(scheme)
    return scheme


def _made(factory: Factory, settings: Settings, name: str) -> Any:
    """What a scheme's factory makes; whatever it raises is one line that names the scheme."""
    try:
        return factory(settings)
    except BadInput:
        raise
    except (Exception, SystemExit) as error:
        raise BadInput(f"scheme.name = {quote(name)}: cannot be made ({why(error)})") from error


def _placed(before: Any, name: str, catalogue: Catalogue, choice: Choice, facts: Table) -> Any:
    """The part that was chosen in another's place; within it, where that one grants what is sent.

    Grants go with codec and plan of their scheme: another choice of who is asked leaves them.
    """
    if getattr(before, "grants", False):
        within = _placed(getattr(before, name), name, catalogue, choice, facts)
        return dataclasses.replace(before, **{name: within})
    own = facts | _inherit(catalogue, choice, before) | {name: before}
    return catalogue.make(choice, f"scheme.{name}", **own)


def _own_rules(catalogue: Catalogue, choice: Choice, chosen: SchemeChoice) -> list[str]:
    """Rules that nobody chose, and for which a part has a default of its own."""
    fields = catalogue.settings(name_of(choice))
    rules = (name for name in ("mask", "memory") if getattr(chosen, name) is None)
    return [name for name in rules if name in fields and fields[name].default is not _NONE]


def _levels(part: object) -> bool:
    """Whether a policy within a plan makes weights of no consequence."""
    if not dataclasses.is_dataclass(part):
        return False
    within = (getattr(part, field.name) for field in dataclasses.fields(part))
    return getattr(part, "levels", False) or any(_levels(inner) for inner in within)


def _inherit(catalogue: Catalogue, choice: Choice, before: object) -> Table:
    """Where a part comes in the place of one of its own kind: the settings that that one had."""
    if catalogue.find(name_of(choice)) is not type(before) or not dataclasses.is_dataclass(before):
        return {}
    return {f.name: getattr(before, f.name) for f in dataclasses.fields(before)}


def _unique_columns(scheme: Scheme) -> None:
    names = [*ROUND_COLUMNS, *BEFORE, *scheme.columns]
    for name in scheme.columns:
        if names.count(name) > 1:
            raise BadInput(f"radio.meters: the column {name!r} is filled twice")


def _refuse_twice(scheme: Scheme) -> None:
    """Refuse a step that moves the model by old entries where devices remember, too."""
    if getattr(scheme.step, "forgetful", False) and scheme.codec.memory.buffers:
        raise BadInput(
            "scheme.step.apply = 'all': moves the model by old entries, which devices remember "
            "and send again; must be 'fresh', or scheme.memory be 'none'"
        )


def _refuse_unused(scheme: Scheme, parts: dict[str, object], chosen: SchemeChoice) -> None:
    """Refuse a part that was chosen and found no place in the scheme."""
    for name, part in parts.items():
        if not _within(scheme, part):
            raise BadInput(
                f"scheme.{name} = {quote(getattr(chosen, name))}: scheme {quote(chosen.name)} has "
                "no place for it"
            )
    if chosen.schedule is not None and not _has(scheme.plan, "schedule"):
        raise BadInput(
            f"scheme.schedule = {chosen.schedule!r}: the plan of {chosen.name!r} has no such rule"
        )


def _has(part: object, field: str) -> bool:
    """Whether a part, or a part within it, has such a field."""
    if not dataclasses.is_dataclass(part):
        return False
    names = [f.name for f in dataclasses.fields(part)]
    return field in names or any(_has(getattr(part, name), field) for name in names)


def _within(whole: object, part: object) -> bool:
    """Whether a part is somewhere in a tree of parts."""
    if whole is part:
        return True
    if isinstance(whole, tuple):
        return any(_within(inner, part) for inner in whole)
    if dataclasses.is_dataclass(whole):
        return any(_within(getattr(whole, f.name), part) for f in dataclasses.fields(whole))
    return False

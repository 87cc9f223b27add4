"""Types of settings that are more than a number: parts by name, numbers for each, and marks."""

import math
import sys
from dataclasses import dataclass
from enum import Enum
from inspect import Parameter
from typing import (
    Annotated,
    Any,
    Literal,
    Protocol,
    get_args,
    get_origin,
    runtime_checkable,
)

import tomli_w
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WithJsonSchema,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from airfeel.catalogue import Catalogue, Choice, Table, Value, name_of, suggestion
from airfeel.catalogues import INVITES, SERIES
from airfeel.errors import BadInput, quote

CATALOGUE = "x-catalogue"  # marks a table in the schema that names a part, by the setting's name
_DEEPEST = 50  # tables and lists within each other
STORED = {"of": "a stored run"}  # context of settings that are read to be reported on alone
LATER = "x-later"  # marks a setting that 0.1.0's first files do not have
_LARGEST = sys.float_info.max
_Both = tuple[Choice | None, Literal["power", "thrifty", "all"] | None]  # who trains, who speaks
_OLD_SCHEDULERS: dict[str, _Both] = {
    "power": ("everyone", "power"),
    "all": ("everyone", "all"),
    "thrifty": (None, "thrifty"),
}


class Changes(Enum):
    """The most that a setting can change; one without such a mark defines the experiment."""

    NOTHING = "no result at all"
    RECORDS = "which rounds are recorded, or evaluated besides"
    LOOKS = "what is measured, and in which unit"
    LENGTH = "when a run ends"
    SPEED = "how fast it is computed, and the last digits"
    SEED = "the random numbers"


def later(default: Value | tuple[()] = None, *, description: str) -> Any:
    """A setting that came later: files and names of runs leave it out while at its default."""
    return Field(default, description=description, json_schema_extra={LATER: True})


def _toml(value: Table) -> Table:
    """Refuse a table that could not be written into a run's folder and read back the same."""
    try:
        tomli_w.dumps(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"must hold what TOML can write ({error})") from None
    except RecursionError:
        raise ValueError("must not be nested so deeply") from None
    _numbers_that_compare(value, _DEEPEST)
    return value


def _numbers_that_compare(value: object, depth: int) -> None:
    """Refuse NaN and ∞, which JSON lacks and by which no two runs are the same."""
    if depth == 0:
        raise ValueError(f"must not be nested more than {_DEEPEST} deep")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"must hold finite numbers, not {value}")
    if isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            _numbers_that_compare(inner, depth - 1)


Options = Annotated[Table, AfterValidator(_toml)]


@runtime_checkable
class _Info(Protocol):
    """What pydantic tells a validator."""

    @property
    def context(self) -> dict[str, str] | None: ...


@dataclass(frozen=True)
class named:
    """Marks a setting that names a part of a catalogue; a table may hold the part's settings."""

    catalogue: Catalogue
    tables: bool = True

    def check(self, value: object, info: _Info) -> Choice:
        """A name, module:factory, or a table with a name; whatever it is where a run is stored."""
        if not isinstance(value, str | dict if self.tables else str):
            table = ", or a table with a name" if self.tables else ""
            raise ValueError(f"must be a name or module:factory{table}")
        if info.context is not STORED:
            self.catalogue.check(value)
        return value if isinstance(value, str) else _toml(value)

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        own = {"type": "string", "pattern": "^.+:.+$", "description": "module:factory"}
        names = [{"enum": list(self.catalogue)}, own]
        return {"anyOf": [*names, _table(self.catalogue)] if self.tables else names}


def _table(catalogue: Catalogue) -> Table:
    """A table that names a part; the schema's last step puts each part's settings in its place."""
    return {"type": "object", "required": ["name"], CATALOGUE: catalogue.key}


def _numbers(value: Value) -> float | tuple[float, ...]:
    """One positive number, or a list of them."""
    values = value if isinstance(value, list | tuple) else [value]
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if not values or len(numbers) < len(values) or not all(0 < v <= _LARGEST for v in numbers):
        raise ValueError("must be a number above 0, or a list of such numbers")
    each = tuple(float(v) for v in numbers)
    return each if isinstance(value, list | tuple) else each[0]


def _numbers_or_series(value: Value) -> float | tuple[float, ...] | Table:
    if isinstance(value, dict):
        try:
            SERIES.check(value)
        except BadInput as error:  # of which setting, pydantic knows
            raise ValueError(str(error).partition(": ")[2]) from None
        return _toml(value)
    if isinstance(value, str) and (value in SERIES or ":" in value):
        raise ValueError(f"a schedule by name is a table: {_table_of(value)}")
    return _numbers(value)


def _plain_type(hint: object) -> object:
    """The type in an annotated one."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _table_of(name: str) -> str:
    """An example of the table that names a series, with the settings that it needs."""
    needed = SERIES.field_types(name) if name in SERIES else {}
    settings = SERIES.settings(name) if needed else {}
    numbers: dict[object, str] = {float: "0.05", int: "100"}
    given = [
        f"{key} = {numbers.get(_plain_type(hint), '…')}"
        for key, hint in needed.items()
        if settings[key].default is Parameter.empty
    ]
    return "{" + ", ".join([f'name = "{name}"', *given]) + "}"


# One positive number, or one for each device or round; over rounds also a series by name.
_NUMBER = {"type": "number", "exclusiveMinimum": 0}
_NUMBERS = [_NUMBER, {"type": "array", "items": _NUMBER, "minItems": 1}]
Each = Annotated[
    float | tuple[float, ...], BeforeValidator(_numbers), WithJsonSchema({"anyOf": _NUMBERS})
]
EachRound = Annotated[
    float | tuple[float, ...] | Table,
    BeforeValidator(_numbers_or_series),
    WithJsonSchema({"anyOf": [*_NUMBERS, _table(SERIES)]}),
]


def _shares(value: Value) -> float | tuple[float, ...]:
    """One number of at least 0 and below 1, or a list of them."""
    values = value if isinstance(value, list | tuple) else [value]
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if not values or len(numbers) < len(values) or not all(0 <= v < 1 for v in numbers):
        raise ValueError("must be a number of at least 0 and below 1, or a list of such numbers")
    each = tuple(float(v) for v in numbers)
    return each if isinstance(value, list | tuple) else each[0]


_SHARE = {"type": "number", "minimum": 0, "exclusiveMaximum": 1}
_SHARES = [_SHARE, {"type": "array", "items": _SHARE, "minItems": 1}]
Shares = Annotated[
    float | tuple[float, ...], BeforeValidator(_shares), WithJsonSchema({"anyOf": _SHARES})
]


def _count_or_all(value: Value) -> Value:
    if value == "all" or (type(value) is int and 1 <= value < 2**63):
        return value
    raise ValueError("must be a whole number of at least 1, or 'all'")


# So many, or all there are; checked as one, so that a fault names the setting alone.
CountOrAll = Annotated[
    int | Literal["all"],
    BeforeValidator(_count_or_all),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "all"}]}),
]


def scheduling(
    scheduler: str | None,
    invite: Choice | None,
    schedule: Literal["power", "thrifty", "all"] | None,
) -> _Both:
    """Who trains and who speaks, also where one word of old stands for both.

    >>> scheduling("thrifty", None, None), scheduling("random", None, None)
    ((None, 'thrifty'), ('random', None))

    An invitation by energy queues has chosen who is worth its energy: all who trained speak.

    >>> scheduling(None, "energy-queue", None)
    ('energy-queue', 'all')
    """
    if scheduler is None:
        settled = invite is not None and name_of(invite) == "energy-queue"
        return invite, "all" if settled and schedule is None else schedule
    if invite is not None or schedule is not None:
        raise BadInput(
            "scheme.scheduler: give this, or scheme.invite and scheme.schedule, not both"
        )
    if scheduler in _OLD_SCHEDULERS:
        return _OLD_SCHEDULERS[scheduler]
    if scheduler in INVITES and scheduler not in ("everyone", "anyone"):
        return scheduling(None, scheduler, None)
    legal = ["power", *(n for n in INVITES if n not in ("everyone", "anyone")), "thrifty", "all"]
    hint = suggestion(scheduler, legal)
    raise BadInput(
        f"scheme.scheduler = {quote(scheduler)}: must be one of {', '.join(legal)}{hint}"
    )

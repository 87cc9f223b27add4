"""A league file: the problem, the budgets, the seeds, who plays, and what each may try.

base = "digits"              # each contender starts from the preset BASE-SCHEME
slots = [10000, 30000]       # budgets of uplink slots; power, sky and batches are the same for all
seeds = [0, 1, 2, 3, 4]      # of the table
set = {"data.partition" = "iid"}

[tuning]
seeds = [1000, 1001]         # two or more, none of them in the table
points = 12                  # most settings that any contender may try at one budget
validation = 0.1             # share of the training samples that tuning runs are evaluated on

[contenders.TCS-H]
scheme = "tcs-h"             # or "module:factory"
set = {"scheme.bits" = 8}    # what is given
try = {"radio.power_scalar" = [0.5, 1.5]}   # what is tuned, in all combinations
"""

import itertools
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

from airfeel.catalogue import Table, Value, suggestion
from airfeel.settings.config import Experiment
from airfeel.settings.load import load
from airfeel.types import BadInput

_FILES = resources.files("airfeel.sweeps.benchmark") / "files"
_KEYS = {"base", "slots", "seeds", "set", "tuning", "contenders"}
_CONTENDER = {"scheme", "set", "try"}
_TUNING = {"seeds", "points", "validation"}
_SPLIT = "data.validation"
_FEWEST = 2  # tuning seeds: with one, settings are chosen that suit its channels and samples
_BARE = "tcs-h"  # the preset of any base that has no changes of its own
_LARGEST = 2**63
Point = Mapping[str, Value]  # settings by name


@dataclass(frozen=True)
class Contender:
    """Who plays, with what is given and what may be tried."""

    label: str
    scheme: str
    given: Point
    tried: Mapping[str, Sequence[Value]]

    @property
    def points(self) -> list[Point]:
        """All combinations of what may be tried."""
        values = itertools.product(*self.tried.values())
        return [dict(zip(self.tried, point, strict=True)) for point in values]


@dataclass(frozen=True)
class League:
    """A problem, its budgets and who plays."""

    name: str
    base: str
    slots: tuple[int, ...]
    seeds: tuple[int, ...]
    given: Point
    tuning_seeds: tuple[int, ...]
    points: int
    validation: float
    contenders: tuple[Contender, ...]

    def experiment(self, who: Contender, point: Point, slots: int, seed: int) -> Experiment:
        """One run: the preset of the scheme, what all share, what is given, what is tried."""
        known = {**self.given, **who.given, **point, "budget.slots": slots, "run.seed": seed}
        own = ":" in who.scheme
        if own:
            known["scheme.name"] = who.scheme
        changes = {key.replace(".", "__"): value for key, value in known.items()}
        return load(f"{self.base}-{_BARE if own else who.scheme}", (), **changes)

    def tuning_run(self, who: Contender, point: Point, slots: int, seed: int) -> Experiment:
        """The same, evaluated on training samples that are held out, not on the test set."""
        e = self.experiment(who, point, slots, seed)
        return e.model_copy(
            update={"data": e.data.model_copy(update={"validation": self.validation})}
        )

    def narrowed(
        self,
        labels: Sequence[str] | None = None,
        seeds: Sequence[int] | None = None,
        slots: Sequence[int] | None = None,
    ) -> "League":
        """With some contenders, seeds or budgets in place of all; None leaves what there is."""
        chosen = self.contenders
        if labels is not None:
            unknown = sorted(set(labels) - {c.label for c in chosen})
            if unknown:
                hint = suggestion(unknown[0], [c.label for c in chosen])
                legal = ", ".join(c.label for c in chosen)
                raise BadInput(f"--schemes {unknown[0]}: does not play; legal are {legal}{hint}")
            chosen = tuple(c for c in chosen if c.label in labels)
        new = replace(
            self,
            contenders=chosen,
            seeds=self.seeds if seeds is None else tuple(seeds),
            slots=self.slots if slots is None else tuple(slots),
        )
        _check(new, "--seeds")
        return new


def names() -> list[str]:
    """The leagues that come with the package."""
    return sorted(f.name.removesuffix(".toml") for f in _FILES.iterdir() if f.name[-5:] == ".toml")


def read_league(source: str) -> League:
    """The league of a name or of a TOML file; whatever is wrong with it is named in one line."""
    path = Path(source)
    if source in names():
        text = (_FILES / f"{source}.toml").read_text("utf-8")
    elif path.is_file():
        text = _text(path)
    else:
        hint = suggestion(source, names())
        raise BadInput(f"{source}: is neither a league ({', '.join(names())}) nor a file{hint}")
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{source}: is not a TOML file that can be read ({error})") from error
    return _league(source, path.stem, table)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: is not a TOML file that can be read ({error})") from error


def _league(source: str, name: str, table: Table) -> League:
    _only(source, "", table, _KEYS)
    tuning = _table(source, "tuning", table.get("tuning", {}))
    _only(source, "tuning.", tuning, _TUNING)
    contenders = _table(source, "contenders", table.get("contenders", {}))
    base = table.get("base", "digits")
    if not isinstance(base, str):
        raise BadInput(
            f"{source}: base = {base!r}: must be the name of a preset without its scheme"
        )
    league = League(
        name=name,
        base=base,
        slots=_wholes(source, "slots", table.get("slots", []), 1),
        seeds=_wholes(source, "seeds", table.get("seeds", [])),
        given=_settings(source, "set", table.get("set", {})),
        tuning_seeds=_wholes(source, "tuning.seeds", tuning.get("seeds", [])),
        points=_wholes(source, "tuning.points", [tuning.get("points", 12)], 1)[0],
        validation=_share(source, "tuning.validation", tuning.get("validation", 0.1)),
        contenders=tuple(_contender(source, label, of) for label, of in contenders.items()),
    )
    _check(league, source)
    return league


def _contender(source: str, label: str, value: Value) -> Contender:
    where = f"contenders.{label}"
    table = _table(source, where, value)
    _only(source, f"{where}.", table, _CONTENDER)
    scheme = table.get("scheme")
    if not isinstance(scheme, str):
        raise BadInput(f"{source}: {where}.scheme = {scheme!r}: must be the name of a scheme")
    tried = _settings(source, f"{where}.try", table.get("try", {}))
    lists: dict[str, list[Value]] = {}
    for key, values in tried.items():
        if not isinstance(values, list) or not values:
            raise BadInput(f"{source}: {where}.try.{key} = {values!r}: must be a list of values")
        lists[key] = values
    return Contender(label, scheme, _settings(source, f"{where}.set", table.get("set", {})), lists)


def _check(league: League, source: str) -> None:
    """What no single field can tell: equal tuning, seeds held out, settings that exist."""
    if not league.slots or not league.seeds or not league.contenders:
        raise BadInput(f"{source}: slots, seeds and contenders must name at least one each")
    both = sorted(set(league.seeds) & set(league.tuning_seeds))
    if both:
        raise BadInput(
            f"{source}: seed {both[0]} is in tuning.seeds too; tuning seeds are held out"
        )
    for who in league.contenders:
        count = len(who.points)
        if count > league.points:
            raise BadInput(
                f"{source}: contenders.{who.label}.try: {count} combinations; tuning.points allows "
                f"each contender {league.points}"
            )
        if count > 1 and len(league.tuning_seeds) < _FEWEST:
            raise BadInput(
                f"{source}: tuning.seeds = {list(league.tuning_seeds)}: must name at least "
                f"{_FEWEST} seeds to tune {who.label} on"
            )
        for point in who.points:
            if _SPLIT in {**league.given, **who.given, **point}:
                raise BadInput(
                    f"{source}: {_SPLIT}: must not be set for {who.label}; tuning.validation is "
                    "the split of the tuning runs, the table is of test samples"
                )
            league.experiment(who, point, league.slots[0], league.seeds[0])


def _only(source: str, before: str, table: Table, legal: set[str]) -> None:
    unknown = sorted(set(table) - legal)
    if unknown:
        known = ", ".join(sorted(legal))
        raise BadInput(f"{source}: {before}{unknown[0]}: is no key of a league; legal are {known}")


def _table(source: str, name: str, value: Value) -> Table:
    if not isinstance(value, dict):
        raise BadInput(f"{source}: {name} = {value!r}: must be a table")
    return value


def _settings(source: str, name: str, value: Value) -> dict[str, Value]:
    """Settings by their full names, however the file nests them."""
    return dict(_flat(_table(source, name, value)))


def _flat(table: Table, before: str = "") -> Iterable[tuple[str, Value]]:
    for key, value in table.items():
        if isinstance(value, dict) and "." not in before + key:
            yield from _flat(value, f"{before}{key}.")
        else:
            yield before + key, value


def _share(source: str, name: str, value: Value) -> float:
    if not isinstance(value, float) or not 0.0 < value < 1.0:
        raise BadInput(f"{source}: {name} = {value!r}: must be a number above 0 and below 1")
    return value


def _wholes(source: str, name: str, values: Value, least: int = 0) -> tuple[int, ...]:
    found = values if isinstance(values, list) else [None]
    whole = [v for v in found if type(v) is int and least <= v < _LARGEST]
    if len(set(whole)) < len(found):
        legal = f"a list of different whole numbers, at least {least}"
        raise BadInput(f"{source}: {name} = {values!r}: must be {legal}")
    return tuple(whole)

"""Parts by name, or a user's own by `module:factory`: one kind of catalogue for every kind of part.

A setting that names a part takes a name, `module:factory`, or a table with a `name` and the part's
own settings: `{name = "rician", factor = 3.0}`. A part's settings are the parameters of its factory
(for a dataclass, its fields), with the types and ranges stated there. Parameters that are named
like a fact of the run (`dim`, `devices`, `k_global`, …) are filled in unless the table gives them.
"""

import difflib
import importlib
import inspect
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_type_hints

from airfeel import factories
from airfeel.errors import QUOTED, BadInput, quote, shorten
from airfeel.factories import Factory

if TYPE_CHECKING:
    from pydantic import TypeAdapter  # imported where it is needed: names are listed without it

Table = dict[str, Any]  # settings as TOML has them
Value = bool | int | float | str | list[Any] | tuple[Any, ...] | Table | None  # of one of them
Choice = str | Table  # a name, or a table with a name and settings


@dataclass(frozen=True)
class Entry:
    """A line of a catalogue: where the factory lies, what it makes, and what the name fixes.

    The factory is text and is imported when it is needed: listing or mistyping a name is cheap.
    """

    where: str  # module:factory
    about: str  # one line
    fixed: Table = field(default_factory=dict)


class Catalogue(Mapping[str, Entry]):
    """The parts of one kind by name.

    kind: what they are, in the plural. key: the setting that names one, blamed for bad choices.
    makes: `module:Protocol` of what a factory must make.
    """

    def __init__(self, kind: str, key: str, entries: Mapping[str, Entry], makes: str = "") -> None:
        self.kind, self.key, self.makes = kind, key, makes
        self._entries = dict(entries)

    def __getitem__(self, name: str) -> Entry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __hash__(self) -> int:
        return hash((self.kind, self.key))

    def check(self, choice: Choice, key: str = "") -> None:
        """Refuse what names no part; a catalogued one is not imported for that."""
        name, _ = _split(choice, key or self.key)
        if name not in self and ":" not in name:
            self.find(name, key)

    def find(self, name: str, key: str = "") -> Factory:
        """The factory that a name stands for; `key` is the setting to blame if it is another."""
        key = key or self.key
        if name in self:
            return factories.imported(self[name].where, f"{key} = {quote(name)}")
        if ":" not in name[:-1]:
            legal = ", ".join(self)
            hint = suggestion(name, self) or _own_file(name)
            raise BadInput(
                f"{key} = {quote(name)}: must be one of {legal}, or module:factory{hint}"
            )
        protocol = _found(self.makes) if self.makes else None
        return factories.load(name, f"{key} = {quote(name)}", protocol)

    def settings(self, name: str) -> dict[str, inspect.Parameter]:
        """The parameters of a part's factory, those that the name fixes aside."""
        fixed = self[name].fixed if name in self else {}
        try:
            parameters = inspect.signature(self.find(name)).parameters
        except (TypeError, ValueError):  # it can be called, but does not say how
            return {}
        return {k: p for k, p in parameters.items() if k not in fixed}

    def make(self, choice: Choice, key: str = "", /, **facts: Any) -> Any:
        """The part that a setting chose, with the facts of the run that it asks for."""
        key = key or self.key
        name, options = _split(choice, key)
        factory = self.find(name, key)
        legal = self.settings(name)
        _refuse_unknown(options, legal, key, name)
        given = {k: v for k, v in facts.items() if k in legal and k not in options}
        fixed = dict(self[name].fixed) if name in self else {}
        arguments = fixed | given | _check(factory, options, key)
        missing = [
            k
            for k, p in legal.items()
            if p.default is p.empty and k not in arguments and p.kind is not p.VAR_KEYWORD
        ]
        if missing:
            raise BadInput(
                f"{key}.{missing[0]}: must be given, {quote(name)} has no default for it"
                f"{self._itself(name, missing[0])}"
            )
        try:
            part = factory(**arguments)
        except BadInput:
            raise
        except (Exception, SystemExit) as error:  # a factory too
            raise BadInput(
                f"{key} = {quote(name)}: cannot be made ({factories.why(error)})"
            ) from error
        if self.makes:
            self._check_part(part, f"{key} = {quote(name)}")
        return part

    def _check_part(self, part: Any, blame: str) -> None:
        """Refuse what has not the members of the Protocol, or cannot be called as it is."""
        wanted, protocol = self.makes.partition(":")[2], _found(self.makes)
        if not isinstance(part, protocol):
            lacks = [n for n in vars(protocol) if not n.startswith("_") and not hasattr(part, n)]
            more = f", which has no {', '.join(lacks)}" if lacks else ""
            raise BadInput(f"{blame}: must make a {wanted}, made {type(part).__name__}{more}")
        asked = factories.called_with(protocol)
        if asked and not factories.binds(part, asked):
            words = ", ".join(p.name for p in asked)
            told = f"made {type(part).__name__}, which cannot be called with ({words})"
            raise BadInput(f"{blame}: must make a {wanted}, {told}")

    def _itself(self, name: str, parameter: str) -> str:
        """Whether a part was named where its factory is wanted."""
        if not self.makes or parameter not in self._called_with():
            return ""
        return "; what is named must make the part, as a dataclass does, not be the part itself"

    def _called_with(self) -> set[str]:
        return {p.name for p in factories.called_with(_found(self.makes))}

    def field_types(self, name: str) -> Table:
        """The type of each setting of a part, ranges and help among its annotations."""
        hints = _hints(self.find(name))
        return {k: hints.get(k, Any) for k in self.settings(name)}


def _found(where: str) -> Any:
    """What is named as module:name, imported when it is needed."""
    module, _, attribute = where.partition(":")
    return getattr(importlib.import_module(module), attribute)


def name_of(choice: Choice) -> str:
    """The name in a choice."""
    return choice if isinstance(choice, str) else str(choice.get("name"))


def suggestion(word: str, legal: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or nothing."""
    close = difflib.get_close_matches(word[:QUOTED], list(legal), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _own_file(name: str) -> str:
    """What a file's name in place of a part may have meant."""
    stem = name.removesuffix(".py").removeprefix("./")
    if os.path.isfile(f"{stem}.py"):
        return f"; {stem}.py has factories, such as '{stem}:NAME'"
    return f"; did you mean 'file:{name}'?" if name.endswith(".npz") else ""


def _split(choice: Choice, key: str) -> tuple[str, Table]:
    if isinstance(choice, str):
        return choice, {}
    options = dict(choice)
    name = options.pop("name", None)
    if not isinstance(name, str):
        raise BadInput(f'{key} = {quote(choice)}: must have a name, such as {{name = "…"}}')
    return name, options


def _refuse_unknown(
    options: Table, legal: Mapping[str, inspect.Parameter], key: str, name: str
) -> None:
    if any(p.kind is p.VAR_KEYWORD for p in legal.values()):
        return
    for option in options:
        if option not in legal:
            hint = suggestion(option, legal) or f"; legal are {', '.join(legal) or 'none'}"
            raise BadInput(f"{key}.{shorten(option)}: is no setting of {quote(name)}{hint}")


def _hints(factory: Factory) -> Table:
    """Types of a factory's parameters; none where they cannot be told."""
    target = factory.__init__ if inspect.isclass(factory) else factory
    try:
        return get_type_hints(target, include_extras=True)
    except (NameError, TypeError, SyntaxError):  # shapes of jaxtyping are no names
        return {}


def _adapter(hint: Any) -> "TypeAdapter":
    """What checks a value; a dataclass has a config of its own."""
    from pydantic import ConfigDict, PydanticUserError, TypeAdapter

    try:
        return TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True))
    except PydanticUserError:
        return TypeAdapter(hint)


def _check(factory: Factory, options: Table, key: str) -> Table:
    """Options in the types that the factory states; the first that is not legal is refused."""
    from pydantic import ValidationError

    hints = _hints(factory)
    checked = {}
    for name, value in options.items():
        hint = hints.get(name, Any)
        try:
            checked[name] = _adapter(hint).validate_python(value)
        except ValidationError as error:
            message = error.errors()[0]["msg"].replace("Input should", "must", 1)
            raise BadInput(f"{key}.{name} = {quote(value)}: {message}") from None
    return checked

"""Codecs that a node may be asked to use: those of airfeel, and its own. A server names no code."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field

from airfeel.catalogues import CODECS
from airfeel.compression.memory import ErrorMemory, NoMemory
from airfeel.compression.spelling import Spelled
from airfeel.types import BadInput, Codec, Memory

Makers = Mapping[str, Callable[..., Codec]]
KEPT: Mapping[str, Memory] = {"error-feedback": ErrorMemory(), "none": NoMemory()}


@dataclass(frozen=True)
class Allowed:
    """Airfeel's codecs by their names in the catalogue, and `own` ones by names of their own.

    A codec travels as its name and those of its fields that are not at their default; the rule of
    its mask stays at the server, which sends the mask where nodes would derive another.
    """

    own: Makers = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.own:
            if name in CODECS or ":" in name:
                told = "must be no name of airfeel's own, and have no colon"
                raise BadInput(f"codecs = {name!r}: {told}")

    def write(self, codec: Codec) -> str:
        """A codec as text.

        >>> from airfeel.compression.codecs import TopK
        >>> Allowed().write(TopK(100, 5, bits=8))
        '{"name": "top-k", "dim": 100, "k": 5, "bits": 8}'
        """
        told = dict(_told(spelled(codec)))
        for name in CODECS:
            fixed = CODECS[name].fixed
            same = all(getattr(codec, k, MISSING) == v for k, v in fixed.items())
            if CODECS.find(name) is type(codec) and same:
                told = {k: v for k, v in told.items() if k not in fixed}
                return _json(codec, {"name": name, **told})
        for name, make in self.own.items():
            if make is type(codec):
                return _json(codec, {"name": name, **told})
        raise BadInput(
            f"scheme.codec = {type(codec).__name__}: nodes know only {self._legal}; name it in "
            "codecs = {…} of AirStrategy and of every AirMod"
        )

    def read(self, text: str) -> Spelled:
        """The codec that was written; nothing is imported that is not allowed here."""
        try:
            told = json.loads(text)
            name = str(told.pop("name"))
            told = {k: tuple(v) if isinstance(v, list) else v for k, v in told.items()}
            if "memory" in told:
                told["memory"] = KEPT[told["memory"]]
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise BadInput(f"codec = {text!r}: is no codec that a server can ask for") from error
        return spelled(self._make(name, told))

    def _make(self, name: str, settings: dict[str, object]) -> Codec:
        if name in CODECS:
            made: Codec = CODECS.make({"name": name, **settings}, "codec")
            return made
        if name not in self.own:
            raise BadInput(f"codec = {name!r}: this node knows only {self._legal}")
        try:
            return self.own[name](**settings)
        except (TypeError, ValueError) as error:
            raise BadInput(f"codec = {name!r}: cannot be made ({error})") from error

    @property
    def _legal(self) -> str:
        return ", ".join([*CODECS, *self.own])


def spelled(codec: Codec) -> Spelled:
    """The codec, if nodes can keep its memory and the wire can carry its words."""
    name = type(codec).__name__
    if codec.memory not in KEPT.values():
        legal = " or ".join(str(memory) for memory in KEPT.values())
        raise BadInput(f"scheme.memory = {codec.memory}: nodes keep only {legal}")
    if not isinstance(codec, Spelled):
        raise BadInput(
            f"scheme.codec = {name}: has no `spelling`; nodes send values on the mask and entries "
            "of their own, no signal"
        )
    return codec


def _told(codec: Codec) -> Iterator[tuple[str, object]]:
    """Fields that differ from their defaults."""
    if not dataclasses.is_dataclass(codec):
        raise BadInput(f"scheme.codec = {type(codec).__name__}: must be a dataclass for nodes")
    for part in dataclasses.fields(codec):
        value = getattr(codec, part.name)
        default = part.default_factory() if callable(part.default_factory) else part.default
        if part.name == "memory":
            value = next(name for name, memory in KEPT.items() if memory == value)
            default = next((name for name, memory in KEPT.items() if memory == default), None)
        if part.init and part.name != "mask" and value != default:
            yield part.name, value


def _json(codec: Codec, told: Mapping[str, object]) -> str:
    try:
        return json.dumps(told)
    except TypeError as error:
        raise BadInput(
            f"scheme.codec = {type(codec).__name__}: nodes cannot be told of it ({error})"
        ) from error

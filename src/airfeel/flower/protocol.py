"""What is said beside the values: the instruction to a node, and its answer.

| record `airfeel` | from | what |
|---|---|---|
| hello | server | who are you? |
| instruction | server | the round, its sky and budget, the codec, the model, what counted |
| answer | node | a payload; or that it stays silent, and why; or that it lacks the model |

The server numbers its askings of the nodes; a round that was discarded is asked again, by another
number. A node's memory after an asking stands if the strategy counted its answer, else the one
before stands. Neither side can know at once: the node keeps both until an instruction says which of
its answers was the last that counted. So a lost instruction, a lost reply, a round that was
discarded or a node that died and came back all end the same way, with the memory of what was really
added to the model.

Every question has a token of its own, which the answer repeats: only who was sent the question can
answer it, whatever a reply says of its sender. `read` is where types and ranges of all that the
other side says are checked, before anybody uses it.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

from flwr.app import ConfigRecord
from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from airfeel.types import BadInput, Reason

RECORD = "airfeel"  # the name of our record in a message
DELTA = "delta"  # the name of a reply's arrays that are an update already, not new weights
VERSION = 3

HELLO: Final = "hello"
SPOKE: Final = "spoke"
SILENT: Final = "silent"
BEHIND: Final = "behind"
_OWN = (Reason.NOT_FINITE.value, Reason.TOO_LOUD.value)  # reasons that a device finds itself
_SHOWN = 80  # characters of what the other side said, at most, in our words


def _known(value: float) -> float:
    """Not negative; NaN where it is not known, and infinite on a channel that is closed."""
    if value < 0.0:
        raise ValueError("must not be negative")
    return value


Count = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
Index = Annotated[int, Field(strict=True, ge=0, lt=2**31)]
Held = Annotated[int, Field(strict=True, ge=-1, lt=2**63)]  # a version; -1 for none
Energy = Annotated[float, Field(strict=True), AfterValidator(_known)]
Gain = Annotated[float, Field(strict=True, ge=0.0, allow_inf_nan=False)]
Token = Annotated[bytes, Field(strict=True, max_length=16)]
Word = Annotated[str, Field(strict=True, max_length=64)]
Text = Annotated[str, Field(strict=True, max_length=100_000)]
Octets = Annotated[bytes, Field(strict=True)]
_CLOSED = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class Hello:
    """The server's question to a node that it has not met: which device are you?"""

    __pydantic_config__: ClassVar[ConfigDict] = _CLOSED
    session: Word
    token: Token = b""


@dataclass(frozen=True)
class Instruction:
    """What a node needs to know to answer."""

    __pydantic_config__: ClassVar[ConfigDict] = _CLOSED
    session: Word  # of the strategy: what a node holds of another one is of no use
    asking: Count  # 1, 2, …
    round: Count  # t
    device: Index  # who is meant
    counted: Count  # the last answer of this device that was counted, 0 for none
    version: Count  # of the model: how many updates it has seen
    checksum: Count  # CRC-32 of its values
    model: Text  # name of the record that the train function finds it in
    codec: Text  # its name and settings, see `airfeel.flower.allowed`
    seed: Count  # of the run, for the codec's dice
    token: Token = b""  # that the answer repeats
    mask: Octets = b""  # the global mask, where it does not follow from the last update
    scalar: Gain = 0.0  # σ_t; 0 where there is no power rule to apply
    budget: Energy = float("inf")  # α_n·P̄_{t,n}·U[g] [W·slots]
    gains: tuple[Gain, ...] = ()  # |h_{t,n,m}|
    updates: tuple[Octets, ...] = ()  # the last of them leads to `version`


@dataclass(frozen=True)
class Answer:
    """What a node has to say."""

    __pydantic_config__: ClassVar[ConfigDict] = _CLOSED
    said: Literal["hello", "spoke", "silent", "behind"]
    device: Index
    asking: Count
    version: Held  # of the model that the node holds now, -1 for none
    token: Token = b""  # of the question
    reason: Word = ""  # why it is silent
    needed: Energy = float("nan")  # P[g]_{t,n} [W·slots]
    payload: Octets = b""
    note: Text = ""  # what the server should know, such as a memory that was lost


@dataclass(frozen=True)
class Asked:
    """What an answer must repeat."""

    device: int
    asking: int
    token: bytes


def write(noun: Hello | Instruction | Answer) -> ConfigRecord:
    """A record of it; what is empty is left out, since Flower cannot count the bytes of nothing."""
    found: dict[str, Any] = {"protocol": VERSION}
    for field in dataclasses.fields(noun):
        value = getattr(noun, field.name)
        if not (isinstance(value, str | bytes | tuple) and len(value) == 0):
            found[field.name] = list(value) if isinstance(value, tuple) else value
    return ConfigRecord(found)


def read(record: ConfigRecord) -> Hello | Instruction | Answer:
    """What was written; another version, a field too few or too many, or a wrong value is refused.

    Types are strict: a bool is no number, a number no text. Numbers are finite where they must be.
    """
    version = record.get("protocol")
    if type(version) is not int or version != VERSION:
        raise BadInput(f"protocol = {_short(version)}: must be {VERSION} on both sides")
    found: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in record.items()}
    del found["protocol"]
    if "said" in found:
        return _fits(_checked(Answer, found))
    return _checked(Instruction, found) if "asking" in found else _checked(Hello, found)


_Noun = TypeVar("_Noun", Hello, Instruction, Answer)


def _checked(kind: type[_Noun], found: dict[str, Any]) -> _Noun:
    try:
        return _ADAPTERS[kind].validate_python(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"])[:_SHOWN]
        told = f"{field} = {_short(first['input'])}: {first['msg']}"
        raise BadInput(f"record {RECORD!r} is no {kind.__name__.lower()}: {told}") from error


_ADAPTERS: dict[type, TypeAdapter[Any]] = {
    kind: TypeAdapter(kind) for kind in (Hello, Instruction, Answer)
}


def _fits(answer: Answer) -> Answer:
    """What an answer holds goes with what it says."""
    if (answer.said == SPOKE) != bool(answer.payload):
        raise BadInput(f"payload: {len(answer.payload)} octets in an answer {answer.said!r}")
    if (answer.said == SILENT) != bool(answer.reason):
        raise BadInput(f"reason = {answer.reason!r}: in an answer {answer.said!r}")
    if answer.reason and answer.reason not in _OWN:
        raise BadInput(f"reason = {answer.reason!r}: a device may say {' or '.join(_OWN)}")
    if answer.said == SPOKE and math.isinf(answer.needed):
        raise BadInput("needed = inf: must be finite of a device that speaks")
    return answer


def _short(value: object) -> str:
    """At most so many characters, on one line, of what a stranger has sent."""
    text = repr(value[:_SHOWN] if isinstance(value, str | bytes | tuple) else value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"

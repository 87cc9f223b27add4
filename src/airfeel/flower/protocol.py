"""What is said beside the values: the instruction to a node, and its answer.

| record `airfeel` | from | what |
|---|---|---|
| hello | server | who are you? |
| instruction | server | the round, its sky and power, how to compress, the model, what counted |
| answer | node | a payload; or that it stays silent, and why; or that it lacks the model |

A node's memory after a turn stands if the strategy counted that turn, else the one before stands.
Neither side can know at once: the node keeps both until an instruction says which turn of this node
was the last that counted. So a lost instruction, a lost reply, a round that was discarded or a node
that died and came back all end the same way, with the memory of what was really added to the model.
"""

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

from flwr.app import ConfigRecord

from airfeel.compress.parts import TimeCorrelated, TopK, Whole
from airfeel.types import BadInput, Compress

RECORD = "airfeel"  # the name of our record in a message
DELTA = "delta"  # the name of a reply's arrays that are an update already, not new weights
VERSION = 1

HELLO, SPOKE, SILENT, BEHIND = "hello", "spoke", "silent", "behind"
_PARTS: dict[str, Any] = {"time-correlated": TimeCorrelated, "top-k": TopK, "whole": Whole}


@dataclass(frozen=True)
class Hello:
    """The server's question to a node that it has not met: which device are you?"""

    session: str


@dataclass(frozen=True)
class Instruction:
    """What a node needs to know for one turn.

    A turn is one asking of the nodes; a round that was discarded is asked again in another turn.
    """

    session: str  # of the strategy: what a node holds of another one is of no use
    turn: int  # 1, 2, …
    round: int  # t
    device: int  # who is meant
    counted: int  # the last turn of this device that was counted, 0 for none
    version: int  # of the model: how many updates it has seen
    checksum: int  # CRC-32 of its values
    model: str  # name of the record that the train function finds it in
    compress: str  # a part of `airfeel.compress`, see `write_part`
    seed: int  # of the run, for the quantiser's dice
    power: float = 0.0  # P̄_{t,n} [W]
    alpha: float = 1.0  # α_n; infinite where everybody speaks
    scalar: float = 0.0  # σ_t; 0 where nothing is analog
    gains: tuple[float, ...] = ()  # |h_{t,n,m}|
    updates: tuple[bytes, ...] = ()  # the last of them leads to `version`


@dataclass(frozen=True)
class Answer:
    """What a node has to say in a turn."""

    said: str  # hello, spoke, silent or behind
    device: int
    turn: int
    version: int  # of the model that the node holds now, -1 for none
    reason: str = ""  # why it is silent
    needed: float = float("nan")  # P[g]_{t,n} [W·slots]
    payload: bytes = b""


def write(noun: Hello | Instruction | Answer) -> ConfigRecord:
    """A record of it; what is empty is left out, since Flower cannot count the bytes of nothing."""
    found: dict[str, Any] = {"protocol": VERSION}
    for field in dataclasses.fields(noun):
        value = getattr(noun, field.name)
        if not (isinstance(value, str | bytes | tuple) and len(value) == 0):
            found[field.name] = list(value) if isinstance(value, tuple) else value
    return ConfigRecord(found)


def read(record: ConfigRecord) -> Hello | Instruction | Answer:
    """What was written; a record of another version, or with a field missing, is refused."""
    if record.get("protocol") != VERSION:
        raise BadInput(f"protocol = {record.get('protocol')!r}: must be {VERSION} on both sides")
    found: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in record.items()}
    del found["protocol"]
    kind = Answer if "said" in found else Instruction if "turn" in found else Hello
    try:
        return kind(**found)
    except TypeError as error:
        raise BadInput(f"record {RECORD!r}: is no {kind.__name__.lower()} ({error})") from error


def write_part(compress: Compress) -> str:
    """A part of `airfeel.compress` as text.

    >>> write_part(TopK(100, 5, 8))
    '{"part": "top-k", "dim": 100, "k": 5, "bits_per_value": 8, "strict": false}'
    """
    for name, kind in _PARTS.items():
        if type(compress) is kind:
            return json.dumps({"part": name, **vars(compress)})
    legal = ", ".join(kind.__name__ for kind in _PARTS.values())
    raise BadInput(f"scheme.compress = {type(compress).__name__}: nodes know only {legal}")


def read_part(text: str) -> Compress:
    """The part that was written; only those of airfeel, a server cannot name any other code."""
    try:
        fields = json.loads(text)
        part: Compress = _PARTS[fields.pop("part")](**fields)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadInput(f"compress = {text!r}: is no part of airfeel.compress") from error
    return part

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
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

from flwr.app import ConfigRecord

from airfeel.types import BadInput

RECORD = "airfeel"  # the name of our record in a message
DELTA = "delta"  # the name of a reply's arrays that are an update already, not new weights
VERSION = 2

HELLO, SPOKE, SILENT, BEHIND = "hello", "spoke", "silent", "behind"


@dataclass(frozen=True)
class Hello:
    """The server's question to a node that it has not met: which device are you?"""

    session: str


@dataclass(frozen=True)
class Instruction:
    """What a node needs to know to answer."""

    session: str  # of the strategy: what a node holds of another one is of no use
    asking: int  # 1, 2, …
    round: int  # t
    device: int  # who is meant
    counted: int  # the last answer of this device that was counted, 0 for none
    version: int  # of the model: how many updates it has seen
    checksum: int  # CRC-32 of its values
    model: str  # name of the record that the train function finds it in
    codec: str  # its name and settings, see `airfeel.flower.allowed`
    seed: int  # of the run, for the codec's dice
    mask: bytes = b""  # the global mask, where it does not follow from the last update
    scalar: float = 0.0  # σ_t; 0 where there is no power rule to apply
    budget: float = float("inf")  # α_n·P̄_{t,n}·U[g] [W·slots]
    gains: tuple[float, ...] = ()  # |h_{t,n,m}|
    updates: tuple[bytes, ...] = ()  # the last of them leads to `version`


@dataclass(frozen=True)
class Answer:
    """What a node has to say."""

    said: str  # hello, spoke, silent or behind
    device: int
    asking: int
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
    kind = Answer if "said" in found else Instruction if "asking" in found else Hello
    try:
        return kind(**found)
    except TypeError as error:
        raise BadInput(f"record {RECORD!r}: is no {kind.__name__.lower()} ({error})") from error

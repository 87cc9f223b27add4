"""Replies of a node that means harm, and what must come of each of them: nothing.

`hostile_reply(rng)` makes one, `Siege.check(reply)` plays a round with it; `make fuzz` and
`test_hostile_replies.py` do so for as long as they like. The round has been asked, the five honest
devices have answered, and the sixth sends what it likes in place of its own answer. The round's
state must be, byte for byte, that of the round in which this device was lost on the way.
"""

import copy
import dataclasses
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from federation import Town, client_app, copied, initial, step, strategy
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict

from airfeel.build.setup import Setup
from airfeel.flower import AirMod
from airfeel.wire import Message as Words
from airfeel.wire import WireError, decode, encode, from_quantised, from_raw

ATTACKER = 2
_FIELDS = ("protocol", "said", "device", "asking", "version", "reason", "needed", "payload")
_METRICS = ("num-examples", "train-loss", "other")
_NUMBERS = (0, -1, 1, 2**31, 2**62, -(2**63), 2**63 - 1, 0.0, -1.5, 1e30, 1e308, -1e308)
_NOT_FINITE = (float("nan"), float("inf"), -float("inf"))
_ODD = (True, False, "", "spoke", "\x00", "é" * 400, b"", b"\xff" * 9, "2", "-1", "1e9")
_LISTS = ([], [True], [1, 2], [1.5, float("nan")], ["x"], [b"x"], [2**62] * 50)


@dataclass(frozen=True)
class Hostile:
    """What the attacker does to its honest reply; `past` are its replies to earlier rounds."""

    name: str
    change: Callable[[Message, list[Message]], list[Message]]
    honest_words: bool = False  # the payload is its own: it may be counted as well as lost


def hostile_reply(rng: np.random.Generator) -> Hostile:
    """One of many kinds, at random."""
    kinds = (_field, _field, _several, _payload, _words, _metrics, _records, _replay, _twice)
    return kinds[rng.integers(len(kinds))](rng)


def _value(rng: np.random.Generator) -> object:
    group = (_NUMBERS, _NOT_FINITE, _ODD, _LISTS)[rng.integers(4)]
    return group[rng.integers(len(group))]


def _field(rng: np.random.Generator) -> Hostile:
    """One field has another type or value, or is missing, or is one too many."""
    name = (*_FIELDS, "token", "more")[rng.integers(len(_FIELDS) + 2)]
    value, gone = _value(rng), rng.random() < 0.15
    told = "gone" if gone else repr(value)[:40]
    return _record(f"{name} = {told}", {name: None if gone else value})


def _several(rng: np.random.Generator) -> Hostile:
    names = rng.choice(_FIELDS, 3, replace=False)
    changes = {str(name): _value(rng) for name in names}
    return _record(f"{changes!r}"[:80], changes)


def _record(name: str, changes: dict[str, object]) -> Hostile:
    def change(reply: Message, past: list[Message]) -> list[Message]:
        record = reply.content["airfeel"]
        for key, value in changes.items():
            record.pop(key, None)
            if value is not None:
                record[key] = value
        return [reply]

    # What it says beside its payload may be a lie that harms nobody.
    return Hostile(name, change, honest_words="payload" not in changes)


def _payload(rng: np.random.Generator) -> Hostile:
    """Octets that are cut, longer, flipped, or with a header of one's own and the right sum."""
    how, seed = rng.integers(5), int(rng.integers(2**31))

    def change(reply: Message, past: list[Message]) -> list[Message]:
        dice = np.random.default_rng(seed)
        data = bytearray(reply.content["airfeel"]["payload"])
        if how == 0:
            data = data[: dice.integers(len(data))] or bytearray(b"x")
        elif how == 1:
            data += dice.bytes(dice.integers(1, 200))
        elif how == 2:
            data[dice.integers(len(data))] ^= 1 << int(dice.integers(8))
        elif how == 3:
            data = bytearray(dice.bytes(dice.integers(1, 400)))
        else:
            at = dice.choice([*range(16), *range(24, 38)])  # a norm is as good as another
            data[at] = (data[at] + dice.integers(1, 256)) % 256
            data[-4:] = struct.pack(">I", zlib.crc32(data[:-4]))
        reply.content["airfeel"]["payload"] = bytes(data)
        return [reply]

    return Hostile(f"payload {('cut', 'longer', 'flipped', 'random', 'forged')[how]}", change)


def _words(rng: np.random.Generator) -> Hostile:
    """A payload that is well written, with words that are too many, too few or too loud."""
    how = rng.integers(6)
    loud = float(10.0 ** rng.integers(25, 38))
    far = float(10.0 ** rng.integers(8, 18))

    def change(reply: Message, past: list[Message]) -> list[Message]:
        record = reply.content["airfeel"]
        dim = struct.unpack_from(">I", record["payload"], 4)[0]
        old = decode(record["payload"], dim=dim)
        kind = np.float32 if old.common.bits in (32,) else np.float64
        one = np.ones(len(old.common), kind)
        if how == 0 and len(one):
            new = dataclasses.replace(old, common=from_raw(one * loud))
        elif how == 1 and len(one):
            new = dataclasses.replace(old, common=from_raw(one[:-1]))
        elif how == 1:
            new = Words(dim, old.index[:0], from_raw(one[:0]), old.common)
        elif how == 2:
            new = Words(dim + 1, old.index, old.local, old.common)
        elif how in (0, 3):
            raw = np.full(len(old.local), loud, np.float32)
            new = dataclasses.replace(old, local=from_raw(raw))
        elif how == 4:
            s = np.full(len(old.local), 1e38 * 3, np.float64)
            new = dataclasses.replace(old, local=from_quantised(s.astype(kind), 1e300, 6))
        else:
            raw = np.full(len(old.local), far, np.float32)
            new = dataclasses.replace(old, local=from_raw(raw))
        record["payload"] = encode(new)
        return [reply]

    told = ("common", "too few", "dimension", "local", "norm", "far")[how]
    return Hostile(f"words {told} {loud if how < 5 else far:g}", _or_lost(change))


def _or_lost(change: Callable) -> Callable:
    """Words that not even the attacker can write are left unsaid."""

    def careful(reply: Message, past: list[Message]) -> list[Message]:
        try:
            return change(reply, past)
        except WireError:
            return []

    return careful


def _metrics(rng: np.random.Generator) -> Hostile:
    name = _METRICS[rng.integers(3)]
    values = (*_NUMBERS, *_NOT_FINITE, [], [1.0, 2.0], [float("nan")] * 3, [1] * 1000)
    value = values[rng.integers(len(values))]

    def change(reply: Message, past: list[Message]) -> list[Message]:
        reply.content["metrics"][name] = value
        return [reply]

    return Hostile(f"metric {name} = {value!r}"[:60], change, honest_words=True)


def _records(rng: np.random.Generator) -> Hostile:
    """Records of another kind, none, an error, or arrays beside the answer."""
    how = rng.integers(7)

    def change(reply: Message, past: list[Message]) -> list[Message]:
        content = reply.content
        if how == 0:
            reply.content = RecordDict()
        elif how == 1:
            content["airfeel"] = MetricRecord({"said": 1})
        elif how == 2:
            content["airfeel"] = ArrayRecord({"said": Array(np.zeros(3))})
        elif how == 3:
            return [Message(Error(0, "no \n reason " * 50), reply_to=reply)]
        elif how == 4:
            wrong = np.array([np.nan] * 7, dtype=np.float16)
            content["airfeel"]["said"] = "silent"
            content["arrays"] = ArrayRecord({"x": Array(wrong)})
        elif how == 5:
            content["airfeel"] = ConfigRecord({"protocol": 3, "session": "x"})
        else:
            content["airfeel"] = ConfigRecord({})
        return [reply]

    return Hostile(f"records {how}", change)


def _replay(rng: np.random.Generator) -> Hostile:
    """An answer to an earlier asking, as it was or renumbered."""
    renumbered, pick = rng.random() < 0.5, rng.random()

    def change(reply: Message, past: list[Message]) -> list[Message]:
        old = past[int(pick * len(past))]
        record = copied(old.content)["airfeel"]
        if renumbered:
            record["asking"] = reply.content["airfeel"]["asking"]
        reply.content["airfeel"] = record
        return [reply]

    return Hostile(f"replay {'renumbered' if renumbered else 'as it was'}", change)


def _twice(rng: np.random.Generator) -> Hostile:
    """Another's name: an answer for each device, or an answer under a node that is not there."""
    device, foreign = int(rng.integers(-1, 9)), bool(rng.random() < 0.5)

    def change(reply: Message, past: list[Message]) -> list[Message]:
        if foreign:
            reply.metadata.__dict__["_src_node_id"] = 1000 + (device if device != ATTACKER else 7)
        else:
            reply.content["airfeel"]["device"] = device if device != ATTACKER else 7
        return [reply]

    return Hostile(f"as {'node of ' if foreign else ''}device {device}", change)


class Siege:
    """A federation of six in the middle of its training, to be attacked again and again."""

    def __init__(self, setup: Setup, **options: object) -> None:
        town = Town(client_app(setup, AirMod(keep_file=False)), setup.world.devices)
        self.past: list[Message] = []
        ask = town._ask

        def noted(message: Message) -> Message | None:
            reply = ask(message)
            if message.metadata.dst_node_id == 1000 + ATTACKER and reply is not None:
                self.past.append(self._copy(reply))
            return reply

        town._ask = noted
        self.air, arrays = strategy(setup, **options), initial(setup)
        for number in (1, 2, 3):
            arrays = step(self.air, town, number, arrays)
        messages = self.air.configure_train(4, arrays, ConfigRecord(), town)
        replies = list(town.send_and_receive(messages))
        self.past.pop()
        self.others = [r for r in replies if r.metadata.src_node_id != 1000 + ATTACKER]
        (self.own,) = (r for r in replies if r.metadata.src_node_id == 1000 + ATTACKER)
        self.lost, self.honest = self.play([]), self.play([self._copy(self.own)])
        assert self.lost[0] != self.honest[0], "the attacker's own words must matter"

    @staticmethod
    def _shallow(reply: Message) -> Message:
        other = copy.copy(reply)
        other.__dict__ = dict(reply.__dict__)
        return other

    @classmethod
    def _copy(cls, reply: Message) -> Message:
        other = cls._shallow(reply)
        other.__dict__ = copy.deepcopy(reply.__dict__)
        return other

    def play(self, more: list[Message]) -> tuple[bytes, ...]:
        """What the round makes of the honest replies and these, in the order of a busy network."""
        air = copy.copy(self.air)
        air.fleet, air.books = copy.deepcopy(self.air.fleet), copy.deepcopy(self.air.books)
        air._model = copy.copy(self.air._model)
        air._model.log = dict(self.air._model.log)
        replies = [self._shallow(r) for r in self.others]  # one of them gets another content
        arrays, _ = air.aggregate_train(4, [*more, *replies])
        assert air.over is None
        assert arrays is not None
        state = air.state
        tensors = (state.theta, state.update, state.support, torch.from_numpy(state.spent))
        rows = [str(row) for row in air.books.devices[-6:] if row["device"] != ATTACKER]
        counted = {n: k for n, k in air.fleet.counted.items() if n != ATTACKER}
        words = (str(state.slots), str(counted), *rows)
        return (*(t.numpy().tobytes() for t in tensors), *(w.encode() for w in words))

    def check(self, hostile: Hostile) -> None:
        """The round goes on, and the honest devices' results are as if the attacker were lost."""
        sent = hostile.change(self._copy(self.own), self.past)
        found = self.play(sent)
        legal = [self.lost, self.honest] if hostile.honest_words else [self.lost]
        assert found in legal, f"{hostile.name}: changed what the honest devices get"

"""What a node with a key of its own can send in place of its answer."""

import os
import pickle
import struct
import zlib
from pathlib import Path

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from flwr.supercore.inflatable.inflatable_object import add_header_to_object_body

from airfeel.wire import Message, decode, encode, from_raw


def bool_for_int(content):
    content["airfeel"]["asking"] = True


def not_finite(content):
    """A payload with a NaN and the right sum."""
    data = bytearray(content["airfeel"]["payload"])
    data[-8:-4] = struct.pack(">f", float("nan"))
    data[-4:] = struct.pack(">I", zlib.crc32(data[:-4]))
    content["airfeel"]["payload"] = bytes(data)


def huge(content):
    """1e30 in every entry, well written."""
    data = content["airfeel"]["payload"]
    dim = struct.unpack_from(">I", data, 4)[0]
    old = decode(data, dim=dim)
    large = lambda part: from_raw(np.full(len(part), 1e30, np.float32))
    content["airfeel"]["payload"] = encode(
        Message(dim, old.index, large(old.local), large(old.common))
    )


def replay(content):
    """Its first answer again, renumbered."""
    file = Path(os.environ["AIRFEEL_ATTACKS_FOLDER"]) / "first"
    record = ConfigRecord(pickle.loads(file.read_bytes()))
    record["asking"] = content["airfeel"]["asking"]
    content["airfeel"] = record


def other_device(content):
    content["airfeel"]["device"] = 0


def negative_weight(content):
    content["metrics"]["num-examples"] = -1


def endless_metric(content):
    content["metrics"]["num-examples"] = float("nan")


def cut(content):
    content["airfeel"]["payload"] = content["airfeel"]["payload"][:-5]


def whole_model(content):
    """Weights in place of an answer, as if there were no strategy around the other."""
    content["arrays"] = ArrayRecord({"x": Array(np.full(10, np.nan))})
    del content["airfeel"]


def nothing(content):
    for name in list(content):
        del content[name]


def other_type(content):
    content["airfeel"]["payload"] = "spoke"


def error(content):
    raise RuntimeError("attack\n" * 100)


def unreadable(content):
    """A record that not even Flower can unpack: its head is right, its body is noise."""

    class Noise(ConfigRecord):
        def deflate(self):
            return add_header_to_object_body(b"\xff" * 40, self)

    Noise.__name__ = Noise.__qualname__ = "ConfigRecord"
    content["airfeel"] = Noise(dict(content["airfeel"]))


ATTACKS = (bool_for_int, not_finite, huge, replay, other_device, negative_weight, endless_metric)
ATTACKS += (cut, whole_model, nothing, other_type, error, unreadable)
NAMES = [attack.__name__ for attack in ATTACKS]


def turn(module):
    """Put an attack in place of each honest reply after the first."""
    names = os.environ["AIRFEEL_ATTACKS"].split(",")
    honest = module._reply

    def dishonest(message, answer, content=None):
        reply = honest(message, answer, content)
        if answer.said == "hello":
            return reply
        when = int(message.content["airfeel"]["round"])
        if when == 0:
            first = Path(os.environ["AIRFEEL_ATTACKS_FOLDER"]) / "first"
            first.write_bytes(pickle.dumps(dict(reply.content["airfeel"])))
            return reply
        changed = RecordDict(dict(reply.content))
        globals()[names[(when - 1) % len(names)]](changed)
        reply.content = changed
        return reply

    module._reply = dishonest

"""Engines of some devices each are together what one of all devices is."""

import dataclasses

import numpy as np
import pytest
import torch

from airfeel.build.setup import build
from airfeel.engines.threads import Threads
from airfeel.round import start
from airfeel.types import Delivery, Invited, Turn
from small import small


def test_parts_make_the_whole():
    setup = build(small("tcs-d"))
    scheme, world, streams = setup.scheme, setup.world, setup.streams
    engines = [Threads(world, 1, devices=d) for d in (None, range(2), range(2, 6))]
    whole, *parts = engines
    state = start(scheme, world, streams, whole)
    for t, (invited, active) in enumerate([("110111", "010101"), ("001100", "001000")]):
        invited, active = (np.array(list(mask)) == "1" for mask in (invited, active))
        turn = Turn(world, dataclasses.replace(state, round=t), streams)
        agreed = scheme.codec.agree(turn)
        all_said, *said = (
            e.prepare(turn, scheme.learn, scheme.codec, agreed, Invited(invited)) for e in engines
        )
        for name in ("devices", "loss", "energy", "bits", "common", "index", "value"):
            rows = [np.asarray(getattr(s, name)) for s in said if len(s.devices)]
            np.testing.assert_array_equal(np.concatenate(rows), np.asarray(getattr(all_said, name)))
        total = torch.zeros_like(state.theta)
        for part in parts:
            total = part.add_up(total, active)
        assert torch.equal(total / active.sum(), whole.ideal(active))
        for engine in engines:
            engine.commit(Delivery(active))
        memory = whole.buffers()["memory"]
        assert torch.equal(torch.cat([p.buffers()["memory"] for p in parts]), memory)
        assert memory.abs().sum() > 0
    for engine in engines:
        engine.close()


@pytest.mark.parametrize("kind", ["ram", "file", "bfloat16"])
@pytest.mark.parametrize("active", ["111111", "110111", "010000", "000000"])
def test_scheduled_devices_remember_what_they_did_not_say_and_others_what_they_did(kind, active):
    setup = build(small())
    scheme, codec, streams = setup.scheme, setup.scheme.codec, setup.streams
    engine = Threads(setup.world, 2, kind)
    state = start(scheme, setup.world, streams, engine)
    everyone, some = np.ones(6, dtype=bool), np.array(list(active)) == "1"
    for t, who in enumerate([everyone, some, some]):
        turn = Turn(setup.world, dataclasses.replace(state, round=t), streams)
        said = engine.prepare(turn, scheme.learn, codec, codec.agree(turn), Invited(everyone))
        expected, x = engine.buffers()["memory"].clone(), engine._x.clone()
        for i in np.flatnonzero(who):
            rest = x[i].index_add(0, said.agreed.support, said.common[i], alpha=-1)
            expected[i] = rest.index_add(0, said.index[i], said.value[i], alpha=-1)
        engine.commit(Delivery(who))
        assert torch.equal(engine.buffers()["memory"], expected)
    engine.close()

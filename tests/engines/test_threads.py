"""Engines of some devices each are together what one of all devices is."""

import dataclasses

import numpy as np
import pytest
import torch

from airfeel.engines.threads import Threads
from airfeel.experiment.build import build
from airfeel.round import start
from small import small


def test_parts_make_the_whole():
    setup = build(small("tcs-d"))
    scheme, world, streams = setup.scheme, setup.world, setup.streams
    engines = [Threads(world, 1, devices=d) for d in (None, range(2), range(2, 6))]
    whole, *parts = engines
    state = start(scheme.learn, world, streams, whole)
    for t, (invited, active) in enumerate([("110111", "010101"), ("001100", "001000")]):
        invited, active = (np.array(list(mask)) == "1" for mask in (invited, active))
        now = dataclasses.replace(state, round=t)
        all_said, *said = (
            e.prepare(scheme.learn, scheme.compress, now, invited, streams) for e in engines
        )
        for name in ("devices", "loss", "energy", "common", "index", "value"):
            rows = [np.asarray(getattr(s, name)) for s in said if len(s.devices)]
            np.testing.assert_array_equal(np.concatenate(rows), np.asarray(getattr(all_said, name)))
        total = torch.zeros_like(state.theta)
        for part in parts:
            total = part.add_up(total, active)
        assert torch.equal(total / active.sum(), whole.ideal(active))
        for engine in engines:
            engine.commit(active)
        assert torch.equal(torch.cat([p.memory for p in parts]), whole.memory)
        assert whole.memory.abs().sum() > 0
    for engine in engines:
        engine.close()


@pytest.mark.parametrize("kind", ["ram", "file", "bfloat16"])
@pytest.mark.parametrize("active", ["111111", "110111", "010000", "000000"])
def test_scheduled_devices_remember_what_they_did_not_say_and_others_what_they_did(kind, active):
    setup = build(small())
    learn, compress, streams = setup.scheme.learn, setup.scheme.compress, setup.streams
    engine = Threads(setup.world, 2, kind)
    state = start(learn, setup.world, streams, engine)
    everyone, some = np.ones(6, dtype=bool), np.array(list(active)) == "1"
    for t, who in enumerate([everyone, some, some]):
        said = engine.prepare(
            learn, compress, dataclasses.replace(state, round=t), everyone, streams
        )
        expected, x = engine.memory.clone(), engine._x.clone()
        for i in np.flatnonzero(who):
            rest = x[i].index_add(0, said.support, said.common[i], alpha=-1)
            expected[i] = rest.index_add(0, said.index[i], said.value[i], alpha=-1)
        engine.commit(who)
        assert torch.equal(engine.memory, expected)
    engine.close()

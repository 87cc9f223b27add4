"""Laws that hold for parts of strangers, too."""

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pytest
import torch

import airfeel
from airfeel.build.setup import build
from airfeel.parts import Codec, by_value
from renaming import assert_renamed, renamed
from small import play, small


@dataclass(frozen=True)
class Watched:
    """A codec under watch: the x that devices had, and all values of each round."""

    codec: Codec
    x: dict = field(default_factory=dict)
    rounds: list = field(default_factory=list)

    memory = property(lambda self: self.codec.memory)
    dice = property(lambda self: self.codec.dice)
    columns = property(lambda self: self.codec.columns)
    agree = property(lambda self: self.codec.agree)
    decode = property(lambda self: self.codec.decode)

    def __getattr__(self, name):  # what a codec may have besides
        return getattr(self.codec, name)

    def encode(self, x, agreed, devices, dice, grant=None):
        self.x.update(zip(devices.tolist(), x.clone(), strict=True))
        return self.codec.encode(x, agreed, devices, dice, grant)

    def begin(self, turn):
        return {}

    def advance(self, turn, happened):
        self.rounds.append((dict(self.x), happened))
        return {}


def watched(e, rounds=8):
    """(x by device, Happened, memory before, memory after) of each round."""
    setup = build(e)
    codec = Watched(setup.scheme.codec)
    played = play(replace(setup, scheme=replace(setup.scheme, codec=codec)), rounds)
    memories = [torch.zeros_like(played[0][3]), *(memory for *_, memory in played)]
    return [
        (x, happened, before, after)
        for (x, happened), (before, after) in zip(codec.rounds, pairwise(memories), strict=True)
    ]


def sent(happened, row, dim):
    """What arrived of one device's words, as a vector: the plain reading of Delivery."""
    said, delivery = happened.said, happened.delivery
    out = torch.zeros(dim, dtype=torch.float64)
    share = torch.ones(said.common.shape[1], dtype=torch.float64)
    if delivery.share is not None:
        share = torch.from_numpy(by_value(delivery.share[row], len(share)))
    out[said.agreed.support] = share * said.common[row]
    if delivery.arrived is None or delivery.arrived[row]:
        out[said.index[row]] = said.value[row]
    return out


LOSSY = {
    "silent on weak sub-channels": small(
        scheme={"plan": {"name": "truncation:Truncated", "weakest": 0.8}}, radio={"power": 1.0}
    ),
    "lost packets": small(
        scheme={"fade": {"name": "own_parts:Estimated", "error": 0.5}}, radio={"power": 1.0}
    ),
    "lost digital packets": small(
        "tcs-d", scheme={"fade": {"name": "own_parts:Estimated", "error": 0.5}}
    ),
}


@pytest.mark.parametrize("name", LOSSY)
def test_the_memory_keeps_exactly_what_did_not_arrive(name):
    partly = 0
    for x, happened, before, after in watched(LOSSY[name]):
        said, spoke = happened.said, happened.delivery.spoke
        for n in np.flatnonzero(~spoke):
            assert torch.equal(after[n], before[n])
        for row, n in enumerate(said.devices.tolist()):
            if spoke[n]:
                gone = sent(happened, row, after.shape[1])
                assert torch.equal(after[n], x[n] - gone)
                untouched = gone == 0
                assert torch.equal(after[n][untouched], x[n][untouched])
                share, arrived = happened.delivery.share, happened.delivery.arrived
                partly += arrived is not None and not arrived[row]
                partly += share is not None and bool((share[row] == 0).any())
    assert partly > 3


def test_a_square_projection_without_noise_is_the_mean():
    free = {"noise": 1e-30, "power": 1e9}
    own = {"codec": {"name": "projection:Projection", "ratio": 1.0}}
    projected = play(build(small(scheme=own, radio=free)), 6)
    mean = play(build(small("fedavg")), 6)
    for (_, x, report, memory), (_, y, *_) in zip(projected, mean, strict=True):
        assert report.plan.active.all()
        torch.testing.assert_close(x.theta, y.theta, rtol=1e-9, atol=1e-11)
        assert memory.abs().max() < 1e-12


def test_a_projection_keeps_what_it_cannot_say():
    """x = Aᵀ A x + memory, and A of the memory is 0."""
    own = {"codec": {"name": "projection:Projection", "ratio": 0.4}}
    for x, happened, _, after in watched(small(scheme=own, radio={"power": 1.0})):
        agreed, said = happened.said.agreed, happened.said
        for row, n in enumerate(said.devices.tolist()):
            if happened.delivery.spoke[n]:
                back = agreed.product(said.signal[row][None], True)[0]
                torch.testing.assert_close(after[n] + back, x[n], rtol=1e-12, atol=1e-14)
                assert agreed.product(after[n][None]).abs().max() < 1e-12


def test_slots_of_a_meter_exhaust_the_budget():
    budget, meters = {"slots": 400}, {"meters": ["downlink:Broadcast"]}
    plain = airfeel.run(small(budget=budget, training={"rounds": 500}))
    run = airfeel.run(small(budget=budget, radio=meters, training={"rounds": 500}))
    columns = run.columns
    down, slots = columns["slots_downlink"][1:], columns["slots"][1:]
    assert (down > 0).all()
    np.testing.assert_array_equal(
        slots, columns["slots_air"][1:] + columns["slots_digital"][1:] + down
    )
    assert columns["resource_blocks"][-1] == 8 * slots.sum()
    assert slots.sum() <= 400
    assert run.summary["reason"] == plain.summary["reason"] == "budget"
    assert len(slots) < len(plain.columns["slots"]) - 1


def test_energy_of_a_meter_is_spent():
    meters = {"meters": [{"name": "own_parts:Compute", "sample_energy": 1e-3}]}
    (_, with_it, report, _), *_ = play(build(small("tcs-d", radio=meters)), 1)
    (_, without, *_), *_ = play(build(small("tcs-d")), 1)
    trained = report.plan.active
    expected = np.where(trained, 3 * 8 * 1e-3, 0.0)
    np.testing.assert_allclose(with_it.spent - without.spent, expected, rtol=1e-9)
    assert report.columns["compute_energy"] == pytest.approx(expected.sum())


def test_devices_weigh_by_their_samples():
    uneven = {"partition": "dirichlet", "alpha": 0.3}
    e = small("fedavg", scheme={"codec": "own_parts:BySize"}, data=uneven)
    size = [len(shard) for shard in build(e).world.shards]
    assert len(set(size)) > 2
    for x, happened, *_ in watched(e, 3):
        mean = sum(w * x[n] for n, w in enumerate(size)) / sum(size)
        torch.testing.assert_close(happened.decoded.update, mean, rtol=1e-10, atol=1e-12)


def test_votes_leave_nothing_behind_and_move_every_entry_alike():
    for before, after, report, memory in play(build(small(scheme={"codec": "own_parts:Votes"})), 4):
        assert memory.shape[1] == 0
        if report.plan.active.any():
            moved = (after.theta - before.theta).abs()
            torch.testing.assert_close(moved, torch.full_like(moved, 0.01), rtol=1e-9, atol=1e-9)
            assert 0.0 <= report.columns["unanimous"] <= 1.0


OWN = {
    "projection": {"scheme": {"codec": "projection:Projection"}},
    "age": {"scheme": {"mask": "age:ByAge"}},
    "markov": {"radio": {"fading": "markov:GaussMarkov"}},
    "energy queue": {"scheme": {"invite": "energy_queue:Thrifty"}},
    "truncation": {"scheme": {"plan": "truncation:Truncated"}},
    "momentum": {"scheme": {"step": "server_momentum:Heavy"}},
    "downlink": {"radio": {"meters": ["downlink:Broadcast"]}},
    "selective": {"radio": {"fading": "own_parts:Selective"}},
    "sizes": {"scheme": {"codec": "own_parts:BySize"}},
}


@pytest.mark.parametrize("name", OWN)
def test_renaming_devices_renames_everything(name):
    setup, order = build(small(**OWN[name])), np.array([3, 0, 5, 1, 4, 2])
    assert_renamed(play(setup, 5), play(renamed(setup, order), 5), order)

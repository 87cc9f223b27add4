"""What a round does with parts that send only a share, lose packets, grant, or charge."""

import dataclasses
from dataclasses import dataclass

import jaxtyping
import numpy as np
import pytest
import torch

from airfeel.build.setup import build
from airfeel.parts import (
    Agreed,
    BadInput,
    Delivery,
    ErrorMemory,
    Invited,
    NoMemory,
    Reading,
    Said,
    Words,
    mean_of,
    no_mask,
    segment_sizes,
)
from airfeel.storage import records
from small import play, small


def said(symbols, own, n=3):
    """Words of n devices, so many symbols and own entries wide."""
    none = np.zeros(n)
    support = torch.arange(symbols)
    index = torch.arange(own).expand(n, -1)
    each = (torch.ones(n, symbols), index, torch.ones(n, own), none, none[:, None], none)
    return Said(np.arange(n), none == 0, Agreed(support), *each)


@pytest.mark.parametrize(
    ("symbols", "own", "share", "arrived", "idle"),
    [
        (4, 2, None, None, False),
        (4, 0, 0.0, None, True),
        (4, 2, 0.0, None, False),
        (4, 2, 0.0, False, True),
        (4, 2, 0.5, False, False),
        (4, 2, None, False, False),
        (0, 2, None, False, True),
        (0, 2, 1.0, False, True),
        (0, 2, None, True, False),
    ],
)
def test_a_round_is_idle_where_nothing_of_anybody_arrived(symbols, own, share, arrived, idle):
    spoke = np.array([True, True, False])
    shares = None if share is None else np.full((3, 2), share)
    packets = None if arrived is None else np.full(3, arrived)
    assert Delivery(spoke, shares, packets).idle(said(symbols, own)) is idle
    assert Delivery(~spoke & False, shares, packets).idle(said(symbols, own))


def with_plan(setup, change):
    """The same run with its plans changed."""
    plan = setup.scheme.plan
    scheme = dataclasses.replace(setup.scheme, plan=lambda *args: change(plan(*args), args[2]))
    return dataclasses.replace(setup, scheme=scheme)


def half_silent(plan, fading):
    """Nobody is heard on the last half of the sub-channels."""
    loud = plan.loudness(fading.gain)
    loud[:, loud.shape[1] // 2 :] = 0.0
    return dataclasses.replace(plan, amplitude=loud)


def test_noise_of_sub_channels_on_which_nobody_spoke_is_dropped():
    setup = with_plan(
        build(small(radio={"noise": 1.0}, scheme={"local_sparsity": 0.0})), half_silent
    )
    heard_somewhere = False
    for before, after, report, _ in play(setup, 4):
        if report.plan.active.any():
            support = after.support.numpy()
            loud = segment_sizes(len(support), 8)[:4].sum()
            assert not after.update[support[loud:]].any()
            assert after.update[support[:loud]].any()
            heard_somewhere = True
        assert before.round + 1 == after.round
    assert heard_somewhere


def test_a_share_without_an_amplitude_is_sent_paid_and_remembered_as_a_share():
    def half(plan, fading):
        return dataclasses.replace(plan, share=np.full(fading.gain.shape, 0.5))

    clean = {"radio": {"noise": 1e-30, "power": 1e6}, "scheme": {"local_sparsity": 0.0}}
    whole, shared = build(small(**clean)), with_plan(build(small(**clean)), half)
    (_, full, paid, left), (_, part, less, rest) = play(whole, 1)[0], play(shared, 1)[0]
    torch.testing.assert_close(part.update, full.update / 2)
    np.testing.assert_allclose(less.costs.energy, paid.costs.energy / 4)
    kept = rest[:, part.support] - left[:, part.support]
    torch.testing.assert_close(kept.mean(0), part.update[part.support])


def test_recorded_rounds_hold_amplitudes_shares_and_the_true_sky(tmp_path):
    setup = with_plan(build(small()), half_silent)
    report = play(setup, 1)[0][2]
    truth = report.fading.gain * 0.9
    report = dataclasses.replace(report, fading=dataclasses.replace(report.fading, truth=truth))
    again = records.read(records.save(tmp_path, report))
    np.testing.assert_array_equal(again.plan.amplitude, report.plan.amplitude)
    np.testing.assert_array_equal(again.fading.truth, truth)
    assert again.plan.share is None


@dataclass(frozen=True)
class Granting:
    """Each device may send as many entries as its number says, and three more."""

    def __call__(self, turn, fading):
        everyone = np.ones(turn.world.devices, dtype=bool)
        return Invited(everyone, 3.0 + np.arange(turn.world.devices))


@dataclass(frozen=True)
class Granted:
    """The largest entries, as many as were granted; rows are as wide as the largest grant."""

    dim: int
    memory: ErrorMemory = dataclasses.field(default_factory=ErrorMemory)
    dice: int = 0
    columns: tuple[str, ...] = ()

    def agree(self, turn):
        return no_mask(turn)

    def encode(self, x, agreed, devices, dice, grant=None):
        index = torch.topk(x.abs(), int(grant.max()), dim=1).indices
        value = x.gather(1, index)
        for row, device in enumerate(devices):
            value[row, int(grant[device]) :] = 0.0
        return Words(x[:, :0], index, value, bits=8.0 * grant[devices])

    def decode(self, turn, agreed, received):
        return mean_of(turn, agreed, received)


@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_granted_beforehand_is_what_each_device_sends(threads):
    setup = build(small("tcs-d"))
    parts = {"invite": Granting(), "codec": Granted(setup.world.dim)}
    scheme = dataclasses.replace(setup.scheme, **parts)
    for _, after, report, _ in play(dataclasses.replace(setup, scheme=scheme), 3, threads):
        assert report.costs.bits == 8.0 * (3 + np.arange(6)).sum()
        assert after.update.any()


class Charging:
    """A meter that reads what it is told."""

    columns = ()

    def __init__(self, **reading):
        self.reading = reading

    def __call__(self, *_):
        return Reading(**self.reading)


@pytest.mark.parametrize(
    ("reading", "error"),
    [
        ({"slots": 2.5}, "slots = 2.5: must be a whole number"),
        ({"slots": -1}, "slots = -1"),
        ({"energy": np.ones(2)}, r"energy of shape \(2,\)"),
        ({"energy": np.full(6, np.nan)}, "6 finite numbers"),
    ],
)
def test_a_meter_that_reads_nonsense_is_refused_by_name(reading, error, monkeypatch):
    setup = build(small())
    scheme = dataclasses.replace(setup.scheme, meters=(Charging(**reading),))
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as for a user
    with pytest.raises(BadInput, match=f"meter Charging: .*{error}"):
        play(dataclasses.replace(setup, scheme=scheme), 1)


class Misread(Charging):
    """A meter that forgets the noun."""

    def __call__(self, *_):
        return self.reading


class Worded(Charging):
    """A meter whose columns are one word."""

    columns = "heat"


@pytest.mark.parametrize(
    ("meter", "error"),
    [
        (Misread(heat=1.0), "meter Misread: returns dict; must return a Reading"),
        (Worded(), "meter Worded: columns = 'heat': must be a tuple of names"),
    ],
)
def test_a_meter_that_is_none_is_refused_by_name(meter, error):
    setup = build(small())
    scheme = dataclasses.replace(setup.scheme)
    object.__setattr__(scheme, "meters", (meter,))  # types are checked in tests
    with pytest.raises(BadInput, match=error):
        play(dataclasses.replace(setup, scheme=scheme), 1)


def test_a_meter_may_count_in_numpy(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as for a user
    setup = build(small())
    scheme = dataclasses.replace(setup.scheme, meters=(Charging(slots=np.int64(3)),))
    (_, after, report, _), *_ = play(dataclasses.replace(setup, scheme=scheme), 1)
    assert type(after.slots) is int
    assert report.costs.slots == report.plan.slots + 3


@pytest.mark.parametrize(
    ("scheme", "parts", "error"),
    [
        ("tcs-h", {"transmit": "digital"}, "use 'hybrid'"),
        ("tcs-d", {"plan": "hybrid"}, "use 'hybrid'"),
        ("tcs-d", {"codec": "whole"}, "cost no bits"),
        ("tcs-d", {"step": "own_parts:Votes"}, "must make a Step, Votes has no __call__"),
        (
            "tcs-d",
            {"mask": "own_parts:Selective"},
            "must make a Mask, Selective cannot be called with",
        ),
        ("tcs-d", {"codec": {"name": "top-k", "dim": 0}}, r"scheme\.codec\.dim = 0"),
        ("tcs-h", {"plan": {"name": "hybrid", "alpha": [1.0, 2.0]}}, "alpha has 2 values"),
        ("tcs-h", {"fade": {"name": "block", "mean_gain": -1.0}}, r"scheme\.fade\.mean_gain"),
        ("tcs-h", {"fade": {"name": "block", "mean_gain": [1.0, 2.0]}}, "mean_gain has 2 values"),
        ("builtins:int", {}, "scheme.name = 'builtins:int'"),
    ],
)
def test_parts_that_do_not_fit_are_refused_in_a_line(scheme, parts, error):
    with pytest.raises(BadInput, match=error):
        play(build(small(scheme, scheme=parts)), 1)


def test_a_codec_put_into_a_digital_scheme_is_digital():
    setup = build(small("top-k", scheme={"codec": "time-correlated"}))
    assert not setup.scheme.codec.analog


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ({"power_scalar": {"name": "cosine", "start": 1.0}}, r"radio\.power_scalar.* in round 12"),
        ({"fading": {"name": "rayleigh"}, "trace": "x.npy"}, r"radio\.trace"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(table, error):
    with pytest.raises(BadInput, match=error):
        build(small(radio=table))


def test_a_part_in_two_places_remembers_once():
    @dataclass(frozen=True)
    class Counting:
        def __call__(self, turn, decoded):
            return decoded.update

        def begin(self, turn):
            return {"last": turn.state.update}

        def advance(self, turn, happened):
            return {"last": happened.moved}

    @dataclass(frozen=True)
    class Twice:
        one: Counting
        other: Counting

        def __call__(self, turn, decoded):
            return self.one(turn, decoded)

    setup, part = build(small()), Counting()
    scheme = dataclasses.replace(setup.scheme, step=Twice(part, part))
    (_, after, _, _), *_ = play(dataclasses.replace(setup, scheme=scheme), 1)
    assert torch.equal(after.carry["last"], after.update)


def test_no_memory_keeps_nothing():
    assert NoMemory().buffers == ()

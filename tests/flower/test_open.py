"""A federation plays parts of a user's own as the library does, or refuses them by name."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from small import play, small

pytest.importorskip("flwr", reason='flwr is not installed: pip install "airfeel[flower]"')

from federated_parts import (
    Downlink,
    Granting,
    Halves,
    Lossy,
    Mistaken,
    Momentum,
    Oldest,
    Quiet,
    Rolled,
    Turned,
    Unspelled,
    with_parts,
)
from federation import Town, client_app, initial, step, strategy

from airfeel.build.setup import build
from airfeel.compression.codecs import TimeCorrelated, TopK, Whole
from airfeel.compression.memory import ErrorMemory, NoMemory
from airfeel.flower import AirMod, radio_only
from airfeel.flower.allowed import Allowed
from airfeel.flower.vectors import octets
from airfeel.types import BadInput, State, Turn
from airfeel.wire import decode_mask


@pytest.fixture
def setup():
    return build(small("tcs-h", training={"dtype": "float32", "backend": "torch"}))


def own(setup, kind, **changes):
    """The scheme with a codec of one's own, of the same settings."""
    return with_parts(setup, codec=kind(**{**vars(setup.scheme.codec), **changes}))


def trained(setup, folder, rounds=4, codecs=None):
    town = Town(client_app(setup, AirMod(folder, codecs=codecs or {})), setup.world.devices)
    air, arrays = strategy(setup, codecs=codecs), initial(setup)
    for number in range(1, rounds + 2):
        arrays = step(air, town, number, arrays)
    return air, town


def check_equal(air, setup, rounds=4):
    """The federation's run is the library's."""
    *_, (_, after, report, _) = play(setup, rounds)
    assert after.round == air.state.round == rounds
    assert torch.equal(air.state.theta, after.theta)
    assert air.last.plan.reason == report.plan.reason
    assert set(air.state.carry) == set(after.carry)
    for name, array in after.carry.items():
        np.testing.assert_array_equal(np.asarray(air.state.carry[name]), np.asarray(array))


def last_asked(town):
    asked = [m.content.config_records["airfeel"].get("asking", 0) for m in town.messages]
    return [m for m, number in zip(town.messages, asked, strict=True) if number == max(asked)]


def test_a_mask_that_does_not_follow_from_the_update_is_sent_and_counted(setup, tmp_path):
    setup = with_parts(setup, codec=replace(setup.scheme.codec, mask=Oldest()))
    air, town = trained(setup, tmp_path)
    check_equal(air, setup)
    messages = last_asked(town)
    assert air.books.written[-1]["downlink_octets"] == sum(octets(m.content) for m in messages)
    for message in messages:
        whole = octets(message.content)
        mask = message.content.config_records["airfeel"].pop("mask")
        assert whole - octets(message.content) >= len(mask)
        support = decode_mask(mask, dim=setup.world.dim)
        assert np.array_equal(support, air.state.support.numpy())


def test_a_mask_that_nodes_derive_is_not_sent(setup, tmp_path):
    _, town = trained(setup, tmp_path)
    assert all("mask" not in m.content.config_records["airfeel"] for m in town.messages)


@pytest.mark.parametrize("parts", [{"step": Momentum()}, {"meters": (Downlink(),)}], ids=str)
def test_steps_that_remember_and_meters(setup, tmp_path, parts):
    setup = with_parts(setup, **parts)
    air, _ = trained(setup, tmp_path)
    check_equal(air, setup)
    assert set(setup.scheme.columns) <= set(air.books.columns)


def test_a_meter_fills_its_column_and_takes_its_slots(setup, tmp_path):
    plain, _ = trained(setup, tmp_path / "plain")
    air, _ = trained(with_parts(setup, meters=(Downlink(),)), tmp_path / "metered")
    assert air.books.columns["slots_down"][1:].tolist() == [3.0] * 4
    assert np.isnan(air.books.columns["slots_down"][0])
    assert air.state.slots == plain.state.slots + 3 * 4
    air.books.write(tmp_path)
    assert "slots_down" in (tmp_path / "rounds.csv").read_text().splitlines()[0].split(",")


def test_an_invitation_that_remembers(tmp_path):
    setup = build(small("tcs-d", scheme={"scheduler": "proportional-fair"}))
    air, _ = trained(setup, tmp_path)
    check_equal(air, setup)
    assert np.asarray(air.state.carry["heard"]).any()


def test_memory_can_be_left_out(setup, tmp_path):
    setup = own(setup, TimeCorrelated, memory=NoMemory())
    air, _ = trained(setup, tmp_path)
    check_equal(air, setup)


def test_a_codec_of_ones_own_by_a_name_that_nodes_know(setup, tmp_path):
    setup = own(setup, Halves)
    air, _ = trained(setup, tmp_path, codecs={"halves": Halves})
    check_equal(air, setup)


def test_a_codec_that_nodes_do_not_know_is_refused(setup, tmp_path):
    setup = own(setup, Halves)
    with pytest.raises(BadInput, match=r"scheme\.codec = Halves: nodes know only time-correlated"):
        strategy(setup)
    town = Town(client_app(setup, AirMod(tmp_path)), 6)
    air, arrays = strategy(setup, codecs={"halves": Halves}), initial(setup)
    arrays = step(air, town, 1, arrays)
    with pytest.raises(BadInput, match="codec = 'halves': this node knows only time-correlated"):
        step(air, town, 2, arrays)


@pytest.mark.parametrize("name", ["own_code:make", "this:d", "os:system"])
def test_a_server_names_no_code(name, tmp_path, monkeypatch):
    (tmp_path / "own_code.py").write_text("raise SystemExit('code of the server was run')")
    monkeypatch.syspath_prepend(tmp_path)
    for text in (f'{{"name": "{name}"}}', f'{{"name": "whole", "memory": "{name}"}}'):
        with pytest.raises(BadInput, match=r"knows only|no codec that a server can ask for"):
            Allowed().read(text)
    with pytest.raises(BadInput, match=r"codec\.mask"):
        Allowed().read(f'{{"name": "time-correlated", "mask": "{name}"}}')
    assert not {"own_code", "this"} & set(sys.modules)


@pytest.mark.parametrize("text", ["", "[]", "3", "{}", '{"name": 3}', '{"name": "top-k", "k": 1}'])
def test_text_that_is_no_codec_is_refused(text):
    with pytest.raises(BadInput, match="codec"):
        Allowed().read(text)


@pytest.mark.parametrize("name", ["whole", "own:codec"])
def test_names_of_ones_own_codecs(name):
    with pytest.raises(BadInput, match=f"codecs = '{name}': must be no name of airfeel's own"):
        AirMod(codecs={name: Halves})


@pytest.mark.parametrize(
    "codec",
    [
        TimeCorrelated(100, 20, 5, 6),
        TimeCorrelated(100, 20, 5, 6, analog=False, strict=True, memory=NoMemory()),
        TopK(100, 7, 32, memory=NoMemory()),
        Whole(),
        Whole(ErrorMemory(), divide="all"),
    ],
    ids=str,
)
def test_a_codec_is_read_as_it_was_written(codec):
    assert Allowed().read(Allowed().write(codec)) == codec


@pytest.mark.parametrize("memory", [ErrorMemory(0.5), ErrorMemory(silent="add")], ids=str)
def test_other_memories_are_refused(setup, memory):
    with pytest.raises(BadInput, match=r"scheme\.memory = ErrorMemory\(.*\): nodes keep only"):
        strategy(own(setup, TimeCorrelated, memory=memory))


def test_backlog_is_refused_by_its_name():
    with pytest.raises(BadInput, match=r"scheme\.name = 'backlog': devices send shares"):
        strategy(build(small("backlog", training={"dtype": "float32"})))


def test_a_signal_of_ones_own_is_refused(setup, tmp_path):
    with pytest.raises(BadInput, match=r"scheme\.codec = Unspelled: has no `spelling`"):
        strategy(with_parts(setup, codec=Unspelled(setup.scheme.codec)))
    with pytest.raises(BadInput, match="codec = Turned: has a signal, which no wire carries"):
        trained(own(setup, Turned), tmp_path, codecs={"turned": Turned})


def test_what_only_the_server_can_know_is_refused(setup, tmp_path):
    with pytest.raises(BadInput, match="codec = Rolled: agrees on 'slots', which does not follow"):
        trained(own(setup, Rolled), tmp_path, codecs={"rolled": Rolled})


@pytest.mark.parametrize(
    ("part", "kind", "told"),
    [
        ("fade", Mistaken, "signals meet another channel than is believed"),
        ("invite", Granting, "grants what each device may send"),
        ("plan", Quiet, "may arrive in part"),
        ("transmit", Lossy, "may arrive in part"),
    ],
)
def test_what_nodes_cannot_be_told_is_refused(setup, tmp_path, part, kind, told):
    setup = with_parts(setup, **{part: kind(getattr(setup.scheme, part))})
    with pytest.raises(BadInput, match=rf"scheme\.{part} = {kind.__name__}: .*{told}"):
        trained(setup, tmp_path)


def test_a_setup_for_the_radio_alone_has_neither_data_nor_model():
    bare = radio_only(small("tcs-h"), 50)
    assert bare.world.dim == 50
    assert bare.world.model.initial().dtype == torch.float64
    assert [len(shard) for shard in bare.world.shards] == [0] * 6
    assert bare.world.data.train_x.numel() == 0
    turn = Turn(bare.world, State.bare(bare.world.model.initial(), 6), bare.streams)
    with pytest.raises(BadInput, match="nodes train their own model"):
        bare.scheme.learn(turn, np.arange(6), np.zeros((6, 0)))

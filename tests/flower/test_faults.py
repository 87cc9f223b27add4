"""Whatever is lost on the way, the memory is that of what was really added to the model."""

import dataclasses

import numpy as np
import pytest
import torch

from small import small

pytest.importorskip("flwr", reason='flwr is not installed: pip install "airfeel[flower]"')

from federation import ALL, Town, client_app, initial, layout_of, step, strategy
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.serverapp.strategy import FedAvg
from hypothesis import given, settings
from hypothesis import strategies as st

from airfeel.build.setup import build
from airfeel.engines.threads import Threads
from airfeel.flower import AirMod, AirStrategy, protocol
from airfeel.flower.memory import file_of, load, save
from airfeel.flower.protocol import Answer
from airfeel.round import play_round, start
from airfeel.types import BadInput, Invited, Turn

ROUNDS = 5
FAULT = st.sampled_from(["", "", "instruction", "reply", "death", "amnesia", "restart"])
HARMLESS = ("", "amnesia", "restart")
FAULTS = st.lists(st.lists(FAULT, min_size=6, max_size=6), min_size=ROUNDS, max_size=ROUNDS)


@pytest.fixture(scope="module")
def setup():
    return build(small("tcs-h", training={"dtype": "float32", "backend": "torch"}))


@pytest.fixture(scope="module")
def heard():
    """Everybody is heard in every round."""
    radio = {"fading": "none", "power": 1e6}
    return build(small("tcs-h", radio=radio, training={"dtype": "float32", "backend": "torch"}))


def settled(air, town, folder, device):
    context = next(c for c in town.nodes.values() if c.node_config["partition-id"] == device)
    node, _ = load(context, file_of(folder, town.run_number, device), air.fleet.session)
    return node.settled(air.fleet.counted.get(device, 0)).memory


def oracle(setup, answered):
    """The library's run, in which those who were lost on the way were never invited."""
    engine = Threads(setup.world, 1)
    try:
        state = start(setup.scheme, setup.world, setup.streams, engine)
        for who in answered:
            invite = lambda turn, fading, who=who: Invited(np.array(who))
            scheme = dataclasses.replace(setup.scheme, invite=invite)
            state, _ = play_round(scheme, Turn(setup.world, state, setup.streams), engine)
        return state, engine.buffers()["memory"].clone()
    finally:
        engine.close()


@settings(max_examples=12)
@given(faults=FAULTS)
def test_every_loss_ends_the_same_way(setup, tmp_path_factory, faults):
    folder = tmp_path_factory.mktemp("memory")
    town = Town(client_app(setup, AirMod(folder=folder)), 6)
    air, arrays = strategy(setup), initial(setup)
    arrays = step(air, town, 1, arrays)
    for number, row in enumerate(faults, start=2):
        town.fault = lambda asking, n, row=row: row[n].replace("restart", "") if asking else ""
        for n, fault in enumerate(row):
            if fault == "restart":
                town.restart(n)
        arrays = step(air, town, number, arrays)
    answered = [[fault in HARMLESS for fault in row] for row in faults]
    state, memory = oracle(setup, answered)
    assert torch.equal(air.state.theta, state.theta)
    assert torch.equal(air.state.update, state.update)
    for n in range(6):
        assert np.array_equal(settled(air, town, folder, n), memory[n].numpy())


def test_a_node_that_comes_back_is_sent_what_it_missed_and_no_more(setup, tmp_path):
    town = Town(client_app(setup, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(setup), initial(setup)
    for number in range(1, 4):
        arrays = step(air, town, number, arrays)
    town.restart(2)
    town.messages.clear()
    arrays = step(air, town, 4, arrays)
    hello, *asked = town.messages
    assert hello.metadata.dst_node_id == 2002
    assert "asking" not in hello.content.config_records["airfeel"]
    assert all("arrays" not in message.content for message in asked)
    (back,) = (m for m in asked if m.metadata.dst_node_id == 2002)
    assert len(back.content.config_records["airfeel"]["updates"]) == 1


def test_without_its_file_a_node_begins_anew_and_hurts_nobody(setup, tmp_path):
    town = Town(client_app(setup, AirMod(keep_file=False)), 6)
    air, arrays = strategy(setup), initial(setup)
    for number in range(1, 4):
        arrays = step(air, town, number, arrays)
    town.restart(2)
    arrays = step(air, town, 4, arrays)
    assert air.books.written[-1]["lost"] == 0
    node, _ = load(town.nodes[2002], None, air.fleet.session)
    assert not node.memory.any()
    assert node.version == 3


def test_a_node_with_another_model_says_so_and_is_sent_the_whole(setup, tmp_path):
    town = Town(client_app(setup, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(setup), initial(setup)
    arrays = step(air, town, 1, arrays)
    node, _ = load(town.nodes[1002], None, air.fleet.session)
    save(dataclasses.replace(node, theta=node.theta + 1), town.nodes[1002], None)
    file_of(tmp_path, 7, 2).unlink()
    arrays = step(air, town, 2, arrays)
    assert air.books.written[-1]["lost"] == 1
    town.messages.clear()
    arrays = step(air, town, 3, arrays)
    assert air.books.written[-1]["lost"] == 0
    whole = [m.metadata.dst_node_id for m in town.messages if "arrays" in m.content]
    assert whole == [1002]


def test_a_node_that_was_replaced_can_replace_the_other(setup, tmp_path):
    town = Town(client_app(setup, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(setup), initial(setup)
    arrays = step(air, town, 1, arrays)
    first = town.nodes[1002]
    town.restart(2)
    arrays = step(air, town, 2, arrays)
    assert air.fleet.node[2] == 2002
    del town.nodes[2002]
    town.nodes[1002] = first
    arrays = step(air, town, 3, arrays)
    assert air.fleet.node[2] == 1002
    assert air.books.written[-1]["lost"] == 0


@pytest.mark.parametrize("harm", ["cut", "flipped", "empty", "text"])
def test_a_damaged_file_is_told_of_and_not_used(setup, tmp_path, caplog, harm):
    town = Town(client_app(setup, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(setup), initial(setup)
    for number in range(1, 4):
        arrays = step(air, town, number, arrays)
    file = file_of(tmp_path, 7, 2)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    wrong = {"cut": data[:-40], "flipped": data, "empty": b"", "text": b"no archive"}
    file.write_bytes(wrong[harm])
    town.restart(2)
    arrays = step(air, town, 4, arrays)
    assert f"{file}: cannot be read" in caplog.text
    assert air.books.written[-1]["lost"] == 0


def test_a_file_is_whole_or_not_there(setup, tmp_path, monkeypatch):
    """A node that dies while it writes leaves the file as it was."""
    town = Town(client_app(setup, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(setup), initial(setup)
    arrays = step(air, town, 1, arrays)
    before = file_of(tmp_path, 7, 0).read_bytes()

    def die(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", die)
    with pytest.raises(KeyboardInterrupt):
        step(air, town, 2, arrays)
    assert file_of(tmp_path, 7, 0).read_bytes() == before
    assert not list(tmp_path.rglob("*.part"))


def test_files_of_old_runs_are_removed(setup, tmp_path):
    for run in range(1, 8):
        town = Town(client_app(setup, AirMod(folder=tmp_path)), 6, run)
        step(strategy(setup), town, 1, initial(setup))
    assert len(list((tmp_path / "device-3").iterdir())) == 4
    assert file_of(tmp_path, 7, 3).is_file()


def altered(town, device, change):
    """Replies of one device on their way to the server."""
    ask = town._ask

    def tampered(message):
        reply = ask(message)
        if message.metadata.dst_node_id == 1000 + device and "payload" in reply.content["airfeel"]:
            change(reply.content["airfeel"])
        return reply

    town._ask = tampered


@pytest.mark.parametrize(
    "harm",
    [
        lambda r: r.update(payload=r["payload"][:-1]),
        lambda r: r.update(payload=bytes([r["payload"][0] ^ 1]) + r["payload"][1:]),
        lambda r: r.update(payload=b"\xff" * 100),
        lambda r: r.update(asking=r["asking"] - 1),
        lambda r: r.update(device=3),
        lambda r: r.update(protocol=1),
        lambda r: r.pop("said"),
        lambda r: r.update(said="silent", reason="whatever"),
    ],
)
def test_an_answer_that_cannot_be_read_is_not_counted(heard, tmp_path, harm):
    town = Town(client_app(heard, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(heard), initial(heard)
    arrays = step(air, town, 1, arrays)
    altered(town, 2, harm)
    arrays = step(air, town, 2, arrays)
    assert not air.last.plan.active[2]
    assert air.books.written[-1]["lost"] == 1
    who = np.ones(6, dtype=bool)
    who[2] = False
    state, memory = oracle(heard, [who])
    assert torch.equal(air.state.theta, state.theta)
    assert np.array_equal(settled(air, town, tmp_path, 2), memory[2].numpy())


def test_a_round_that_the_wrapped_strategy_refuses_counts_for_nobody(setup, tmp_path):
    class Moody(FedAvg):
        def aggregate_train(self, server_round, replies):
            if server_round == 3:
                return None, None
            return super().aggregate_train(server_round, replies)

    town = Town(client_app(setup, AirMod(folder=tmp_path)), 6)
    air, arrays = AirStrategy(Moody(**ALL), setup), initial(setup)
    for number in range(1, 6):
        arrays = step(air, town, number, arrays)
    state, memory = oracle(setup, np.ones((3, 6), dtype=bool))
    assert torch.equal(air.state.theta, state.theta)
    for n in range(6):
        assert np.array_equal(settled(air, town, tmp_path, n), memory[n].numpy())


def test_an_update_that_is_not_finite_is_kept_to_oneself(setup, tmp_path):
    def broken(turn, devices, dice):
        delta, loss = setup.scheme.learn(turn, devices, dice)
        return (delta * np.nan if turn.round == 2 and devices[0] == 4 else delta), loss

    town = Town(client_app(setup, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(setup), initial(setup)
    for number in range(1, 3):
        arrays = step(air, town, number, arrays)
    memory = settled(air, town, tmp_path, 4)
    learner = dataclasses.make_dataclass(
        "Broken",
        [],
        namespace={
            "dice": setup.scheme.learn.dice,
            "block": 1,
            "__call__": staticmethod(broken),
        },
    )()
    other = dataclasses.replace(setup, scheme=dataclasses.replace(setup.scheme, learn=learner))
    town.app = client_app(other, AirMod(folder=tmp_path))
    arrays = step(air, town, 3, arrays)
    assert air.last.plan.reason[4] == "update-not-finite"
    assert np.array_equal(settled(air, town, tmp_path, 4), memory)


def test_the_budget_ends_the_training(tmp_path):
    setup = build(small("tcs-h", budget={"slots": 60}))
    town = Town(client_app(setup, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(setup), initial(setup)
    for number in range(1, 10):
        arrays = step(air, town, number, arrays)
    assert air.over == "budget"
    assert 0 < air.state.slots <= 60
    assert air.state.round < 8
    assert layout_of(setup).vector(arrays).tobytes() == air.state.theta.numpy().tobytes()


def test_a_node_outside_of_the_settings_takes_no_part(setup, tmp_path, caplog):
    town = Town(client_app(setup, AirMod(folder=tmp_path)), 7)
    air = strategy(setup)
    step(air, town, 1, initial(setup))
    assert "partition-id = 6: must be below training.devices = 6" in caplog.text
    assert air.state.round == 0


def test_a_node_must_say_which_device_it_is(setup, tmp_path):
    town = Town(client_app(setup, AirMod(folder=tmp_path)), 1)
    del town.nodes[1000].node_config["partition-id"]
    hello = RecordDict({"airfeel": protocol.write(protocol.Hello("x"))})
    with pytest.raises(BadInput, match="partition-id = None: the node's config must name"):
        town.app(Message(hello, 1000, "train"), town.nodes[1000])


def test_messages_without_an_instruction_pass_through(setup, tmp_path):
    town = Town(client_app(setup, AirMod(folder=tmp_path)), 6)
    with pytest.raises(KeyError, match="airfeel"):  # the train function's own, it wants a round
        town.app(
            next(iter(FedAvg(**ALL).configure_train(1, initial(setup), ConfigRecord(), town))),
            town.nodes[1000],
        )


def test_another_model_is_refused(setup):
    arrays = initial(setup)
    arrays.pop("0.bias", None) or arrays.pop(next(iter(arrays)))
    town = Town(client_app(setup, AirMod(keep_file=False)), 6)
    with pytest.raises(
        BadInput, match=r"initial_arrays: \d+ parameters of float32; the setup is for"
    ):
        step(strategy(setup), town, 1, arrays)


def test_what_is_written_is_read():
    answer = Answer("spoke", 3, 9, 2, needed=0.5, payload=b"abc")
    assert protocol.read(protocol.write(answer)) == answer
    with pytest.raises(BadInput, match="is no answer: device = "):
        protocol.read(ConfigRecord({"protocol": 3, "said": "spoke"}))
    with pytest.raises(BadInput, match="protocol = None: must be 3"):
        protocol.read(ConfigRecord({"said": "spoke"}))

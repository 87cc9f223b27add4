"""One node that means harm takes nothing from the others: its reply is lost, and it is named."""

import logging

import numpy as np
import pytest
import torch

from small import small

pytest.importorskip("flwr", reason='flwr is not installed: pip install "airfeel[flower]"')

import attacks
import hostile
from federation import Town, client_app, initial, step, strategy
from flwr.app import ConfigRecord, Error, Message
from flwr.proto.node_pb2 import NodeInfo
from test_faults import altered, oracle, settled

from airfeel.build.setup import build
from airfeel.flower import AirMod, NormBound
from airfeel.flower.patient import Patient
from airfeel.flower.replies import forgiving
from airfeel.types import BadInput

RADIO = {"fading": "none", "power": 1e6}
FLOAT32 = {"dtype": "float32", "backend": "torch"}
REPLIES = 1000  # of each scheme


def setup_of(scheme):
    return build(small(scheme, radio=RADIO, training=FLOAT32, scheme={"scheduled": 6}))


@pytest.fixture(scope="module")
def heard():
    """Everybody is heard in every round."""
    return setup_of("tcs-h")


@pytest.mark.parametrize("scheme", ["tcs-h", "top-k"])
def test_no_reply_of_one_node_changes_what_the_others_get(scheme, caplog):
    caplog.set_level(logging.CRITICAL)
    siege = hostile.Siege(setup_of(scheme), bound=NormBound(factor=50.0))
    rng = np.random.default_rng(18)
    for _ in range(REPLIES):
        siege.check(hostile.hostile_reply(rng))


def test_the_check_finds_a_reply_that_gets_through():
    """Without a bound, values that are far too large are taken."""
    siege = hostile.Siege(setup_of("top-k"))
    rng = np.random.default_rng(0)
    far = next(h for h in (hostile.hostile_reply(rng) for _ in range(500)) if "far" in h.name)
    with pytest.raises(AssertionError, match="changed what the honest devices get"):
        siege.check(far)


def test_the_attacks_on_the_deployment_are_lost_replies_here_too(heard, caplog):
    siege = hostile.Siege(heard)
    alone = {attacks.replay, attacks.error, attacks.unreadable}  # these need a process of their own
    for attack in set(attacks.ATTACKS) - alone:
        caplog.clear()

        def change(reply, past, attack=attack):
            attack(reply.content)
            return [reply]

        siege.check(hostile.Hostile(attack.__name__, change))
        assert "node 1002 (device 2): " in caplog.text


class Failing(Town):
    """A grid that cannot unpack the replies of some nodes, or is not there at all."""

    failing, raises = (), ValueError("noise")

    def push_messages(self, messages):
        self.waiting = {f"m{i}": message for i, message in enumerate(messages)}
        return list(self.waiting)

    def pull_messages(self, ids):
        (i,) = ids
        if self.waiting[i].metadata.dst_node_id in self.failing:
            raise self.raises
        return [self._ask(self.waiting[i])]


def test_a_reply_that_flower_cannot_unpack_takes_no_other_with_it(heard, tmp_path, caplog):
    town = Failing(client_app(heard, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(heard), initial(heard)
    arrays = step(air, Patient(town, air.fleet.who), 1, arrays)
    town.failing = (1002,)
    arrays = step(air, Patient(town, air.fleet.who), 2, arrays)
    assert "node 1002 (device 2): ValueError, noise; its reply is lost" in caplog.text
    assert air.last.plan.active.tolist() == [n != 2 for n in range(6)]


def test_a_node_that_the_superlink_misses_is_named(heard, tmp_path, caplog):
    """Flower answers in its own name for a node that is gone."""
    town = Failing(client_app(heard, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(heard), initial(heard)
    arrays = step(air, Patient(town, air.fleet.who), 1, arrays)
    ask = town._ask

    def gone(message):
        reply = ask(message)
        if message.metadata.dst_node_id != 1002:
            return reply
        error = Message(Error(3, "the node is gone"), reply_to=reply)
        error.metadata.__dict__["_src_node_id"] = 1
        return error

    town._ask = gone
    arrays = step(air, Patient(town, air.fleet.who), 2, arrays)
    assert "node 1002 (device 2): error 3, the node is gone; its reply is lost" in caplog.text
    assert air.last.plan.active.tolist() == [n != 2 for n in range(6)]


def test_a_superlink_that_is_gone_is_no_lost_reply(heard, tmp_path):
    town = Failing(client_app(heard, AirMod(folder=tmp_path)), 6)
    town.failing, town.raises = (1002,), ConnectionError("gone")
    air = strategy(heard)
    with pytest.raises(ConnectionError):
        step(air, Patient(town, air.fleet.who), 1, initial(heard))


def test_a_lost_reply_is_one_line_that_names_node_device_and_fault(heard, caplog):
    siege = hostile.Siege(heard)
    caplog.clear()
    siege.check(hostile._record("bool", {"asking": True}))
    (line,) = (r.getMessage() for r in caplog.records if r.name == "airfeel")
    assert line.startswith("node 1002 (device 2): record 'airfeel' is no answer: asking = True:")
    assert line.endswith("; its reply is lost")


def test_what_a_stranger_sends_is_quoted_in_few_words(caplog):
    with forgiving("node 5"):
        raise KeyError("x\ny" * 10_000)
    (line,) = caplog.messages
    assert line.startswith("node 5: KeyError, ")
    assert len(line) < 250
    assert "\n" not in line


def test_hostile_introductions_leave_the_others_alone(heard, tmp_path, caplog):
    """Whatever a node says of itself, the others train; it takes part if it is device 2."""
    rng = np.random.default_rng(5)
    caplog.set_level(logging.CRITICAL)
    town = Town(client_app(heard, AirMod(keep_file=False)), 6)
    for _ in range(120):
        attack = hostile._field(rng)
        air, ask = strategy(heard), town._ask

        def lying(message, attack=attack, ask=ask):
            reply = ask(message)
            hello = "asking" not in message.content.config_records["airfeel"]
            if hello and message.metadata.dst_node_id == 1002:
                return attack.change(reply, [])[0]
            return reply

        town._ask = lying
        messages = list(air.configure_train(1, initial(heard), ConfigRecord(), town))
        town._ask = ask
        asked = {message.metadata.dst_node_id for message in messages}
        assert asked >= {1000 + n for n in (0, 1, 3, 4, 5)} - {
            1000 + answer for answer in _claimed(attack)
        }


def _claimed(attack):
    """The device that an attack names in place of its own, which is then claimed twice."""
    name, _, value = attack.name.partition(" = ")
    return {int(value)} if name == "device" and value.isdigit() else set()


def test_training_goes_on_for_rounds_and_memories_are_those_of_what_counted(heard, tmp_path):
    town = Town(client_app(heard, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(heard), initial(heard)
    arrays = step(air, town, 1, arrays)
    rng = np.random.default_rng(3)
    answered = []
    for number in range(2, 12):
        attack = hostile._payload(rng) if number % 2 else hostile._field(rng)
        ask = town._ask

        def lying(message, attack=attack, ask=ask):
            reply = ask(message)
            return attack.change(reply, [])[0] if message.metadata.dst_node_id == 1002 else reply

        town._ask = lying
        arrays = step(air, town, number, arrays)
        town._ask = ask
        answered.append(air.last.plan.active.copy())
        assert air.last.plan.active[[0, 1, 3, 4, 5]].all()
    assert not all(row[2] for row in answered)
    state, memory = oracle(heard, answered)
    assert torch.equal(air.state.theta, state.theta)
    for n in range(6):
        assert np.array_equal(settled(air, town, tmp_path, n), memory[n].numpy())


@pytest.mark.parametrize("bound", [NormBound(most=50.0), NormBound(factor=20.0)], ids=str)
def test_an_update_that_is_too_long_is_not_taken_and_stays_in_memory(tmp_path, caplog, bound):
    setup = setup_of("top-k")
    town = Town(client_app(setup, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(setup, bound=bound), initial(setup)
    arrays = step(air, town, 1, arrays)
    ask = town._ask
    attack = next(
        h for h in (hostile._words(np.random.default_rng(i)) for i in range(99)) if "far" in h.name
    )
    town._ask = lambda m: attack.change(ask(m), [])[0] if m.metadata.dst_node_id == 1002 else ask(m)
    arrays = step(air, town, 2, arrays)
    town._ask = ask
    assert "node 1002 (device 2): an update of norm" in caplog.text
    assert air.books.devices[-4]["reason"] == "norm-above-bound"
    assert air.books.written[-1]["lost"] == 1
    who = np.arange(6) != 2
    arrays = step(air, town, 3, arrays)
    assert air.last.plan.active.all()
    state, memory = oracle(setup, [who, who | True])
    assert torch.equal(air.state.theta, state.theta)
    assert np.array_equal(settled(air, town, tmp_path, 2), memory[2].numpy())


@pytest.mark.parametrize("wrong", [{"most": 0.0}, {"most": np.nan}, {"factor": 0.5}])
def test_a_bound_that_bounds_nothing_is_refused(wrong):
    with pytest.raises(BadInput, match=r"bound\.(most|factor) = "):
        NormBound(**wrong)


def test_when_nobody_is_finite_training_ends_with_the_model_that_there_is(heard, tmp_path):
    town = Town(client_app(heard, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(heard), initial(heard)
    arrays = step(air, town, 1, arrays)
    say = lambda r: (r.pop("payload"), r.update(said="silent", reason="update-not-finite"))
    altered(town, 2, say)
    arrays = step(air, town, 2, arrays)
    assert air.over is None  # one node alone is not believed
    for n in (0, 1, 3, 4, 5):
        altered(town, n, say)
    before = air.state.theta.clone()
    arrays = step(air, town, 3, arrays)
    assert air.over == "diverged"
    assert torch.equal(air.state.theta, before)
    assert not list(air.configure_train(4, arrays, ConfigRecord(), town))


class Registered(Town):
    """Nodes with keys, and names that they were registered by."""

    def __init__(self, *args):
        super().__init__(*args)
        self.keys, self.names = {}, {}

    def get_nodes(self):
        for node in self.nodes:
            key = self.keys.get(node, b"key %d" % (node % 1000))
            yield NodeInfo(node_id=node, public_key=key, name=self.names.get(node, ""))


def test_a_device_is_bound_to_the_key_of_its_first_node(heard, tmp_path, caplog):
    town = Registered(client_app(heard, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(heard, authenticated=True), initial(heard)
    arrays = step(air, town, 1, arrays)
    town.nodes[4000] = town.newborn(4000, 2)
    town.keys[4000] = b"another key"
    arrays = step(air, town, 2, arrays)
    assert "node 4000 (device 2): partition-id = 2: that device is bound to another" in caplog.text
    assert air.fleet.node[2] == 1002
    assert air.last.plan.active.all()
    del town.nodes[1002]  # nor is it taken over when its node is away
    arrays = step(air, town, 3, arrays)
    assert air.last.plan.active.tolist() == [n != 2 for n in range(6)]
    town.nodes[2002] = town.newborn(2002, 2)  # the key of node 1002
    arrays = step(air, town, 4, arrays)
    assert air.fleet.node[2] == 2002
    assert air.last.plan.active.all()


def test_a_node_registered_by_a_device_s_name_is_no_other(heard, tmp_path, caplog):
    town = Registered(client_app(heard, AirMod(folder=tmp_path)), 6)
    town.names = {1000 + n: f"device-{n}" for n in range(6)}
    town.nodes[1003].node_config["partition-id"] = 2
    town.nodes[1009] = town.newborn(1009, 3)  # registered without a name
    air = strategy(heard, authenticated=True)
    step(air, town, 1, initial(heard))
    assert "node 1003 (device 2): partition-id = 2: it was registered as 'device-3'" in caplog.text
    assert "node 1009 (device 3): partition-id = 3: it was registered as ''" in caplog.text
    assert air.fleet.node == {n: 1000 + n for n in (0, 1, 2, 4, 5)}


def test_two_nodes_that_claim_one_device_both_take_no_part(heard, tmp_path, caplog):
    town = Town(client_app(heard, AirMod(folder=tmp_path)), 6)
    town.nodes[1005].node_config["partition-id"] = 3
    air, arrays = strategy(heard), initial(heard)
    arrays = step(air, town, 1, arrays)
    assert "partition-id = 3: nodes 1003 and 1005 both have it" in caplog.text
    assert air.fleet.node == {n: 1000 + n for n in (0, 1, 2, 4)}
    del town.nodes[1005]
    arrays = step(air, town, 2, arrays)  # and who is left is the device
    assert air.fleet.node[3] == 1003


def test_a_stranger_cannot_take_a_device_over_whose_node_is_there(heard, tmp_path, caplog):
    town = Town(client_app(heard, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(heard), initial(heard)
    arrays = step(air, town, 1, arrays)
    town.nodes[4000] = town.newborn(4000, 2)
    arrays = step(air, town, 2, arrays)
    assert "partition-id = 2: nodes 1002 and 4000 both have it" in caplog.text
    assert air.last.plan.active.tolist() == [n != 2 for n in range(6)]


def test_a_node_that_objects_cannot_become_another_device(heard, tmp_path, caplog):
    town = Town(client_app(heard, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(heard), initial(heard)
    arrays = step(air, town, 1, arrays)
    town.nodes[1002].node_config["partition-id"] = 5  # which node 1005 is
    town.nodes[4000] = town.newborn(4000, 2)
    arrays = step(air, town, 2, arrays)
    assert "node 1002 (device 2): says now that it is another" in caplog.text
    assert air.fleet.node[5] == 1005


def test_a_node_that_does_not_say_who_it_is_is_asked_ever_more_seldom(heard, tmp_path):
    town = Town(client_app(heard, AirMod(keep_file=False)), 6)
    town.nodes[1009] = town.newborn(1009, 9)  # no such device
    air, arrays, asked = strategy(heard), initial(heard), []
    for number in range(1, 9):
        town.messages.clear()
        arrays = step(air, town, number, arrays)
        asked += [number for m in town.messages if m.metadata.dst_node_id == 1009]
    assert asked == [1, 2, 4, 8]


def test_an_answer_without_the_token_of_its_question_is_not_heard(heard, tmp_path, caplog):
    town = Town(client_app(heard, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(heard), initial(heard)
    arrays = step(air, town, 1, arrays)
    altered(town, 2, lambda r: r.update(token=b"\x00" * 8))
    arrays = step(air, town, 2, arrays)
    assert "node 1002 (device 2): answers another question" in caplog.text
    assert not air.last.plan.active[2]

"""A ServerApp that died is started anew, and ends with the bytes of the one that did not."""

import numpy as np
import pytest
import torch

from small import small

pytest.importorskip("flwr", reason='flwr is not installed: pip install "airfeel[flower]"')

from federated_parts import Momentum, Oldest, with_parts
from federation import ALL, Town, client_app, initial, step
from flwr.app import ConfigRecord
from flwr.serverapp.strategy import FedAdam, FedAvg, FedAvgM
from test_faults import settled

from airfeel.build.setup import build
from airfeel.flower import AirMod, AirStrategy
from airfeel.storage.rows import cells
from airfeel.types import BadInput

ROUNDS = 5  # of Flower: the start and four more
OTHERS = {"seconds", "uplink_octets", "downlink_octets"}  # nodes introduce themselves once more


@pytest.fixture(scope="module")
def setup():
    """Everybody is heard, with noise."""
    radio = {"fading": "none", "power": 1e6, "noise": 1e-3}
    return build(small("tcs-h", radio=radio, training={"dtype": "float32", "backend": "torch"}))


def make(setup, folder, inner=FedAvg):
    return AirStrategy(inner(**ALL), setup, folder=folder / "server")


def town_of(setup, folder, run=7):
    return Town(client_app(setup, AirMod(folder=folder / "nodes")), 6, run)


def play(setup, folder, inner=FedAvg, die=()):
    """A whole training, whose server dies in rounds `die`: (round, how far it got)."""
    death, run = dict(die), 7
    air, town = make(setup, folder, inner), town_of(setup, folder)
    arrays, number, before = initial(setup), 0, 0
    while number < ROUNDS:
        number += 1
        stage = death.pop(number, "")
        if stage != "asked":
            messages = air.configure_train(number - before, arrays, ConfigRecord(), town)
            replies = town.send_and_receive(messages) if stage != "instructed" else []
        if stage in ("", "counted"):
            arrays, _ = air.aggregate_train(number - before, replies)
        if stage:  # all that was in the process is gone, and so is Flower's run
            run += 1
            air, town = make(setup, folder, inner), town_of(setup, folder, run)
            before = air._before
            assert before == number - (stage != "counted")
            number, arrays = before, air.arrays or initial(setup)
    return air, town


@pytest.fixture(scope="module")
def whole(setup, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return play(setup, folder), folder


def same(one, other, folders):
    assert torch.equal(one[0].state.theta, other[0].state.theta)
    assert torch.equal(one[0].state.update, other[0].state.update)
    assert np.array_equal(one[0].state.spent, other[0].state.spent)
    for n in range(6):
        memories = [
            settled(*pair, folder / "nodes", n)
            for pair, folder in zip((one, other), folders, strict=True)
        ]
        assert np.array_equal(*memories)
    for a, b in zip(one[0].books.devices, other[0].books.devices, strict=True):
        assert cells(a, a) == cells(b, a)
    columns = [name for name in one[0].books.names if name not in OTHERS]
    for a, b in zip(one[0].books.written, other[0].books.written, strict=True):
        assert cells(a, columns) == cells(b, columns)


@pytest.mark.parametrize("stage", ["asked", "instructed", "answered", "counted"])
def test_after_any_death_the_bytes_are_the_same(setup, whole, tmp_path, stage):
    """Before it asks, when it has asked, when all have answered, and when the round is written."""
    for number in (2, 5):
        died = play(setup, tmp_path / f"died-{number}", die=[(number, stage)])
        same(whole[0], died, (whole[1], tmp_path / f"died-{number}"))


def test_dying_in_every_round_is_as_good(setup, whole, tmp_path):
    deaths = [(2, "answered"), (3, "counted"), (4, "instructed"), (5, "answered")]
    same(whole[0], play(setup, tmp_path, die=deaths), (whole[1], tmp_path))


@pytest.mark.parametrize("inner", [FedAdam, FedAvgM])
def test_what_the_wrapped_strategy_remembers_is_kept(setup, tmp_path, inner):
    make_one = lambda **options: inner(
        **options, **({"server_momentum": 0.5} if inner is FedAvgM else {})
    )
    whole = play(setup, tmp_path / "whole", make_one)
    died = play(setup, tmp_path / "died", make_one, die=[(4, "answered")])
    same(whole, died, (tmp_path / "whole", tmp_path / "died"))


def test_what_parts_remember_is_kept(setup, tmp_path):
    parts = with_parts(setup, step=Momentum())
    codec = type(setup.scheme.codec)
    mask = {f: getattr(setup.scheme.codec, f) for f in ("dim", "k_global", "k_local", "bits")}
    parts = with_parts(parts, codec=codec(**mask, mask=Oldest()))
    whole = play(parts, tmp_path / "whole")
    died = play(parts, tmp_path / "died", die=[(4, "answered")])
    same(whole, died, (tmp_path / "whole", tmp_path / "died"))


def test_a_damaged_checkpoint_is_left_for_the_one_before(setup, whole, tmp_path, caplog):
    """Nodes are one answer ahead of it, which they take back."""
    air, _ = play(setup, tmp_path)
    newest = tmp_path / "server" / "checkpoint.safetensors"
    newest.write_bytes(newest.read_bytes()[:-7])
    again, town = make(setup, tmp_path), town_of(setup, tmp_path, 8)
    assert "checkpoint.safetensors: cannot be read" in caplog.text
    assert again.state.round == air.state.round - 1
    step(again, town, 1, again.arrays)
    same(whole[0], (again, town), (whole[1], tmp_path))


def test_without_a_whole_checkpoint_nothing_is_resumed(setup, tmp_path):
    play(setup, tmp_path)
    for file in (tmp_path / "server").glob("*.safetensors"):
        file.write_bytes(b"nothing")
    with pytest.raises(BadInput, match="nothing can be resumed"):
        make(setup, tmp_path)


@pytest.mark.parametrize("harm", ["flipped", "cut"])
def test_rows_that_were_changed_are_refused(setup, tmp_path, harm):
    play(setup, tmp_path)
    books = tmp_path / "server" / "books.jsonl"
    data = books.read_bytes()
    books.write_bytes(
        data.replace(b"scheduled", b"Scheduled", 1) if harm == "flipped" else data[:50]
    )
    with pytest.raises(BadInput, match=r"books\.jsonl"):
        make(setup, tmp_path)


def test_the_folder_of_another_training_is_refused(setup, tmp_path):
    play(setup, tmp_path)
    other = build(small("tcs-h", run={"seed": 4}))
    with pytest.raises(BadInput, match=r"is of a training whose run\.seed was 3, now it is 4"):
        make(other, tmp_path)


def test_flower_s_own_loop_plays_only_what_is_left(setup, tmp_path):
    """And numbers its results by the rounds of the whole training."""

    class Direct(Town):
        def push_messages(self, messages):
            self.waiting = {f"m{i}": [self._ask(m)] for i, m in enumerate(messages)}
            return list(self.waiting)

        def pull_messages(self, ids):
            return [reply for i in ids for reply in self.waiting[i]]

    whole, looks = make(setup, tmp_path / "whole"), []
    app = client_app(setup, AirMod(folder=tmp_path / "nodes"))
    look = lambda number, arrays: looks.append(number)
    options = {"initial_arrays": initial(setup), "num_rounds": ROUNDS, "evaluate_fn": look}
    whole.start(grid=Direct(app, 6), **options)
    assert looks == list(range(ROUNDS + 1))
    make(setup, tmp_path / "died").start(grid=Direct(app, 6, 8), **options | {"num_rounds": 3})
    looks.clear()
    died = make(setup, tmp_path / "died")
    result = died.start(grid=Direct(app, 6, 9), **options)
    assert looks == [3, 4, 5]
    assert list(result.train_metrics_clientapp) == [4, 5]
    assert torch.equal(died.state.theta, whole.state.theta)
    assert list(make(setup, tmp_path / "died").start(grid=Direct(app, 6, 9), **options).arrays)

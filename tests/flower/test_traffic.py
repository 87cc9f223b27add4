"""Octets that are saved are saved on the wire."""

import csv

import numpy as np
import pytest

from airfeel.settings.load import load as settings
from small import small

pytest.importorskip("flwr", reason='flwr is not installed: pip install "airfeel[flower]"')

from federation import Town, client_app, initial, layout_of, step, strategy

from airfeel.build.setup import build
from airfeel.flower import AirMod
from airfeel.flower.fleet import Broadcast
from airfeel.flower.vectors import octets, read_update, write_update
from airfeel.wire import decode

PERFECT = ["radio.fading='none'", "radio.power=1e6", "training.devices=4", "scheme.scheduled=4"]


def trained(overrides, rounds, scheme="tcs-h"):
    setup = build(settings(f"digits-{scheme}", [*PERFECT, *overrides]))
    town = Town(client_app(setup, AirMod(keep_file=False)), setup.world.devices)
    air, arrays = strategy(setup), initial(setup)
    for number in range(1, rounds + 2):
        arrays = step(air, town, number, arrays)
    return setup, town, air


@pytest.mark.parametrize("model", ["model.name='mlp'", "model.name='small-cnn'"])
def test_uplink_is_a_quarter_of_dense_fedavg(model):
    setup, _, air = trained([model, "scheme.bits=16"], 3)
    found = air.books.columns
    assert found["scheduled"].tolist() == [4, 4, 4, 4]
    assert air.books.share("uplink") <= 0.25
    raw = 4 * 4 * setup.world.dim  # the values alone of four devices, without any message around
    assert (found["uplink_payload"][1:] <= 0.25 * raw).all()
    assert (found["uplink_payload"][1:] <= found["uplink_formula"][1:]).all()
    assert (found["uplink_dense"] > raw).all()
    k_global, k_local = round(0.2 * setup.world.dim), round(0.05 * setup.world.dim)
    formula = 4 * (32 * k_global + k_local * (16 + np.log2(setup.world.dim))) / 8
    assert np.allclose(found["uplink_formula"][1:], formula)


def test_what_is_counted_is_what_is_sent():
    _, town, air = trained([], 2)
    asked = [m.content.config_records["airfeel"].get("asking", 0) for m in town.messages]
    last = [m for m, number in zip(town.messages, asked, strict=True) if number == max(asked)]
    assert air.books.written[-1]["downlink_octets"] == sum(octets(m.content) for m in last)
    assert all("arrays" not in m.content for m in last)


def test_local_values_travel_with_q_bits():
    setup, town, _ = trained(["scheme.bits=16"], 1)
    heard = []
    ask = town._ask
    town._ask = lambda message: heard.append(ask(message)) or heard[-1]
    trained_more = strategy(setup)
    arrays = initial(setup)
    for number in (1, 2):
        arrays = step(trained_more, town, number, arrays)
    payload = heard[-1].content.config_records["airfeel"]["payload"]
    message = decode(payload, dim=setup.world.dim)
    assert (message.local.bits, message.common.bits) == (16, 32)


def test_downlink_is_sparse_where_the_update_is():
    setup, _, air = trained(["scheme.global_sparsity=0.05", "scheme.local_sparsity=0.01"], 4)
    found = air.books.columns
    kept = np.count_nonzero(air.state.update.numpy()) / setup.world.dim
    assert kept < 0.1
    later = found["downlink_octets"][2:] / found["downlink_dense"][2:]  # after the dense ĝ_0
    assert (later < kept + 0.12).all()


def test_a_node_that_was_away_is_told_the_cheaper_way():
    setup = build(small("tcs-h"))
    theta = setup.world.model.initial().numpy()
    model, rng = Broadcast(layout_of(setup), theta), np.random.default_rng(0)
    sparse, dense = np.zeros_like(theta), rng.standard_normal(len(theta))
    sparse[3] = 1.0
    assert model.to(-1)[0] is theta
    for update in (dense, sparse, sparse):
        model.add(update)
    whole, updates = model.to(1)
    assert whole is None
    assert len(updates) == 2
    assert model.to(3) == (None, ())
    whole, updates = model.to(0)
    assert np.array_equal(whole, theta + dense + sparse)
    assert np.array_equal(whole + read_update(updates[0], theta), model.theta)
    assert np.array_equal(read_update(write_update(dense), theta), dense)


def test_books_as_files(tmp_path):
    _, _, air = trained([], 2)
    air.books.write(tmp_path)
    with (tmp_path / "rounds.csv").open() as file:
        rounds = list(csv.DictReader(file))
    with (tmp_path / "devices.csv").open() as file:
        devices = list(csv.DictReader(file))
    assert [row["round"] for row in rounds] == ["0", "1", "2"]
    assert int(rounds[1]["uplink_octets"]) == air.books.written[1]["uplink_octets"]
    assert len(devices) == 12
    assert {row["reason"] for row in devices} == {"scheduled"}

"""The example in Flower's own engines: simulated, and deployed as real processes over TLS."""

import csv
import dataclasses
import importlib.util
import json
import re
import socket
import ssl
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason='flwr is not installed: pip install "airfeel[flower]"')

from hook import path_with_hook

from airfeel.build.setup import build
from airfeel.engines.threads import Threads
from airfeel.round import play_round, start
from airfeel.settings.load import experiment
from airfeel.types import Invited, Turn

APP = Path(__file__).parents[2] / "examples" / "flower_app"
SETTINGS = {
    "training.rounds": 3,
    "training.devices": 4,
    "training.backend": "torch",
    "radio.fading": "none",
    "radio.power": 1e6,
}
PATIENCE = 1800.0  # seconds for a whole run, on a machine that is very busy


def load_runner():
    spec = importlib.util.spec_from_file_location("flower_run", APP / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def runner():
    return load_runner()


@pytest.fixture(autouse=True)
def patience_of_flower(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", path_with_hook(tmp_path))


def told(settings, out):
    words = [f"{key}={json.dumps(value)}" for key, value in settings.items()]
    return " ".join([f'out="{out}"', *words])


def setup_of(settings):
    config = tomllib.loads((APP / "pyproject.toml").read_text("utf-8"))["tool"]["flwr"]["app"]
    table = {k: dict(v) for k, v in config["config"].items() if isinstance(v, dict)}
    for key, value in settings.items():
        section, dot, name = key.partition(".")
        if dot:
            table[section][name] = value
    return build(experiment(table))


def heard_in(out):
    """For each round who was counted, from devices.csv."""
    with (out / "devices.csv").open() as file:
        rows = list(csv.DictReader(file))
    heard = np.zeros((1 + max(int(r["round"]) for r in rows), 4), dtype=bool)
    for r in rows:
        heard[int(r["round"]), int(r["device"])] = r["scheduled"] == "1"
    return heard


def library(setup, heard):
    """The library's own run, in which just these devices were invited."""
    engine = Threads(setup.world, 1)
    try:
        state = start(setup.scheme, setup.world, setup.streams, engine)
        for who in heard[1:]:
            invite = lambda turn, fading, who=who: Invited(who)
            scheme = dataclasses.replace(setup.scheme, invite=invite)
            state, report = play_round(scheme, Turn(setup.world, state, setup.streams), engine)
            assert np.array_equal(report.plan.active, who)
        return state.theta.numpy(), engine.buffers()["memory"].numpy().copy()
    finally:
        engine.close()


def check(folder, settings, run, exact=False):
    """The model and every node's memory are the library's; who was counted in each round."""
    heard = heard_in(folder / "out")
    assert heard[0].all(), "round 0 is only comparable with all devices"
    theta, memory = library(setup_of(settings), heard)
    model = np.load(folder / "out" / "model.npy")
    assert np.linalg.norm(model - theta) <= (not exact) * 1e-5 * np.linalg.norm(theta)
    for n in range(4):
        with np.load(folder / "airfeel" / f"device-{n}" / f"run-{run}.npz") as kept:
            last = 1 + int(np.flatnonzero(heard[:, n])[-1])  # askings count from 1, rounds from 0
            asking = json.loads(str(kept["book"]))["asking"]
            stands = kept["proposed"] if asking == last else kept["memory"]
        assert np.abs(stands - memory[n]).max() <= 1e-5 * np.abs(memory[n]).max()
    return heard


def test_simulation(runner, tmp_path):
    pytest.importorskip("ray", reason='ray is not installed: pip install "airfeel[flower]"')
    with runner.Federation(tmp_path, simulation=True) as federation:
        run = federation.submit(told(SETTINGS, tmp_path / "out"))
        federation.wait(run, PATIENCE)
        assert check(tmp_path, SETTINGS, run).all()
    with (tmp_path / "out" / "accuracy.csv").open() as file:
        accuracy = [float(row["accuracy"]) for row in csv.DictReader(file)]
    assert accuracy[-1] > accuracy[0] + 0.2


def test_deployment_in_which_a_node_dies(runner, tmp_path):
    """Four nodes over TLS; one is killed in the middle of round 2 and comes back for round 3."""
    settings = {**SETTINGS, "pause": 2.0, "timeout": 900, "least": 4}
    with runner.Federation(tmp_path) as federation:
        check_tls(federation)
        federation.register([f"device-{n}" for n in range(4)])
        for device in range(4):
            federation.start_node(device, 4)
        run = federation.submit(told(settings, tmp_path / "out"))
        # It was told who it is, the start, round 1, and now is at round 2.
        wait_until(lambda: federation.log("node-2").count("Receiving: train message") == 4)
        assert federation.log("node-2").count("Sent successfully") == 3
        federation.kill("node-2")
        # The SuperLink takes a minute to notice; before that, nobody else may have this key.
        wait_until(lambda: "(device 2): " in federation.log("run"))
        federation.start_node(2, 4)
        done = federation.wait(run, PATIENCE)
        pids = [p for f in federation.processes.values() for p in runner.descendants(f.pid)]
        heard = check(tmp_path, settings, run)
        assert heard[1:, 2].tolist() == [True, False, True]
        with (tmp_path / "out" / "rounds.csv").open() as file:
            rounds = list(csv.DictReader(file))
        assert [int(row["lost"]) for row in rounds] == [0, 0, 1, 0]
        ours = sum(int(row["uplink_octets"]) for row in rounds)
        counted = done["network-traffic"]["inbound-bytes"]  # the SuperLink's own count
        assert ours <= counted <= 1.5 * ours
        ids = re.findall(r"SuperNode ID: (\d+)", federation.log("node-2"))
        assert len(ids) == 2
        assert len(set(ids)) == 1  # of one key
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), 20)


def test_deployment_under_attack(tmp_path):
    """Three of the attacks of `make attack`; the attacker is named, and the bytes are right."""
    from attack import besiege

    besiege(tmp_path, ["huge", "unreadable", "other_device"])


def check_tls(federation):
    """The SuperLink speaks TLS, with a certificate of our authority, and on the loopback alone."""
    trust = ssl.create_default_context(cafile=str(federation.folder / "certificates" / "ca.crt"))
    with (
        socket.create_connection(("127.0.0.1", federation.port), 10) as plain,
        trust.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
    ):
        assert secure.version() in ("TLSv1.2", "TLSv1.3")


def wait_until(true, seconds=900.0):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "this took too long"
        time.sleep(0.3)

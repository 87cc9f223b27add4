"""Ray changes where devices are trained, never a result; and a lost actor is survived."""

import os
import signal
import sys
import types
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from results import results

import airfeel
from airfeel.build.setup import build
from airfeel.compression.codecs import TopK
from airfeel.engines.cluster import joined, pack, unpack
from airfeel.engines.ray import RayEngine
from airfeel.round import play_round, start
from airfeel.runs import runner
from airfeel.runs.signals import Interrupted, Signals
from airfeel.types import BadInput, Invited, Turn
from small import small, turn_at

ray = pytest.importorskip("ray", reason='Ray is not installed: pip install "airfeel[ray]"')

CASES = {  # one backend each, and few enough of 7 devices that some actor has none to train
    "tcs-h": {"dtype": "float64", "backend": "torch"},
    "tcs-d": {"dtype": "float32", "backend": "auto"},
    "backlog": {"dtype": "float32", "backend": "auto"},
}


def settings(scheme="tcs-h", options=None, **run):
    training = {"devices": 7, "rounds": 8} | CASES[scheme]
    chosen = {"scheduled": 2, "options": options or {}}
    return small(scheme, training=training, scheme=chosen, run={"eval_every": 2} | run)


@pytest.fixture(scope="module", autouse=True)
def cluster():
    before = signal.getsignal(signal.SIGTERM)
    with joined(None, 3) as found:
        assert signal.getsignal(signal.SIGTERM) == before
        yield found
    assert not ray.is_initialized()


@pytest.fixture(scope="module", params=CASES)
def local(request, tmp_path_factory):
    """A scheme, and what it gives without Ray."""
    folder = tmp_path_factory.mktemp("local") / "run"
    airfeel.run(settings(request.param), folder)
    return request.param, results(folder)


@pytest.mark.parametrize("batch", [8, "all"])
def test_augmented_images_are_the_local_ones(tmp_path, batch):
    """Their random numbers belong to devices, and do not depend on what other actors hold."""
    data = {"shape": [1, 6, 6], "augment": ["crop", "flip"], "partition": "dirichlet"}

    def e(**run):
        training = {"devices": 7, "rounds": 3, "batch_size": batch, "local_steps": 1}
        return small("tcs-d", data=data, training=training, scheme={"scheduled": 5}, run=run)

    airfeel.run(e(), tmp_path / "here")
    airfeel.run(e(engine="ray", actors=3), tmp_path / "ray")
    assert results(tmp_path / "ray") == results(tmp_path / "here")


def test_a_training_recipe_gives_the_local_result(tmp_path):
    """Masks of dropout, momentum and clips belong to devices, wherever they are trained."""

    def e(**run):
        training = {"devices": 7, "rounds": 3, "dtype": "float32", "rule": "momentum"}
        training |= {"weight_decay": 0.05, "clip_norm": 0.4, "label_smoothing": 0.1}
        return small(
            "tcs-d",
            data={"shape": [1, 8, 8]},
            model={"name": "small-cnn", "dropout": [0.25, 0.5]},
            training=training | {"update_clip": 0.3},
            scheme={"scheduled": 5},
            run=run,
        )

    airfeel.run(e(), tmp_path / "here")
    airfeel.run(e(engine="ray", actors=3), tmp_path / "ray")
    assert results(tmp_path / "ray") == results(tmp_path / "here")


@pytest.mark.parametrize("actors", [1, 2, 3])
def test_any_number_of_actors_gives_the_local_result(tmp_path, local, actors):
    scheme, expected = local
    airfeel.run(settings(scheme, engine="ray", actors=actors), tmp_path / "r")
    assert results(tmp_path / "r") == expected


@pytest.fixture
def engines(monkeypatch):
    """All engines that runs make."""
    made = []

    class Noted(RayEngine):
        def __init__(self, *words):
            super().__init__(*words)
            made.append(self)

    monkeypatch.setattr(runner, "RayEngine", Noted)
    return made


class At:
    """A watcher that does something once a round is over, the first time."""

    def __init__(self, round, act):
        self.round, self.act = round, act

    def begin(self, experiment, world):
        pass

    def row(self, row):
        if row["round"] == self.round:
            self.round = -1
            self.act()

    def end(self, summary):
        pass


def kill(actor):
    """SIGKILL, as the kernel does it when memory runs out."""
    os.kill(ray.get(actor.__ray_call__.remote(lambda _: os.getpid())), signal.SIGKILL)


@pytest.mark.parametrize(
    ("scheme", "options"), [("tcs-h", {}), ("backlog", {"every": 4})], ids=["tcs-h", "backlog"]
)
def test_a_killed_actor_is_survived(tmp_path, engines, scheme, options):
    """With `every` = 4 round 4, played twice, has the σ_t that was chosen in round 1."""
    airfeel.run(settings(scheme, options, memory="bfloat16"), tmp_path / "local")
    run = {"actors": 2, "checkpoint_every": 3, "memory": "bfloat16"}
    e = settings(scheme, options, engine="ray", **run)
    murder = At(5, lambda: kill(engines[0]._actors[1]))
    with pytest.warns(UserWarning, match="a worker of the Ray cluster is lost.*back to round 3"):
        airfeel.run(e, tmp_path / "r", [murder])
    assert len(engines) == 2
    assert results(tmp_path / "r") == results(tmp_path / "local")


@pytest.mark.parametrize("scheme", ["tcs-d", "backlog"])
def test_stopped_on_ray_and_resumed_here(tmp_path, scheme):
    """The memory that is gathered for a checkpoint is the one that threads would hold."""
    airfeel.run(settings(scheme), tmp_path / "local")
    signals, folder = Signals(), tmp_path / "r"
    stop = At(3, lambda: setattr(signals, "received", signal.SIGINT))
    with pytest.raises(Interrupted):
        airfeel.run(settings(scheme, engine="ray", actors=2), folder, [stop], signals=signals)
    config = folder / "config.toml"
    config.write_text(config.read_text().replace('engine = "ray"', 'engine = "threads"'))
    airfeel.resume(folder)
    assert results(folder) == results(tmp_path / "local")


class Counted(RayEngine):
    """Weighs what goes through its doors, serialised."""

    up = down = 0

    def _tell(self, method, *words):
        known = [ray.get(w) if isinstance(w, ray.ObjectRef) else w for w in words]
        self.down += len(self._actors) * len(ray.cloudpickle.dumps(known))
        return super()._tell(method, *words)

    def _hear(self, answers):
        found = super()._hear(answers)
        self.up += sum(len(ray.cloudpickle.dumps(a)) for a in found)
        return found


def test_payloads_and_one_broadcast_are_all_that_travels():
    scheme = {"global_sparsity": 0.2, "local_sparsity": 0.05}
    setup = build(small(training={"dtype": "float32"}, model={"hidden": 600}, scheme=scheme))
    scheme, world, streams = setup.scheme, setup.world, setup.streams
    engine = Counted(world, scheme.learn, 2)
    kept = []
    prepare = engine.prepare
    engine.prepare = lambda *words: kept.append(prepare(*words)) or kept[-1]
    try:
        state = start(scheme, world, streams, engine)
        for _ in range(3):
            engine.up = engine.down = 0
            state, report = play_round(scheme, Turn(world, state, streams), engine, measure=False)
            said = kept[-1]
            columns = (said.finite, said.loss, said.energy, said.common, said.index, said.value)
            payloads = sum(c.nbytes for c in columns)
            broadcasts = 2 * world.dim * 4
            assert report.plan.active.any()
            assert engine.up == pytest.approx(payloads, rel=0.1)
            assert engine.down == pytest.approx(broadcasts, rel=0.1)
            assert payloads < 0.4 * world.devices * world.dim * 4
    finally:
        engine.close()


def test_what_is_packed_is_what_is_unpacked():
    setup = build(small())
    world, learn = unpack(pack(ray, setup.world, setup.scheme.learn))
    assert learn.backend.data is world.data
    assert learn.backend.model is world.model
    assert world.shards == ()
    assert torch.equal(world.data.train_x, setup.world.data.train_x)
    assert torch.equal(world.model.initial(), setup.world.model.initial())
    dice = np.full((1, learn.dice), 0.3)
    turn, nobody = turn_at(setup, 1), np.array([0])
    assert torch.equal(setup.scheme.learn(turn, nobody, dice)[0], learn(turn, nobody, dice)[0])


@dataclass(frozen=True)
class Refuses(TopK):
    """A codec that no device can use."""

    def encode(self, *_):
        raise BadInput("scheme.bits = 99: must be less")


def test_what_is_wrong_on_an_actor_is_said_here():
    setup = build(small())
    engine = RayEngine(setup.world, setup.scheme.learn, 1)
    everyone, turn = Invited(np.ones(6, dtype=bool)), turn_at(setup, 1)
    codec = Refuses(setup.world.dim, 3, 8)
    try:
        with pytest.raises(BadInput, match=r"^scheme\.bits = 99: must be less$"):
            engine.prepare(turn, setup.scheme.learn, codec, codec.agree(turn), everyone)
    finally:
        engine.close()


def test_a_worker_that_lacks_a_module_says_so(monkeypatch):
    here_only = types.ModuleType("here_only")
    exec("class Learn:\n    dice, block = 0, 1\n    def __call__(self, *_): ...", vars(here_only))
    monkeypatch.setitem(sys.modules, "here_only", here_only)
    with pytest.raises(BadInput, match=r"a worker cannot begin .*No module named 'here_only'"):
        RayEngine(build(small()).world, here_only.Learn(), 1)


def test_stacked_devices_agree_to_the_accuracy_of_their_type():
    training = {"dtype": "float32", "backend": "stacked", "rounds": 3}
    here = airfeel.run(small(training=training))
    there = airfeel.run(small(training=training, run={"engine": "ray", "actors": 2}))
    torch.testing.assert_close(there.theta, here.theta, rtol=1e-4, atol=1e-5)

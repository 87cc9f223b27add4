"""A sweep on Ray leaves what a local sweep leaves, whatever happens to its workers."""

import os
import signal
from types import ModuleType

import pytest

from airfeel.runs.signals import Interrupted, Signals
from airfeel.sweeps.pool import Trial
from airfeel.sweeps.sweep import Sweep
from airfeel.sweeps.sweep_ray import Nodes, nodes
from airfeel.types import BadInput
from small import small
from stopping import content

ray = pytest.importorskip("ray", reason='Ray is not installed: pip install "airfeel[ray]"')

ROUNDS = 250


@pytest.fixture(scope="module", autouse=True)
def cluster():
    with nodes(None) as found:
        yield found


def trials(folder, rounds=ROUNDS):
    run = {"checkpoint_every": 5, "eval_every": 5}
    made = [small(training={"rounds": rounds}, run=run | {"seed": seed}) for seed in (0, 1)]
    return [Trial(f"{e.run.seed}", e, folder / f"{e.run.seed}") for e in made]


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What a local sweep leaves."""
    sweep = Sweep(trials(tmp_path_factory.mktemp("local")), 2)
    sweep.play(Signals(), lambda _: None)
    return [content(t.folder) for t in sweep.trials]


def some_rounds(trial):
    path = trial.folder / "rounds.csv"
    return path.exists() and path.read_bytes().count(b"\n") > 8


def test_lost_workers_are_replaced(tmp_path, cluster, expected):
    sweep = Sweep(trials(tmp_path), 2, cluster.start)
    killed = []

    def kill_each(sweep):
        for trial in sweep.trials:
            if trial.folder in sweep.running and trial not in killed and some_rounds(trial):
                actor = sweep.running[trial.folder].actor
                os.kill(ray.get(actor.__ray_call__.remote(lambda _: os.getpid())), signal.SIGKILL)
                killed.append(trial)

    sweep.play(Signals(), kill_each, seconds=0.02)
    assert len(killed) == 2
    assert sweep.faults == {}
    assert [content(t.folder) for t in sweep.trials] == expected


def test_a_stopped_sweep_is_saved_and_goes_on(tmp_path, cluster, expected):
    signals, trial = Signals(), trials(tmp_path)[0]

    def stop(sweep):
        if some_rounds(trial):
            signals.received = signal.SIGTERM

    with pytest.raises(Interrupted):
        Sweep([trial], 1, cluster.start).play(signals, stop, seconds=0.02)
    assert not trial.done
    again = Sweep([trial], 1, cluster.start)
    again.play(Signals(), lambda _: None)
    assert again.faults == {}
    assert content(trial.folder) == expected[0]


def test_faults_are_told_and_stop_nobody(tmp_path, cluster):
    one, two = trials(tmp_path, rounds=2)
    (tmp_path / "0").write_text("in the way")
    sweep = Sweep([one, two], 1, cluster.start)
    sweep.play(Signals(), lambda _: None)
    assert list(sweep.faults) == [one.folder]
    assert "already holds something" in sweep.faults[one.folder]
    assert two.done


def test_room_for_trials():
    ray = ModuleType("ray")
    ray.cluster_resources = lambda: {"CPU": 8.0, "GPU": 1.0}
    assert Nodes(ray).room == 8
    assert Nodes(ray, cpus=0.5).room == 16
    assert Nodes(ray, cpus=3.0).room == 2
    assert Nodes(ray, cpus=1.0, gpus=0.25).room == 4
    assert Nodes(ray, cpus=64.0).room == 1


def test_the_error_names_the_option(monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(BadInput, match="--address = 'nowhere'"), nodes("nowhere"):
        pass

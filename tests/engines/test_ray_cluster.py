"""A cluster of two nodes, one of which goes away; and Ray that is not there at all."""

import subprocess
import sys

import pytest
from results import results

import airfeel
from airfeel.engines.cluster import joined
from airfeel.runs import runner
from airfeel.types import BadInput
from small import small

LOUD = "ignore::pytest.PytestUnraisableExceptionWarning"  # Ray leaves the logs of its nodes open


def test_without_ray_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BadInput, match=r'run.engine = "ray".*pip install "airfeel\[ray\]"'):
        airfeel.run(small(run={"engine": "ray"}), tmp_path / "r")
    assert not (tmp_path / "r").exists()
    airfeel.run(small(training={"rounds": 1}), tmp_path / "r")


def test_nothing_imports_ray_that_does_not_use_it():
    look = "import sys, airfeel, airfeel.cli; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], check=False).returncode == 0


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "nowhere"])
def test_an_address_where_nobody_answers(address):
    pytest.importorskip("ray", reason='Ray is not installed: pip install "airfeel[ray]"')
    with pytest.raises(BadInput, match=f"run.address = '{address}'"), joined(address):
        pass


@pytest.mark.filterwarnings(LOUD, "ignore::ResourceWarning")
def test_two_nodes_one_of_which_goes_away(tmp_path, monkeypatch):
    pytest.importorskip("ray", reason='Ray is not installed: pip install "airfeel[ray]"')
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    airfeel.run(small(), tmp_path / "local")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        second = cluster.add_node(num_cpus=1)
        watcher = Leaves(4, lambda: cluster.remove_node(second, allow_graceful=False))
        monkeypatch.setattr(runner, "RayEngine", watcher.noting(runner.RayEngine))
        e = small(run={"engine": "ray", "address": cluster.address, "checkpoint_every": 3})
        with pytest.warns(UserWarning, match="a worker of the Ray cluster is lost"):
            airfeel.run(e, tmp_path / "r", [watcher])
    finally:
        cluster.shutdown()
    assert watcher.nodes[0] == 2
    assert watcher.nodes[-1] == 1
    assert results(tmp_path / "r") == results(tmp_path / "local")


class Leaves:
    """Notes how many nodes an engine's actors are on, and has one of them leave after a round."""

    def __init__(self, round, leave):
        self.round, self.leave, self.nodes = round, leave, []

    def noting(self, engine):
        def make(*words):
            made = engine(*words)
            node = made._ray.get_runtime_context
            ids = [a.__ray_call__.remote(lambda _: node().get_node_id()) for a in made._actors]
            self.nodes.append(len(set(made._ray.get(ids))))
            return made

        return make

    def begin(self, experiment, world):
        pass

    def row(self, row):
        if row["round"] == self.round:
            self.round = -1
            self.leave()

    def end(self, summary):
        pass

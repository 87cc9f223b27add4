"""An engine that loses a part of itself: the run goes back to its checkpoint, to the same end."""

import numpy as np
import pytest
import torch
from results import results

import airfeel
from airfeel.engines.base import Lost
from airfeel.engines.threads import Threads
from airfeel.runs import runner
from small import small


def settings(every):
    return small(training={"rounds": 8}, run={"checkpoint_every": every, "engine": "ray"})


@pytest.fixture
def fails(monkeypatch):
    """The calls of `prepare`, counted over all engines of the run, that find a worker lost."""
    calls, made = set(), []

    class Weak(Threads):
        def prepare(self, *words):
            made.append(self)
            if len(made) in calls:
                raise Lost("gone")
            return super().prepare(*words)

    monkeypatch.setattr(runner, "_engine_maker", lambda e, setup, stack: lambda: Weak(setup.world))
    return calls


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return airfeel.run(small(training={"rounds": 8}), tmp_path_factory.mktemp("whole") / "r")


@pytest.fixture
def whole(undisturbed):
    return results(undisturbed.folder)


@pytest.mark.parametrize(
    ("every", "lost", "rounds"), [(2, {6}, [4]), (0, {6}, [0]), (3, {1, 2, 8}, [0, 0, 3])]
)
def test_a_stored_run_comes_out_equal(tmp_path, fails, whole, every, lost, rounds):
    fails |= lost
    with pytest.warns(UserWarning, match="gone; back to round") as told:
        airfeel.run(settings(every), tmp_path / "r")
    assert [int(str(w.message).split()[-1]) for w in told] == rounds
    assert results(tmp_path / "r") == whole


@pytest.mark.parametrize("every", [0, 3])
def test_a_run_without_a_folder_too(fails, undisturbed, every):
    fails |= {2, 6, 11}
    with pytest.warns(UserWarning, match="gone"):
        run = airfeel.run(settings(every))
    assert torch.equal(run.theta, undisturbed.theta)
    for name in set(run.columns) - {"seconds"}:
        np.testing.assert_array_equal(run.columns[name], undisturbed.columns[name])


def test_it_does_not_try_for_ever(tmp_path, fails):
    fails |= set(range(5, 100))
    with (
        pytest.warns(UserWarning, match="back to round 3") as told,
        pytest.raises(Lost, match="gone"),
    ):
        airfeel.run(settings(3), tmp_path / "r")
    assert len(told) == 3
    assert not (tmp_path / "r" / "summary.json").exists()


def test_many_losses_with_checkpoints_in_between_are_survived(tmp_path, fails, whole):
    fails |= {3, 5, 7, 9, 11}
    with pytest.warns(UserWarning, match="gone") as told:
        airfeel.run(settings(1), tmp_path / "r")
    assert len(told) == 5
    assert results(tmp_path / "r") == whole

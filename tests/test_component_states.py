"""Each component's state lies under its own path: equal names of two components do not meet."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import airfeel
from airfeel import carry
from airfeel.build.setup import build
from airfeel.radio.selection.device_selection import Everyone
from airfeel.server.hold import Hold
from airfeel.storage import checkpoint
from airfeel.types import BadInput, ComponentStates, Turn
from own.stranger import left, stopped_and_resumed
from small import play, small, turn_at

TOGETHER = {  # by what both components call an array: settings, and the paths of both
    "heard": (
        ("tcs-h", {"cell": {"model": "umi"}, "scheme": {"invite": "proportional-fair"}}),
        ("invite/heard", "meters.0/heard"),
    ),
    "norm": (
        ("d-dsgd", {"scheme": {"invite": "energy-queue", "options": {"entries": "norm"}}}),
        ("invite/norm", "invite.invite/norm"),
    ),
    "queue": (
        (
            "tcs-h",
            {"scheme": {"invite": {"name": "energy-queue", "compute": 1e-3}, "plan": "drift"}},
        ),
        ("invite/queue", "plan/queue"),
    ),
}


@pytest.mark.parametrize("case", TOGETHER)
def test_components_whose_states_have_equal_names_run_resume_and_keep_both(case, tmp_path):
    (name, changes), paths = TOGETHER[case]
    e = small(name, **changes, run={"checkpoint_every": 2})
    whole = airfeel.run(e, tmp_path / "whole")
    assert whole.summary["rounds"] == 12
    assert left(tmp_path / "whole") == stopped_and_resumed(e, tmp_path / "stopped")
    *_, (_, after, _, _) = play(build(e), 6)
    one, other = (np.asarray(after.carry[path]) for path in paths)
    assert not np.array_equal(one, other, equal_nan=True)


def test_each_of_two_equal_names_is_what_its_own_component_makes_of_it():
    (name, changes), _ = TOGETHER["heard"]
    share, count = np.zeros(6), np.zeros(6)
    for _, after, report, _ in play(build(small(name, **changes)), 6):
        share, count = 0.9 * share + 0.1 * report.plan.active, count + report.plan.active
        np.testing.assert_allclose(after.carry["invite/heard"], share)
        np.testing.assert_array_equal(after.carry["meters.0/heard"], count)


def test_grants_by_norm_are_the_same_with_and_without_another_norm_beside_them():
    """d-dsgd shares its phase out by ‖x‖₂, energy-queue keeps squared norms of symbols."""
    options = {"options": {"entries": "norm"}}
    for invite in ("everyone", "energy-queue"):
        played = play(build(small("d-dsgd", scheme={"invite": invite, **options})), 4)
        for before, after, report, _ in played[1:]:
            told = np.asarray(before.carry["invite/norm"])
            assert np.isfinite(told).all()
            assert report.plan.active.any()
            assert not np.array_equal(told, after.carry["invite/norm"])


def test_a_summary_counts_devices_in_a_cell_only():
    fair = {"scheme": {"invite": "proportional-fair"}}
    assert "heard" not in airfeel.run(small("tcs-h", **fair)).summary
    run = airfeel.run(small("tcs-h", cell={"model": "umi"}, **fair))
    counted = run.summary["heard"]
    assert sum(counted) == run.columns["scheduled"].sum()
    assert all(isinstance(n, int) for n in counted)


def test_the_gap_of_a_summary_is_that_of_a_plan_within_another():
    @dataclass(frozen=True)
    class Around:
        plan: object

        def __call__(self, turn, said, fading):
            return self.plan(turn, said, fading)

    setup = build(small("tcs-d", radio={"allocator": "exact"}))
    scheme = dataclasses.replace(setup.scheme, plan=Around(setup.scheme.plan))
    *_, (_, after, _, _) = play(dataclasses.replace(setup, scheme=scheme), 2)
    assert list(after.carry) == ["plan.plan/gap"]
    assert np.isfinite(after.carry["gap"])


@dataclass(frozen=True)
class Counting:
    """Invites everyone; counts rounds as `heard` and reads it as older components do."""

    def __call__(self, turn, fading):
        assert turn.state.carry["heard"] == turn.state.round
        return Everyone()(turn, fading)

    def begin(self, turn):
        return {"heard": np.zeros(())}

    def advance(self, turn, happened):
        return {"heard": np.asarray(turn.state.carry["heard"] + 1.0)}


def test_a_components_own_name_works_beside_another_component_of_that_name():
    setup = build(small("tcs-h", cell={"model": "umi"}))
    scheme = dataclasses.replace(setup.scheme, invite=Counting())
    *_, (_, after, _, _) = play(dataclasses.replace(setup, scheme=scheme), 3)
    assert after.carry["invite/heard"] == 3.0
    assert len(after.carry["meters.0/heard"]) == 6


@dataclass(frozen=True)
class Outer:
    """Keeps `heard`, and so does the component within it."""

    inner: Counting
    explicit: bool

    def __call__(self, turn, fading):
        own = turn.state_of(self)["heard"] if self.explicit else turn.state.carry["heard"]
        assert own == -turn.state.round
        return Everyone()(turn, fading)

    def begin(self, turn):
        return {"heard": np.zeros(())}

    def advance(self, turn, happened):
        return {"heard": np.asarray(turn.state_of(self)["heard"] - 1.0)}


@dataclass(frozen=True)
class Exact(Counting):
    """Reads its own state by itself."""

    def advance(self, turn, happened):
        return {"heard": np.asarray(turn.state_of(self)["heard"] + 1.0)}


def test_a_name_of_a_component_and_of_one_within_it_is_refused_unless_it_says_whose():
    setup = build(small("tcs-h"))
    for explicit in (True, False):
        scheme = dataclasses.replace(setup.scheme, invite=Outer(Exact(), explicit))
        mine = dataclasses.replace(setup, scheme=scheme)
        if explicit:
            *_, (_, after, _, _) = play(mine, 3)
            assert (after.carry["invite/heard"], after.carry["invite.inner/heard"]) == (-3.0, 3.0)
        else:
            with pytest.raises(BadInput) as refused:
                play(mine, 3)
            assert str(refused.value) == (
                "component state: invite and invite.inner keep 'heard'; "
                "read it by turn.state_of(self)['heard']"
            )


def test_a_component_without_a_state_is_named():
    states = ComponentStates({"invite": Counting()}, {"invite": {}})
    with pytest.raises(BadInput, match="Everyone is not a component of this scheme with a state"):
        states.of(Everyone())


def test_only_one_component_may_publish_a_name():
    setup = build(small("tcs-h", scheme={"step": "hold"}))
    assert setup.scheme.step.publishes == ("newest",)

    @dataclass(frozen=True)
    class Two:
        one: Hold
        other: Hold

        def __call__(self, turn, decoded):
            return decoded.update

    scheme = dataclasses.replace(setup.scheme, step=Two(Hold(), Hold()))
    turn = Turn(setup.world, turn_at(setup, 1).state, setup.streams)
    with pytest.raises(BadInput, match=r"step.one and step.other both publish 'newest'; only one"):
        carry.begin(scheme, turn)


def test_what_is_not_published_is_not_read_by_that_way():
    @dataclass(frozen=True)
    class Secret(Counting):
        publishes: ClassVar[tuple[str, ...]] = ()

    turn = turn_at(build(small()), 1)
    states = ComponentStates({"invite": Secret()}, {"invite": {"heard": np.ones(2)}})
    turn = dataclasses.replace(turn, state=dataclasses.replace(turn.state, carry=states))
    assert turn.published("heard") is None


def test_a_checkpoint_with_names_without_paths_is_refused_in_one_line(tmp_path):
    e = small("tcs-h", run={"checkpoint_every": 2})
    stopped_and_resumed(e, tmp_path / "run")
    path = tmp_path / "run" / checkpoint.NEWEST
    found = checkpoint.read(path)
    assert list(found.state.carry) == ["plan/gap"]
    flat = {name.partition("/")[2]: value for name, value in found.state.carry.items()}
    old = dataclasses.replace(found, state=dataclasses.replace(found.state, carry=flat))
    checkpoint.write(tmp_path / "run", old)
    (tmp_path / "run" / "summary.json").unlink()
    with pytest.raises(BadInput) as refused:
        airfeel.resume(tmp_path / "run")
    assert str(refused.value) == (
        "checkpoint: is of an older version, whose component states have no paths ('gap'); "
        "remove the checkpoints to start over"
    )

"""By what runs are compared."""

import math

import pytest
from made_runs import made

from airfeel.analysis.criterion import Judge, parse_judge, shared, spent
from airfeel.analysis.series import evaluated
from airfeel.types import BadInput
from small import small


def test_accuracy_at_a_budget_is_the_last_one_measured_within_it():
    columns = made([0.1, 0.3, math.nan, 0.7], [0, 10, 20, 30]).columns
    x, y = columns["resource_blocks"], columns["test_accuracy"]
    found = [evaluated(x, y, b).accuracy for b in (0, 9, 10, 29, 30)]
    assert found == [0.1, 0.1, 0.3, 0.3, 0.7]


@pytest.mark.parametrize(
    ("text", "by", "at"),
    [
        ("final", "final", None),
        ("blocks", "blocks", None),
        ("blocks=5e5", "blocks", 5e5),
        ("joules=0.5", "joules", 0.5),
        ("rounds=30", "rounds", 30.0),
        ("target=0.9", "target", 0.9),
    ],
)
def test_judges_by_name(text, by, at):
    judge = parse_judge(text)
    assert judge.by == by
    assert math.isnan(judge.at) if at is None else judge.at == at


@pytest.mark.parametrize(
    "text",
    [
        *("", "best", "final=3", "target", "blocks=", "blocks=0", "blocks=-1", "target=90"),
        *("joules=nan", "rounds=1e999", "blocks=1=2", "blocks=..", "x" * 500),
    ],
)
def test_anything_else_is_refused_in_one_short_line(text):
    with pytest.raises(BadInput, match="--judge") as error:
        parse_judge(text)
    assert len(str(error.value)) < 400


def test_each_judge_reads_its_own_place():
    e = small(radio={"symbol_seconds": 0.5})
    energy = {"energy_mean": [math.nan, 2.0, 2.0, 2.0]}
    run = made([0.1, 0.3, 0.5, 0.7], [0, 10, 20, 30], e=e, **energy)
    assert spent(run, "joules").tolist() == [0, 3, 6, 9]
    assert Judge("final").score(run) == 0.7
    assert Judge("rounds", 2.0).score(run) == 0.5
    assert Judge("blocks", 19.0).score(run) == 0.3
    assert Judge("joules", 6.5).score(run) == 0.5
    assert Judge("target", 0.5).score(run) == 20
    for text in ("rounds=4", "blocks=31", "joules=10", "target=0.8"):
        judge = parse_judge(text)
        assert not judge.reached(run)
        assert math.isnan(judge.score(run))


def test_unknown_joules_are_not_reached():
    assert not Judge("joules", 1.0).reached(made([0.1, 0.3], [0, 10]))


def test_a_budget_without_room_for_another_round_is_used_up():
    e = small(budget={"resource_blocks": 40})
    full = made([0.1, 0.7], [0, 32], e=e, reason="budget")
    assert Judge("blocks", 40.0).score(full) == 0.7
    assert not Judge("blocks", 41.0).reached(full)
    assert not Judge("blocks", 40.0).reached(made([0.1, 0.7], [0, 32], e=e, reason="stalled"))
    assert not Judge("blocks", 40.0).reached(made([0.1, 0.7], [0, 32], e=e, reason="rounds"))


def test_what_all_reached_is_set_by_runs_that_ended_in_their_time():
    full, stalled, unfinished = (
        made([0.1, 0.7], [0, 32]),
        made([0.1, 0.2], [0, 8], reason="stalled"),
        made([0.1, 0.2], [0, 16], reason=None),
    )
    assert shared({"a": [full, stalled], "b": [unfinished]}) == 32
    assert shared({"a": [stalled], "b": [unfinished]}) == 8

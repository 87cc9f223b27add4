"""Evaluations at budgets of resource blocks, and comparisons that refuse stale ones."""

import math

import numpy as np
import pytest
from made_runs import made

import airfeel
import stopping
from airfeel.analysis.criterion import Judge, parse_judge, shared
from airfeel.analysis.ranking import lines
from airfeel.analysis.series import evaluated, evaluated_below, late_accuracy
from airfeel.reports.summary import markdown, said
from airfeel.reports.tidy import tidy
from airfeel.settings import columns
from airfeel.storage.reader import open_run
from small import small
from stopping import content

ROUNDS = {"rounds": 20}


def settings(scheme="tcs-h", training=ROUNDS, budget=None, **run):
    return small(scheme, training=training, budget=budget or {}, run={"eval_every": 7} | run)


@pytest.fixture(scope="module")
def each():
    """The run that is evaluated in every round."""
    return airfeel.run(settings(eval_every=1))


def last_within(run, budget):
    return int(np.flatnonzero(run.columns["resource_blocks"] <= budget)[-1])


def test_the_last_round_within_each_budget_is_evaluated(tmp_path, each):
    x = each.columns["resource_blocks"]
    asked = [int(x[4]), int(x[9]) - 1, int(x[9]), int(x[-1]) + 1]
    run = airfeel.run(settings(eval_at_blocks=asked), tmp_path / "run")
    rounds = {0, 7, 14, 20} | {last_within(each, budget) for budget in asked}
    assert set(np.flatnonzero(~np.isnan(run.accuracy))) == rounds
    known = ~np.isnan(run.accuracy)
    assert run.accuracy[known].tolist() == each.columns["test_accuracy"][known].tolist()
    assert open_run(run.folder).accuracy[known].tolist() == run.accuracy[known].tolist()


def test_evaluations_by_resource_blocks(each):
    every = int(each.columns["resource_blocks"][3])
    run = airfeel.run(settings(eval_every_blocks=every))
    used = int(each.columns["resource_blocks"][-1])
    for budget in range(every, used + 1, every):
        assert evaluated(run.columns["resource_blocks"], run.accuracy, budget).age == 0.0
    assert np.isnan(run.accuracy).any()


def test_the_last_round_of_a_run_is_evaluated_where_the_next_has_no_room(each):
    blocks = int(each.columns["resource_blocks"][11])
    budget = {"resource_blocks": blocks}
    truth = airfeel.run(settings(budget=budget, eval_every=1))
    run = airfeel.run(settings(budget=budget, eval_at_blocks=[blocks]))
    assert run.summary["reason"] == "budget"
    assert math.isnan(run.columns["test_accuracy"][-1])
    assert run.accuracy[-1] == truth.columns["test_accuracy"][-1]


def test_such_evaluations_change_nothing_else(tmp_path):
    plain = airfeel.run(settings(), tmp_path / "plain")
    more = airfeel.run(settings(eval_every_blocks=60), tmp_path / "more")
    assert not set(columns.BEFORE) & set(plain.columns)
    for name in plain.columns.keys() - {"seconds"}:
        np.testing.assert_array_equal(plain.columns[name], more.columns[name])
    for name in ("devices.csv", "model.safetensors"):
        assert (tmp_path / "more" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()


@pytest.mark.parametrize("rows", [2, 5, 9])
@pytest.mark.parametrize("scheme", ["tcs-h", "top-k"])
def test_a_run_with_such_evaluations_resumes_to_the_same_bytes(tmp_path, scheme, rows):
    e = settings(scheme, eval_every_blocks=60, eval_at_blocks=[100], checkpoint_every=1)
    airfeel.run(e, tmp_path / "whole")
    folder = stopping.interrupted(tmp_path / "cut", rows, e)
    airfeel.resume(folder)
    assert content(folder) == content(tmp_path / "whole")


def test_an_age_is_what_was_spent_after_the_evaluation_within_the_budget():
    x, y = np.array([0, 100, 150, 400]), np.array([0.1, 0.5, math.nan, 0.8])
    assert evaluated(x, y, 120).age == 0.0  # the next round does not fit
    assert evaluated(x, y, 200).age == 0.25
    assert evaluated(x, y, 400).age == 0.0


def test_the_largest_budget_with_an_evaluation_that_is_not_stale():
    x, y = np.array([0, 100, 104, 150, 400]), np.array([0.1, 0.5, *[math.nan] * 2, 0.8])
    assert evaluated_below(x, y, 399.0) == 149.0  # 4 of 149 are below 5 %, 50 of 399 are not
    assert evaluated_below(x, y, 400.0) == 400.0
    assert evaluated_below(x, np.array([0.1, *[math.nan] * 4]), 399.0) == -math.inf


def made_groups():
    """One evaluated every round, and one whose rounds are expensive: at the start and the end."""
    cheap = [made([0.2, 0.5, 0.7, 0.8], [0, 30, 60, 100], seed=s) for s in range(3)]
    dear = [made([0.2, math.nan, 0.75], [0, 60, 100], seed=s) for s in range(3)]
    return {"cheap": cheap, "dear": dear}


def test_a_stale_point_is_marked_and_takes_no_part_in_differences():
    groups, judge = made_groups(), Judge("blocks", 80.0)
    first, second = lines(groups, judge)
    assert (second.label, second.there, second.stale, second.age) == ("dear", 0, 3, 0.75)
    assert second.difference is None
    assert math.isnan(second.score)
    assert math.isnan(second.p_holm)
    assert first.score == pytest.approx(0.7)
    text = markdown(groups, judge)
    assert "| dear   | stale " in text
    assert "evaluation age" in text
    assert "run.eval_at_blocks=[80]" in text
    assert "behind" not in text
    row = tidy(groups, judge).splitlines()[-1].split(",")
    assert (row[6], row[7], row[8]) == ("", "0.75", "1")


def test_a_common_budget_is_one_at_which_all_are_evaluated():
    groups = made_groups()
    assert shared(groups) == 100
    assert "evaluation age" not in markdown(groups)
    late = {"cheap": groups["cheap"], "late": [made([0.2, 0.4, math.nan], [0, 55, 90])]}
    assert shared(late) == 89
    assert "89 resource blocks, the most at which every run was evaluated" in said(late)
    never = {"cheap": groups["cheap"], "never": [made([0.2, math.nan], [0, 90])]}
    assert shared(never) == 90
    assert "never is not compared in 1 of 1 runs" in said(never)


@pytest.mark.parametrize("judge", ["final", "rounds", "rounds=2", "joules=4"])
def test_other_criteria_refuse_stale_evaluations_too(judge):
    energy = {"energy_mean": [math.nan, 1.0, 1.0]}
    e = small(radio={"symbol_seconds": 1.0})
    stale = made([0.2, math.nan, math.nan], [0, 50, 90], e=e, reason="rounds", **energy)
    by = parse_judge(judge).settled({"stale": [stale]})
    assert math.isnan(by.score(stale))
    assert "run.eval_every" in said({"stale": [stale]}, by)


def test_a_late_accuracy_is_not_known_where_the_last_evaluation_is_stale():
    run = made([0.2, 0.4, math.nan, math.nan], [0, 50, 52, 90])
    assert late_accuracy(run, "resource_blocks", 52.0) == 0.4
    assert math.isnan(late_accuracy(run, "resource_blocks", 90.0))

"""Who is ahead, how sure that is, and what did not get there."""

import math
from dataclasses import astuple

import numpy as np
import pytest
from made_runs import made

import airfeel
from airfeel.analysis.criterion import Judge
from airfeel.analysis.paired import paired
from airfeel.analysis.ranking import lines, verdict
from airfeel.reports.summary import latex, markdown, said, whole_sheet
from small import small


def seeds(*rows, **how):
    return [made(accuracy, blocks, seed, **how) for seed, (accuracy, blocks) in enumerate(rows)]


def final(*accuracies, blocks=10, **how):
    """One run per accuracy, at its end."""
    return seeds(*(([0.1, a], [0, blocks]) for a in accuracies), **how)


def test_table_and_sentence_follow_from_the_rows():
    groups = {
        "slow": seeds(*[([0.1, 0.3, 0.5], [0, 50, 100])] * 2),
        "quick": seeds(([0.1, 0.6, 0.9], [0, 40, 80]), ([0.1, 0.4, 0.7], [0, 40, 80])),
        "free": seeds(*[([0.1, 0.8], [0, 0])] * 2),
    }
    by = Judge().settled(groups)
    assert (by.at, by.shared) == (80, True)
    table = lines(groups)
    assert [line.label for line in table] == ["quick", "slow", "free"]
    assert table[0].score == table[0].accuracy == pytest.approx(0.8)
    assert table[0].score_spread == pytest.approx(np.std([0.9, 0.7], ddof=1))
    assert table[1].score == pytest.approx(0.3)
    assert (table[2].free, table[2].score) == (True, pytest.approx(0.8))
    words = verdict(table, by)
    assert (
        "At 80 resource blocks, the most that every run reached, quick has 80.0 ± 14.1 %" in words
    )
    assert "slow is 50.0 points behind" in words
    assert "free, which is free and noiseless, ends 0.0 points above" in words


def test_a_lead_on_every_seed_is_a_lead_however_much_seeds_differ():
    groups = {"a": final(0.9, 0.7, 0.5, 0.3), "b": final(0.88, 0.69, 0.48, 0.29)}
    second = lines(groups)[1]
    expected = paired(np.array([0.88, 0.69, 0.48, 0.29]), np.array([0.9, 0.7, 0.5, 0.3]))
    assert astuple(second.difference) == pytest.approx(astuple(expected), nan_ok=True)
    assert second.p_holm < 0.05
    assert "b is 1.5 points behind [0.6, 2.4]." in said(groups)
    assert "paired by seed" in said(groups)


def test_one_difference_in_two_seeds_is_no_proof_and_none_is_no_lead():
    groups = {"a": final(0.9, 0.7), "b": final(0.89, 0.69), "c": final(0.9, 0.7)}
    told = said(groups)
    assert "b is 1.0 points behind [1.0, 1.0], not significant" in told
    assert "c is level [0.0, 0.0], not significant" in told


def test_other_data_are_told():
    groups = {"a": final(0.9), "b": final(0.5, e=small(data={"dataset": "digits"}))}
    assert "Groups differ in data.dataset" in said(groups)
    assert "differ in data" not in said({"a": final(0.9), "b": final(0.5)})


def test_a_lead_that_chance_may_give_is_called_so():
    groups = {"a": final(0.9, 0.5, 0.7), "b": final(0.6, 0.7, 0.65)}
    assert "not significant" in said(groups)


def test_many_comparisons_are_corrected_together():
    a = (0.9, 0.7, 0.5, 0.3)
    groups = {"a": final(*a)} | {
        f"b{i}": final(*(x - y for x, y in zip(a, (0.02, 0.01, 0.03 + i / 100, 0.01), strict=True)))
        for i in range(4)
    }
    rest = lines(groups)[1:]
    assert all(line.p_holm >= line.difference.p for line in rest)
    assert max(line.p_holm / line.difference.p for line in rest) == pytest.approx(4)
    assert "Holm's correction for 4 comparisons" in said(groups)


def test_only_shared_seeds_are_paired():
    groups = {"a": final(0.9, 0.8, 0.7), "b": final(0.5, 0.4, 0.3)[1:]}
    assert lines(groups)[1].difference.n == 2


def test_one_seed_has_no_interval():
    groups = {"a": final(0.9), "b": final(0.8)}
    assert said(groups).endswith("b is 10.0 points behind.")
    assert "p (Holm)" not in whole_sheet(groups).head


def test_a_run_that_stalls_does_not_decide_where_all_are_judged_and_is_marked():
    groups = {
        "good": seeds(([0.1, 0.2, 0.9], [0, 50, 100])),
        "poor": seeds(([0.1, 0.3, 0.5], [0, 50, 100])),
        "starved": seeds(([0.1, 0.35], [0, 50]), reason="stalled"),
    }
    by = Judge().settled(groups)
    assert by.at == 100
    table = lines(groups)
    assert [(line.label, line.there) for line in table] == [
        ("good", 1),
        ("poor", 1),
        ("starved", 0),
    ]
    words = verdict(table, by)
    assert "good has 90.0 %" in words
    assert "starved did not get there in 1 of 1 runs (1 of 1 stalled after 1 rounds)" in words
    assert "the most that every run reached that did not end early" in words
    row = next(r for r in whole_sheet(groups).rows if r[0] == "starved")
    assert row[1] == "not reached"
    assert "1 of 1 stalled after 1 rounds" in row


def test_a_group_is_not_judged_by_those_of_its_runs_that_survived():
    groups = {
        "all": final(0.6, 0.6),
        "half": [*final(0.9), made([0.1, 0.2], [0, 4], 1, "diverged")],
    }
    assert [line.label for line in lines(groups)] == ["all", "half"]
    assert whole_sheet(groups).rows[1][1] == "90.0 (1 of 2)"


def test_nobody_heard_is_no_free_reference():
    silent = made([0.1, 0.1], [0, 0], reason="stalled", scheduled=[0, 0])
    groups = {"a": final(0.9), "silent": [silent], "free": seeds(([0.1, 0.8], [0, 0]))}
    assert {line.label: line.free for line in lines(groups)} == {
        "a": False,
        "silent": False,
        "free": True,
    }


def test_final_accuracy_names_what_it_cost():
    groups = {"dear": final(0.9, blocks=400), "cheap": final(0.6, blocks=10)}
    by = Judge("final")
    words = verdict(lines(groups, by), by)
    assert words.startswith("At its end, after 1 rounds and 400 resource blocks, dear has 90.0 %")
    assert "cheap is 30.0 points behind, with 0.025 times the blocks" in words


def test_another_winner_at_the_end_is_said():
    groups = {
        "dear": seeds(([0.1, 0.2, 0.9], [0, 10, 400])),
        "cheap": seeds(([0.1, 0.6], [0, 20])),
    }
    words = said(groups)
    assert "cheap has 60.0 %" in words
    assert "At the end of the runs dear has 90.0 % after 400 resource blocks, cheap 60.0 %" in words


def test_a_target_is_judged_by_the_blocks_up_to_it():
    groups = {
        "late": seeds(*[([0.1, 0.5, 0.8], [0, 50, 100])] * 2),
        "soon": seeds(([0.1, 0.8, 0.8], [0, 60, 100]), ([0.1, 0.8, 0.8], [0, 80, 100])),
        "never": seeds(*[([0.1, 0.5, 0.5], [0, 50, 100])] * 2),
    }
    by = Judge("target", 0.8)
    table = lines(groups, by)
    assert [(x.label, x.there) for x in table] == [("soon", 2), ("late", 2), ("never", 0)]
    words = verdict(table, by)
    assert words.startswith("soon reaches 80 % test accuracy with 70 ± 14 resource blocks")
    assert "late needs 30 more" in words
    assert "never did not get there in 2 of 2 runs (ended by rounds)" in words


def test_many_groups_are_named_in_the_table_and_the_best_in_the_sentence():
    groups = {f"g{i}": final(0.9 - i / 100, 0.8 - i / 100) for i in range(9)}
    assert "g4 is" in said(groups)
    assert "g5 is" not in said(groups)
    assert "4 more are in the table" in said(groups)


def test_five_seeds_have_a_bootstrap_too_in_every_table():
    a = np.array([0.9, 0.7, 0.5, 0.3, 0.6])
    groups = {"a": final(*a), "b": final(*(a - [0.02, 0.01, 0.02, 0.01, 0.05]))}
    for text in (markdown(groups), latex(groups)):
        assert "bootstrap 95" in text
        assert "p (Holm)" in text
    assert "paired by seed" in latex(groups)


def test_only_free_runs():
    groups = {"free": seeds(([0.1, 0.8], [0, 0]))}
    assert math.isnan(Judge().settled(groups).at)
    assert "nothing to compare" in said(groups)


def test_groups_that_differ_in_their_backend_say_so():
    other = made([0.1, 0.8], [0, 10], 1)
    other.summary["backend"] = "torch"
    groups = {"a": [*final(0.9), other], "b": final(0.5, 0.4)}
    assert "computed alike, which changes last digits: a seed 0" in markdown(groups)
    assert "a seed 1 by torch." in markdown(groups)
    same = markdown({"b": final(0.5, 0.4)})
    assert "Computed by native: the same seed gives the same bytes on one backend" in same


def test_top_level_door():
    assert set(airfeel.__all__) <= set(dir(airfeel))
    assert len(airfeel.__all__) <= 25


def test_schemes_with_settings_that_nothing_tuned_are_called_so():
    sentence = "Settings were not tuned per scheme."
    groups = {"a": final(0.9), "b": final(0.5, e=small("top-k"))}
    assert sentence in said(groups)
    assert sentence not in said({"a": final(0.9), "b": final(0.5, e=small(scheme={"bits": 8}))})

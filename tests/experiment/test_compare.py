import math

import numpy as np
import pytest

import airfeel
from airfeel.experiment.compare import lines, shared_blocks, verdict
from airfeel.experiment.readings import accuracy_at
from airfeel.experiment.runner import Run
from small import small


def made(accuracy, blocks):
    columns = {
        "round": np.arange(len(accuracy)),
        "test_accuracy": np.array(accuracy, dtype=float),
        "resource_blocks": np.array(blocks),
        "scheduled": np.full(len(accuracy), 3),
    }
    return Run(small(), columns, {})


def test_accuracy_at_a_budget_is_the_last_one_measured_within_it():
    columns = made([0.1, 0.3, math.nan, 0.7], [0, 10, 20, 30]).columns
    assert [accuracy_at(columns, b) for b in (0, 9, 10, 29, 30)] == [0.1, 0.1, 0.3, 0.3, 0.7]


def test_table_and_sentence_follow_from_the_rows():
    groups = {
        "slow": [made([0.1, 0.3, 0.5], [0, 50, 100]), made([0.1, 0.3, 0.5], [0, 50, 100])],
        "quick": [made([0.1, 0.6, 0.9], [0, 40, 80]), made([0.1, 0.4, 0.7], [0, 40, 80])],
        "free": [made([0.1, 0.8], [0, 0]), made([0.1, 0.8], [0, 0])],
    }
    assert shared_blocks(groups) == 80
    table = lines(groups)
    assert [line.label for line in table] == ["quick", "slow", "free"]
    assert table[0].accuracy == pytest.approx(0.8)
    assert table[0].accuracy_spread == pytest.approx(np.std([0.9, 0.7], ddof=1))
    assert table[1].accuracy == pytest.approx(0.3)
    assert (table[2].free, table[2].accuracy) == (True, pytest.approx(0.8))
    said = verdict(table, 80)
    assert "quick has 80.0 ± 14.1 % test accuracy" in said
    assert "slow is 50.0 points behind" in said
    assert "free, which is free and noiseless, ends 0.0 points above" in said


def test_a_lead_within_the_spread_is_called_so():
    groups = {
        "a": [made([0.1, 0.9], [0, 10]), made([0.1, 0.5], [0, 10])],
        "b": [made([0.1, 0.6], [0, 10]), made([0.1, 0.7], [0, 10])],
    }
    assert "within the spread" in verdict(lines(groups), 10)


def test_only_free_runs():
    groups = {"free": [made([0.1, 0.8], [0, 0])]}
    assert math.isnan(shared_blocks(groups))
    assert "nothing to compare" in verdict(lines(groups), shared_blocks(groups))


def test_top_level_door():
    assert set(airfeel.__all__) <= set(dir(airfeel))
    assert len(airfeel.__all__) <= 25

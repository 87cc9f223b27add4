"""Laws of the paired comparison."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from airfeel.analysis.paired import holm, paired

NUMBERS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=9)


@given(NUMBERS)
def test_to_swap_both_sides_mirrors_the_difference(pairs):
    a, b = np.array(pairs).T
    one, other = paired(a, b), paired(b, a)
    assert one.mean == pytest.approx(-other.mean)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert one.p == pytest.approx(other.p)
    assert one.low <= one.mean <= one.high


@given(NUMBERS, st.floats(-1, 1))
def test_what_both_sides_share_cancels(pairs, shift):
    a, b = np.array(pairs).T
    common = shift * np.arange(len(a))
    one, other = paired(a, b), paired(a + common, b + common)
    assert (one.mean, one.low, one.high) == pytest.approx(
        (other.mean, other.low, other.high), abs=1e-7
    )


def test_student_is_scipys_paired_test():
    a, b = np.random.default_rng(0).random((2, 7))
    theirs = stats.ttest_rel(a, b)
    ours = paired(a, b)
    assert ours.p == pytest.approx(theirs.pvalue)
    assert (ours.low, ours.high) == pytest.approx(tuple(theirs.confidence_interval(0.95)))


def test_the_bootstrap_begins_with_five_pairs_and_throws_the_same_dice():
    a, b = np.random.default_rng(1).random((2, 6))
    assert math.isnan(paired(a[:4], b[:4]).boot_low)
    d = paired(a, b)
    assert d.boot_low < d.mean < d.boot_high
    assert d == paired(a, b)


def test_intervals_hold_the_truth_as_often_as_they_say():
    draws = np.random.default_rng(2).normal(1.0, 1.0, (1000, 5))
    found = [paired(x, np.zeros(5)) for x in draws[:1000]]
    held = np.mean([d.low <= 1.0 <= d.high for d in found])
    assert 0.93 <= held <= 0.97


def test_few_or_equal_pairs():
    one = paired(np.array([0.5]), np.array([0.25]))
    assert (one.mean, one.n) == (0.25, 1)
    assert math.isnan(one.low)
    assert math.isnan(one.p)
    assert paired(np.zeros(0), np.zeros(0)).n == 0
    same = paired(np.ones(5), np.ones(5))
    assert (same.low, same.high, same.p) == (0.0, 0.0, 1.0)
    always = paired(np.arange(5.0), np.arange(5.0) - 0.5)
    assert (always.low, always.boot_high, always.p) == (0.5, 0.5, 2.0**-4)  # by signs
    assert paired(np.arange(2.0), np.arange(2.0) - 0.5).p == 0.5


def test_a_pair_that_is_not_known_leaves_nothing_to_judge():
    unknown = paired(np.arange(6.0), np.array([0.0, 1.0, 2.0, 3.0, 4.0, np.nan]))  # no warning
    assert unknown.n == 6
    assert math.isnan(unknown.mean)
    assert math.isnan(unknown.p)
    assert math.isnan(unknown.boot_low)


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_lies_between_no_correction_and_bonferroni_and_keeps_the_order(values):
    p = np.array(values)
    corrected = holm(p)
    assert (corrected >= p).all()
    assert (corrected <= np.minimum(p * len(p), 1.0) + 1e-12).all()
    assert (np.diff(corrected[np.argsort(p, kind="stable")]) >= 0).all()

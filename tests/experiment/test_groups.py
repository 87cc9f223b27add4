"""Runs belong together where they differ in the seed alone, in every table."""

import pytest
from made_runs import made

from airfeel.analysis.groups import check, group, peers, varied
from airfeel.types import BadInput
from small import small


def of(seed=0, **changes):
    return made([0.1, 0.5], [0, 10], seed, e=small(**changes))


def test_any_setting_that_can_change_a_result_parts_runs():
    others = [
        of(1, radio={"noise": 1e-5}),
        of(2, training={"rounds": 99}),
        of(3, run={"eval_every": 2}),
        of(4, training={"backend": "torch"}),
        of(5, budget={"slots": 100}),
        of(6, radio={"meters": ["latency"]}),  # a setting that came later
    ]
    runs = [of(0), of(7, run={"threads": 2}), *others]
    members, spare = peers(runs)
    assert [len(mates) for mates in members] == [2] + [1] * len(others)
    assert not spare
    groups, _ = group(runs)
    assert len(groups) == 1 + len(others)
    assert any("meters=none" in label and "noise=1e-05" in label for label in groups)


def test_settings_that_vary_are_named_in_the_order_of_the_file():
    e = [small(radio={"noise": n}, scheme={"bits": b}) for n, b in ((1e-6, 4), (1e-5, 8))]
    assert varied(e) == ["scheme.bits", "radio.noise"]
    assert varied([small(run={"seed": 1}), small(run={"seed": 2})]) == []


def test_a_label_of_two_settings_or_of_one_seed_twice_is_refused():
    check([("a", small(run={"seed": 0})), ("a", small(run={"seed": 1})), ("b", small())])
    with pytest.raises(
        BadInput, match=r"a: stands for runs that differ in scheme\.bits \(6 and 8\)"
    ):
        check([("a", small()), ("a", small(scheme={"bits": 8}, run={"seed": 1}))])
    with pytest.raises(BadInput, match="a: is asked for twice with seed 3"):
        check([("a", small()), ("a", small())])

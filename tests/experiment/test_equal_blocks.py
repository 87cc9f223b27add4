"""Comparisons at a budget of resource blocks, of runs that are seldom evaluated."""

import airfeel
from airfeel.analysis.criterion import parse_judge
from airfeel.analysis.ranking import lines

BLOCKS = 97_500


def compared(out, *overrides, judge=f"blocks={BLOCKS}"):
    found = airfeel.compare(
        schemes=("backlog", "tcs-h"),
        seeds=range(3),
        overrides=("training.rounds=25", *overrides),
        out=out,
        judge=judge,
    )
    return lines(found.groups, parse_judge(judge)), found


def test_equal_blocks_give_the_same_difference_however_seldom_runs_are_evaluated(tmp_path):
    """TCS-H's 20th round is beyond the budget: only its start was evaluated before it."""
    truth, _ = compared(tmp_path / "truth")
    seldom, _ = compared(tmp_path / "seldom", "run.eval_every=20")
    assert [line.score for line in seldom] == [line.score for line in truth]
    assert seldom[1].difference.mean == truth[1].difference.mean
    assert abs(seldom[1].difference.mean) < 0.1
    _, again = compared(tmp_path / "seldom", "run.eval_every=20")
    assert len(list((tmp_path / "seldom").glob("*/summary.json"))) == 6
    assert "behind" in again.verdict


def test_runs_that_were_evaluated_too_seldom_are_not_compared(tmp_path):
    compared(tmp_path, "run.eval_every=20", judge="final")
    table, found = compared(tmp_path, "run.eval_every=20")
    assert (table[1].label, table[1].there, table[1].stale) == ("tcs-h", 0, 3)
    assert "points behind" not in found.verdict
    assert f"run.eval_at_blocks=[{BLOCKS}]" in found.verdict
    table, _ = compared(tmp_path, "run.eval_every=20", f"run.eval_at_blocks=[{BLOCKS}]")
    assert table[1].there == 3

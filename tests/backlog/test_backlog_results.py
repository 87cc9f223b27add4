"""What results/backlog says is what its rows hold."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student

RESULTS = Path(__file__).parents[2] / "results" / "backlog"
LEAGUES = sorted(path.parent for path in RESULTS.glob("*/runs.csv"))

LINE = re.compile(
    r"^\| \d+ \| (.+?) \| ([\d.]+) ± ([\d.]+) \| (?:([\d.]+) \(([-\d.]+) to ([-\d.]+)\))? *\|"
)
ENOUGH = {"digits": 10, "fashion": 10, "cifar": 3}  # seeds; five for ablations and other radios


def rows(league):
    with (league / "runs.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_there_are_leagues():
    assert {"digits-classes", "digits-dirichlet", "digits-iid"} <= {path.name for path in LEAGUES}


@pytest.mark.parametrize("league", LEAGUES, ids=lambda path: path.name)
def test_no_run_of_backlog_ends_early(league):
    own = [row for row in rows(league) if row["contender"] == "backlog"]
    assert own
    assert {row["end"] for row in own} <= {"budget", "rounds"}


@pytest.mark.parametrize("league", LEAGUES, ids=lambda path: path.name)
def test_everyone_played_the_same_seeds_and_as_many_as_the_problem_allows(league):
    by = {}
    for row in rows(league):
        by.setdefault((row["contender"], row["slots"]), []).append(row["seed"])
    first = next(iter(by.values()))
    assert all(seeds == first for seeds in by.values())
    assert len(set(first)) >= ENOUGH.get(league.name.partition("-")[0], 5)
    assert all(int(seed) < 1000 for seed in first)  # those above served to tune


@pytest.mark.parametrize("league", LEAGUES, ids=lambda path: path.name)
def test_the_page_says_what_the_leagues_say(league):
    page = (RESULTS / "README.md").read_text("utf-8")
    said = [
        line for line in (league / "league.md").read_text("utf-8").splitlines() if line[:2] == "- "
    ]
    assert said
    assert all(line in page for line in said)


@pytest.mark.parametrize("league", LEAGUES, ids=lambda path: path.name)
def test_means_and_intervals_are_those_of_the_runs(league):
    accuracy = {}
    for row in rows(league):
        accuracy.setdefault((int(row["slots"]), row["contender"]), []).append(
            100.0 * float(row["accuracy"])
        )
    checked = set()
    for slots, who, mean, spread, *behind in ranks(league):
        own = np.array(accuracy[slots, who])
        assert (own.mean(), own.std(ddof=1)) == pytest.approx((mean, spread), abs=0.051)
        checked.add((slots, who))
        if behind[0] is None:
            first = own
            continue
        gap = first - own
        half = student.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / np.sqrt(len(gap))
        expected = gap.mean(), gap.mean() - half, gap.mean() + half
        assert expected == pytest.approx(tuple(behind), abs=0.051)
    assert checked == set(accuracy)


def ranks(league):
    """Each row of a page's tables by slots: slots, contender, mean, spread, how far behind."""
    slots = None
    for line in (league / "league.md").read_text("utf-8").splitlines():
        if line.startswith("## "):
            slots = int(line.split()[1].replace(",", "")) if line.endswith(" slots") else None
        elif slots and (found := LINE.match(line)):
            who, *numbers = found.groups()
            yield slots, who, *(None if n is None else float(n) for n in numbers)


def test_the_documentation_has_the_table_of_the_results():
    page = (RESULTS / "README.md").read_text("utf-8")
    told = (RESULTS.parents[1] / "docs" / "backlog.md").read_text("utf-8")
    problems = ("digits-classes", "digits-dirichlet", "digits-iid", "fashion-", "cifar-")
    lines = [
        line for line in page.splitlines() if line.startswith(tuple(f"| {p}" for p in problems))
    ]
    assert len(lines) >= 16
    assert all(line in told for line in lines)

"""What results/backlog says is what its rows hold."""

import csv
import importlib.util
import json
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
    glance = page.partition("## Edges of the grids")[0]
    lines = [
        line for line in glance.splitlines() if line.startswith(tuple(f"| {p}" for p in problems))
    ]
    assert len(lines) >= 16
    assert all(line in told for line in lines)


# --- edges of the grids


def beside(name):
    """A module beside the leagues' files."""
    path = RESULTS.parents[1] / "experiments" / "backlog" / f"{name}.py"
    found = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_a_best_setting_at_an_edge_is_told_and_one_inside_is_not(tmp_path):
    path = tmp_path / "tuning.csv"
    tried = [
        *[("A", {"radio.power_scalar": s}, 0.5 + (s == 3), s == 3) for s in (1, 2, 3)],
        *[("B", {"scheme.mask": {"name": "x", "large": v}}, 1 - v, v == 1) for v in (1, 2, 3)],
        *[("inside", {"x": x}, 0.5 + (x == 2), x == 2) for x in (1, 2, 3)],
        *[("two", {"x": x}, 0.1 * x, x == 2) for x in (1, 2)],
        *[("alike", {"x": x}, 0.1, x == 1) for x in (1, 2, 3)],
        *[("words", {"x": x, "on": False}, 0.1 * len(x), x == "c" * 3) for x in ("a", "bb", "ccc")],
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["contender", "slots", "settings", "accuracies", "mean", "chosen"])
        rows.writerow(["own", 500, "{}", "", "", 1])
        for who, settings, mean, chosen in tried:
            rows.writerow([who, 500, json.dumps(settings), "", mean, int(chosen)])
    told = "A (σ_t 3, the largest of 3); B (large 1, the least of 3)"
    assert beside("edges").lines_of("name", path) == [f"| name | 500 | {told} | alike |"]


def test_the_page_tells_the_edges_of_all_leagues_that_were_tuned():
    page = (RESULTS / "README.md").read_text("utf-8")
    lines = [
        line
        for league in LEAGUES
        if not league.name.startswith("ablations")
        for line in beside("edges").lines_of(league.name, league / "tuning.csv")
    ]
    assert len(lines) >= 20
    assert all(line in page for line in lines)


def test_the_page_tells_the_long_runs_as_their_rows_and_those_of_tcs_h_do():
    page = (RESULTS / "README.md").read_text("utf-8")
    lines = beside("long_runs").lines(RESULTS)
    assert sum(line.startswith("| `backlog` |") for line in lines) == 2
    assert "\n".join(lines) in page

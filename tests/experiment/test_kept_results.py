"""What results/ says of the paper's curves is what its rows hold."""

import csv
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from airfeel.cli.reproduce import app
from airfeel.storage.rows import read_columns

RESULTS = Path(__file__).parents[2] / "results"
ROW = re.compile(r"^\| `([\w-]+)` \| (\d+) of \d+ \| (\w+) \|", re.MULTILINE)
FOLDERS = {"": RESULTS, "bare/": RESULTS / "bare"}
TOLD = {
    f"{place}{name}": (int(rounds), commit)
    for place, folder in FOLDERS.items()
    for name, rounds, commit in ROW.findall((folder / "README.md").read_text("utf-8"))
}


@pytest.mark.parametrize("place", FOLDERS)
def test_every_curve_that_is_kept_is_in_the_table(place):
    kept = {place + path.parent.name for path in FOLDERS[place].glob("*iid*/rounds.csv")}
    assert kept
    assert {name for name in TOLD if name.rpartition("/")[0] == place.rstrip("/")} == kept


@pytest.mark.parametrize("name", TOLD)
def test_the_table_says_how_far_a_curve_is_and_by_which_commit(name):
    folder = RESULTS / name
    facts = next(
        folder / end for end in ("summary.json", "partial.json") if (folder / end).exists()
    )
    rounds, commit = TOLD[name]
    assert read_columns(folder / "rounds.csv")["round"][-1] == rounds
    assert json.loads(facts.read_text("utf-8"))["commit"].startswith(commit)


SEED_0 = [f"bare/short/noniid-{scheme}" for scheme in ("tcs-h", "tcs-d", "top-k")]


@pytest.mark.parametrize(
    ("which", "rows", "page"),
    [
        ("all", [""], "claims.md"),
        ("all", ["bare"], "bare/claims.md"),
        ("noniid", ["bare/seeds"], "bare/seeds/claims-noniid.md"),
        ("noniid", ["bare/seeds-2000", *SEED_0], "bare/seeds-2000/claims-noniid.md"),
    ],
)
def test_the_claims_that_are_kept_are_those_that_the_rows_give(which, rows, page, tmp_path):
    places = [word for folder in rows for word in ("--from", str(RESULTS / folder))]
    bare = ["--bare"] if page.startswith("bare/") else []
    told = CliRunner().invoke(
        app, [which, *bare, *places, "--out", str(tmp_path)], catch_exceptions=False
    )
    assert told.exit_code == 0
    name = f"claims-{which}-bare.md" if bare else f"claims-{which}.md"
    assert (tmp_path / name).read_text("utf-8") == (RESULTS / page).read_text("utf-8")


NOTE = "tuned on test images with one seed; to be run again."
BENCHMARKS = [
    path for path in sorted(RESULTS.rglob("*.md")) if path.read_text("utf-8").startswith("# League")
]
SUMMARIES = {  # pages that show numbers of the benchmarks in a folder
    "results/README.md": "",
    "results/backlog/README.md": "backlog",
    "results/sun/README.md": "sun",
    "experiments/backlog/results-head.md": "backlog",
    "docs/schemes.md": "",
    "docs/backlog.md": "",
}


def tuned_on_test(page):
    """Whether the settings of a benchmark's kept page were chosen on the test set."""
    name = "tuning.csv" if page.name == "league.md" else f"{page.stem}-tuning.csv"
    path = page.with_name(name)
    rows = csv.DictReader(path.read_text("utf-8").splitlines()) if path.is_file() else ()
    return any(row["accuracies"] and not row.get("validation") for row in rows)


@pytest.mark.parametrize("page", BENCHMARKS, ids=lambda p: str(p.relative_to(RESULTS)))
def test_a_kept_benchmark_says_where_it_was_tuned_on_test_images(page):
    assert (NOTE in page.read_text("utf-8").lower()) == tuned_on_test(page)


@pytest.mark.parametrize("page", SUMMARIES)
def test_a_page_on_benchmarks_says_where_they_were_tuned_on_test_images(page):
    below = [path for path in BENCHMARKS if path.is_relative_to(RESULTS / SUMMARIES[page])]
    assert below
    text = (RESULTS.parent / page).read_text("utf-8").lower()
    assert (NOTE in text) == any(map(tuned_on_test, below))

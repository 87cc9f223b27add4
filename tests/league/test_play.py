"""A league from its file to its table: held-out tuning, the same sky, everything reused."""

import csv
import json
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from airfeel.cli import app
from airfeel.reports.runs import load
from airfeel.reports.summary import said
from airfeel.runs.signals import Interrupted, Signals
from airfeel.storage.run import Run
from airfeel.sweeps.benchmark.equal import at_equal, blocks, elsewhere, joules, rounds
from airfeel.sweeps.benchmark.play import Played, play
from airfeel.sweeps.benchmark.rules import read_league
from airfeel.sweeps.benchmark.standings import standings, words
from airfeel.sweeps.benchmark.write import markdown
from airfeel.sweeps.pool import Pool, Trial
from airfeel.sweeps.sweep import Sweep
from small import small

TEXT = """
base = "digits"
slots = [30000]
seeds = [0, 1, 2]
set = {"training.rounds" = 4, "training.local_steps" = 1}
[tuning]
seeds = [8, 9]
points = 2
[contenders.air]
scheme = "tcs-h"
try = {"radio.power_scalar" = [1e-4, 0.5]}
[contenders.top]
scheme = "top-k"
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("league")
    (folder / "small.toml").write_text(TEXT)
    result = CliRunner().invoke(app, ["league", str(folder / "small.toml"), "--out", str(folder)])
    assert result.exit_code == 0, result.output
    return folder, result.output


def test_it_prints_ranks_and_words_and_writes_all_of_it(played):
    folder, output = played
    assert "tuning: 4 of 4 runs" in output
    assert "playing: 6 of 6 runs" in output
    assert "At 30,000 slots" in output
    assert "After 4 rounds" in output
    assert " joules " in output
    names = {path.name for path in folder.iterdir()}
    assert {"league.md", "league.json", "runs.csv", "tuning.csv", "league.png"} <= names
    page = (folder / "league.md").read_text()
    assert page.count("| air |") == page.count("| top |") == 1


def test_all_of_it_says_how_settings_were_chosen(played):
    folder, output = played
    how = "Tuned on 10 % of the training samples, held out of training, with seeds 8, 9"
    counts = "Candidate settings at each budget: air 2, top 1."
    page = (folder / "league.md").read_text()
    for text in (output, page):
        assert how in text
        assert counts in text
    told = json.loads((folder / "league.json").read_text())
    assert told["tuning"] == {
        "evaluated_on": "validation",
        "validation": 0.1,
        "seeds": [8, 9],
        "runs_per_candidate": 2,
        "candidates": {"air": 2, "top": 1},
    }
    (budget,) = told["budgets"]
    assert {each["label"] for each in budget["contenders"]} == {"air", "top"}
    assert f"{100 * budget['contenders'][0]['accuracy']:.1f} ±" in page


def test_tuning_looks_at_no_test_image_and_the_table_at_no_validation_sample(played):
    folder, _ = played
    summaries = {
        part: [json.loads((p / "summary.json").read_text()) for p in (folder / part).iterdir()]
        for part in ("tuning", "runs")
    }
    assert [s.get("evaluated_on") for s in summaries["tuning"]] == ["validation"] * 4
    assert [s.get("evaluated_on") for s in summaries["runs"]] == [None] * 6
    with (folder / "tuning.csv").open(newline="") as file:
        reached = [row["accuracies"].split() for row in csv.DictReader(file)]
    assert sorted(a for some in reached for a in some) == sorted(
        f"{s['test_accuracy']:.6g}" for s in summaries["tuning"]
    )


def test_a_report_on_its_runs_does_not_call_them_untuned(played):
    folder, _ = played
    groups, _ = load([folder / "runs"])
    assert len({runs[0].name for runs in groups.values()}) == 2
    assert "not tuned" not in said(groups)


def test_what_is_tuned_is_what_reached_most_on_the_held_out_seeds(played):
    folder, _ = played
    tried = list(csv.DictReader((folder / "tuning.csv").read_text().splitlines()))
    air = [row for row in tried if row["contender"] == "air"]
    best = max(air, key=lambda row: float(row["mean"]))
    assert [row["chosen"] for row in air].count("1") == 1
    assert best["chosen"] == "1"
    assert [row["accuracies"] for row in tried if row["contender"] == "top"] == [""]


def test_runs_are_the_table_and_their_accuracies_those_of_the_final_models(played):
    folder, _ = played
    rows = list(csv.DictReader((folder / "runs.csv").read_text().splitlines()))
    assert [(r["contender"], r["seed"]) for r in rows] == [
        (who, str(seed)) for seed in range(3) for who in ("air", "top")
    ]
    for path in (folder / "runs").iterdir():
        summary = json.loads((path / "summary.json").read_text())
        assert f"{summary['test_accuracy']:.6g}" in {r["accuracy"] for r in rows}


def test_a_second_time_everything_is_reused(played):
    folder, _ = played
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("rounds.csv")}
    again = CliRunner().invoke(
        app, ["league", str(folder / "small.toml"), "--out", str(folder), "--seeds", "0..1"]
    )
    assert again.exit_code == 0
    assert {p: p.stat().st_mtime_ns for p in folder.rglob("rounds.csv")} == before


@pytest.mark.parametrize("text", ["0", "a", "10,-3", "1.5"])
def test_bad_budgets_are_refused(played, text):
    result = CliRunner().invoke(app, ["league", str(played[0] / "small.toml"), "--slots", text])
    assert result.exit_code != 0
    assert "--slots" in str(result.exception)


# Standings ------------------------------------------------------------------------------------


def made(label: str, accuracies: list[float], slots: int = 100, end: str = "budget"):
    columns = {"round": np.array([0, 9])}
    for seed, accuracy in enumerate(accuracies):
        summary = {"test_accuracy": accuracy, "rounds": 9, "energy_total": 0.5, "reason": end,
                   "seed": seed, "resource_blocks": 100}  # fmt: skip
        yield Played(label, slots, {}, Run(small(), columns, summary))


def test_places_are_ranked_and_differences_paired_by_seed():
    runs = [*made("a", [0.80, 0.90, 0.85]), *made("b", [0.81, 0.92, 0.88])]
    first, second = standings(runs)[100]
    assert (first.label, second.label) == ("b", "a")
    assert second.behind.mean == pytest.approx(0.02)
    assert second.behind.low == pytest.approx(0.02 - 4.302653 * 0.01 / 3**0.5, abs=1e-6)
    assert second.p == second.behind.p  # one comparison


def test_words_say_who_wins_what_is_undecided_and_who_stalled():
    runs = [
        *made("a", [0.80, 0.90, 0.85, 0.84]),
        *made("b", [0.80, 0.91, 0.84, 0.83]),
        *made("c", [0.49, 0.61, 0.55, 0.54], end="stalled"),
    ]
    (sentence,) = words(standings(runs))
    assert "a is first with 84.8 ± 4.1 %" in sentence
    assert "not told apart from it: b (0.3 points" in sentence
    assert "behind it: c (30.0 points" in sentence
    assert "c ended stalled" in sentence


def curve(label: str, accuracies: list[float], blocks: list[int], energy: float):
    columns = {
        "round": np.arange(len(accuracies)),
        "resource_blocks": np.array(blocks),
        "scheduled": np.full(len(accuracies), 2),
        "energy_mean": np.array([np.nan, *[energy] * (len(accuracies) - 1)]),
        "test_accuracy": np.array(accuracies),
    }
    summary = {"test_accuracy": accuracies[-1], "rounds": len(accuracies) - 1, "seed": 0,
               "energy_total": 1.0, "reason": "budget", "resource_blocks": blocks[-1]}  # fmt: skip
    return Played(label, 100, {}, Run(small(), columns, summary))


def test_where_no_seed_is_held_out_the_page_says_that_nothing_was_tuned(played):
    league = replace(read_league(str(played[0] / "small.toml")), tuning_seeds=())
    runs = [curve(label, [0.1, 0.3], [0, 1], energy=1.0) for label in ("a", "b")]
    assert "Nothing was tuned." in markdown(league, [], runs, {})


def test_equal_rounds_and_equal_energy_are_as_far_as_all_came():
    thin = curve("thin", [0.1, 0.3, 0.5, np.nan, 0.9], [0, 1, 2, 3, 4], energy=5.0)
    thick = curve("thick", [0.1, 0.6, 0.7], [0, 2, 4], energy=50.0)
    at, places = at_equal([thin, thick], rounds)
    assert (at, [(p.label, p.accuracy) for p in places]) == (2, [("thick", 0.7), ("thin", 0.5)])
    at, places = at_equal([thin, thick], joules)
    assert at == pytest.approx(4 * 10.0 * thin.run.experiment.radio.symbol_seconds)
    assert [p.label for p in places] == ["thin", "thick"]
    assert (places[0].accuracy, np.isnan(places[1].accuracy)) == (0.9, True)  # its start is no look
    assert at_equal([thin, thick], blocks)[1][0].label == "thin"
    after, given = elsewhere([thin, thick])
    assert after.startswith("After 2 rounds thick is first with 70.0 %")
    assert given.startswith("For 4e-05 joules thin is first with 90.0 %")
    assert given.endswith("Not evaluated so early, or too long before: thick.")


def test_what_costs_nobody_anything_has_no_places():
    assert at_equal([curve("free", [0.1, 0.2], [0, 0], 0.0)], joules) == (0.0, [])
    silent = [curve("silent", [0.1, 0.1], [0, 1], energy) for energy in (0.0, 1.0)]
    heard = [curve("heard", [0.1, 0.4], [0, 1], 1.0) for _ in range(2)]
    assert [p.label for p in at_equal([*silent, *heard], joules)[1]] == ["heard"]
    early = curve("early", [0.1, np.nan], [0, 2], 1.0)
    assert elsewhere([early]) == []


# Workers --------------------------------------------------------------------------------------


def trials(folder: Path, count: int, **changes: int) -> list[Trial]:
    return [
        Trial(f"t{i}", small(training={"rounds": 2} | changes, run={"seed": i}), folder / f"t{i}")
        for i in range(count)
    ]


def test_one_worker_carries_out_many_runs(tmp_path):
    work = trials(tmp_path, 3)
    with Pool() as pool, Signals() as signals:
        Sweep(work, 1, pool.start).play(signals, lambda _: None, 0.01)
        assert len(pool._all) == 1
    assert all(trial.done for trial in work)
    assert not pool._all[0].process.is_alive()


def test_a_worker_that_is_killed_harms_no_other_run(tmp_path):
    work = [*trials(tmp_path, 1, rounds=100_000), *trials(tmp_path / "more", 2)]
    with Pool() as pool, Signals() as signals:
        sweep = Sweep(work, 1, pool.start)

        def show(_: Sweep) -> None:
            if work[0].begun and pool._all[0].process.is_alive() and len(pool._all) == 1:
                os.kill(pool._all[0].process.pid, signal.SIGKILL)

        sweep.play(signals, show, 0.01)
    assert list(sweep.faults) == [work[0].folder]
    assert "ended with code -9" in sweep.faults[work[0].folder]
    assert all(trial.done for trial in work[1:])


def test_a_run_that_is_stopped_is_saved_and_goes_on(tmp_path):
    (tmp_path / "l.toml").write_text(
        TEXT.replace('"training.rounds" = 4', '"training.rounds" = 60')
    )
    rules = read_league(str(tmp_path / "l.toml")).narrowed(["top"], [0], [10**7])
    asked = time.monotonic()
    stopped = Signals()

    def show(_: str, sweep: Sweep) -> None:
        if any(trial.begun for trial in sweep.trials) and stopped.received is None:
            os.kill(os.getpid(), signal.SIGTERM)
        assert time.monotonic() < asked + 120

    with stopped, pytest.raises(Interrupted):
        play(rules, tmp_path, stopped, show, 1)
    with Signals() as signals:
        _, runs = play(rules, tmp_path, signals, lambda *_: None, 1)
    assert [p.run.summary["rounds"] for p in runs] == [60]


def test_what_a_worker_warns_of_is_said_here_with_the_run_that_it_is_about(tmp_path):
    e = small(radio={"power_scalar": 1e9}, run={"idle_limit": 2})
    work = [Trial("silent", e, tmp_path / "silent")]
    with (
        pytest.warns(UserWarning, match=r"nobody may be heard.* \(silent\)"),
        Pool() as pool,
        Signals() as signals,
    ):
        Sweep(work, 1, pool.start).play(signals, lambda _: None, 0.01)
    assert work[0].done

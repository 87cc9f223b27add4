import csv
import json
import math
import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from made_rows import made_run
from made_runs import made
from typer.testing import CliRunner

from airfeel.cli.reproduce import app
from airfeel.reports.runs import read
from airfeel.reproduce import running
from airfeel.reproduce.curves import Curve, curves
from airfeel.reproduce.figures import starvation_figure
from airfeel.reproduce.results import export
from airfeel.reproduce.studies import KINDS, by_difference
from airfeel.runs.runner import run
from airfeel.runs.signals import Interrupted, Signals
from airfeel.settings.columns import ROUND_COLUMNS
from airfeel.storage.rows import read_columns
from airfeel.sweeps.sweep import read_sweep
from airfeel.types import BadInput
from small import small

KNOWN = curves()
STUDIES = sorted((Path(__file__).parents[2] / "studies").glob("*.toml"))


def cli(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


def tiny(rounds=6):
    """Curves of the paper's shape and a millisecond's length."""
    made = []
    for name in ("tcs-h", "top-k"):
        e = small(name, training={"rounds": rounds}, run={"seed": 0})
        made.append(Curve(name, e))
    return made


def test_scale_shortens_rounds_and_nothing_else(tmp_path):
    (trial, _) = running.trials(tiny(), [3], 0.5, tmp_path)
    e, full = trial.experiment, tiny()[0].experiment
    assert (e.training.rounds, e.run.seed) == (3, 3)
    assert e.model_copy(update={"training": full.training, "run": full.run}) == full
    assert e.training.model_copy(update={"rounds": 6}) == full.training
    assert running.shortened(tiny(), 0.5) == "Shortened: 6 rounds to 3; nothing else."
    assert running.shortened(tiny(), 1.0) == ""
    for scale in (0.0, 1.1, math.nan):
        with pytest.raises(BadInput, match="--scale"):
            running.trials(tiny(), [0], scale, tmp_path)


def test_finished_runs_are_reused(tmp_path):
    planned = running.trials(tiny(), [0, 1], 0.5, tmp_path)
    seen = []
    assert running.carry_out(planned, None, lambda name, e: seen.append((name, e.run.seed)) or [])
    assert seen == [("tcs-h", 0), ("top-k", 0), ("tcs-h", 1), ("top-k", 1)]
    assert running.carry_out(planned, None, lambda name, e: seen.append(name) or [])
    assert len(seen) == 4


def test_a_share_of_time_saves_a_run_and_the_next_call_ends_it(tmp_path, monkeypatch):
    class Clock:
        now = 0.0

        def monotonic(self):
            self.now += 1.0
            return self.now

    whole = run(running.trials(tiny(8), [0], 1.0, tmp_path)[0].experiment, tmp_path / "whole")
    planned = running.trials(tiny(8), [0], 1.0, tmp_path)
    monkeypatch.setattr(running, "time", Clock())
    signals = Signals()
    assert not running.carry_out(planned, 10 / 3600, signals=signals)
    assert signals.received is None
    first, second = (read_columns(trial.folder / "rounds.csv")["round"][-1] for trial in planned)
    assert 0 < first < 8  # both have had a share
    assert 0 < second < 8
    assert not any(trial.done for trial in planned)
    assert running.carry_out(planned, None)
    ours = read_columns(planned[0].folder / "rounds.csv")
    for name in ROUND_COLUMNS[:-1]:
        np.testing.assert_array_equal(ours[name], whole.columns[name])


def test_no_time_no_work(tmp_path, monkeypatch):
    planned = running.trials(tiny(), [0], 1.0, tmp_path)
    clock = iter([0.0, 99.0])
    monkeypatch.setattr(running, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert not running.carry_out(planned, 1 / 3600)
    assert not any(trial.begun for trial in planned)
    with pytest.raises(BadInput, match="--budget-hours 0"):
        running.carry_out(planned, 0.0)


def test_a_users_stop_is_passed_on(tmp_path):
    signals = Signals()
    signals.received = signal.SIGINT
    with pytest.raises(Interrupted):
        running.carry_out(running.trials(tiny(), [0], 1.0, tmp_path), 1.0, signals=signals)


# --- results and the command


def test_export_keeps_rows_and_endings_small(tmp_path):
    made_run(tmp_path / "runs" / "x", "iid-tcs-h", 30, reason="rounds")
    partial = made_run(tmp_path / "runs" / "y", "iid-tcs-h", 20, 2)
    (partial / "facts.json").write_text('{"commit": "abc"}')
    odd = made_run(tmp_path / "runs" / "z", "iid-tcs-d", 20)
    text = (odd / "config.toml").read_text("utf-8")
    (odd / "config.toml").write_text(text.replace("bits = 16", "bits = 12"), "utf-8")
    made, spare = export([tmp_path / "runs"], tmp_path / "results", KNOWN)
    assert [p.name for p in made] == ["iid-tcs-h", "iid-tcs-h-seed2"]
    assert [r.folder.name for r in spare] == ["z"]
    assert {p.name for p in made[0].iterdir()} == {"config.toml", "rounds.csv", "summary.json"}
    told = json.loads((made[1] / "partial.json").read_text("utf-8"))
    assert (told["rounds"], told["of"], told["commit"]) == (20, 20, "abc")
    first, again = read(tmp_path / "runs" / "x"), read(made[0])
    for name in ROUND_COLUMNS:
        np.testing.assert_allclose(again.columns[name], first.columns[name], rtol=1e-5)
    assert export([tmp_path / "results"], tmp_path / "copy", KNOWN)[0][0].name == "iid-tcs-h"
    with pytest.raises(BadInput, match="holds the very runs"):
        export([tmp_path / "results"], tmp_path / "results", KNOWN)
    assert {p.name for p in export([tmp_path / "runs"], tmp_path / "o", KNOWN, others=True)[0]} == {
        "iid-tcs-h", "iid-tcs-h-seed2", "z",
    }  # fmt: skip


def test_a_longer_run_takes_the_place_of_a_copy_and_a_shorter_one_does_not(tmp_path):
    to = tmp_path / "results"

    def copy(name, rounds, **more):
        made_run(tmp_path / name / "x", "iid-tcs-h", rounds, **more)
        made, spare = export([tmp_path / name], to, KNOWN)
        return len(made), [run.folder.parent.name for run in spare]

    def kept():
        return read(to / "iid-tcs-h").columns["round"][-1]

    assert (copy("first", 20), kept()) == ((1, []), 20)
    assert (copy("shorter", 19, reason="rounds"), kept()) == ((0, ["shorter"]), 20)
    assert (copy("longer", 21, reason="stalled"), kept()) == ((1, []), 21)
    assert not (to / "iid-tcs-h" / "partial.json").exists()
    (to / "iid-tcs-h" / "config.toml").unlink()  # a copy that was cut off counts for nothing
    assert (copy("again", 5), kept()) == ((1, []), 5)


def test_the_table_says_by_which_runs_it_is_judged(tmp_path):
    long = made_run(tmp_path / "a" / "x", "noniid-tcs-h", 30, reason="stalled")
    summary = {"reason": "stalled", "commit": "0123456789", "backend": "torch"}
    (long / "summary.json").write_text(json.dumps(summary), "utf-8")
    made_run(tmp_path / "b" / "x", "noniid-tcs-h", 20, reason="rounds")
    part = made_run(tmp_path / "b" / "y", "noniid-tcs-d", 20)
    steps = [{"from_round": 0, "backend": "native", "learn": "1f", "cpu": "x86_64 AVX2"}]
    (part / "partial.json").write_text(json.dumps({"arithmetic": steps}), "utf-8")
    made_run(tmp_path / "b" / "z", "noniid-top-k", 20, reason="rounds")
    out = tmp_path / "out"
    told = cli("noniid", "--from", tmp_path / "a", "--from", tmp_path / "b", "--out", out)
    assert told.exit_code == 0, told.output
    rows = csv.reader((out / "claims-noniid-2.csv").read_text("utf-8").splitlines())
    assert [*rows][1:] == [
        ["noniid-tcs-h", "0", "30 of 20,000", "stalled", "0123456", "torch"],
        ["noniid-tcs-d", "0", "20 of 20,000", "unfinished", "not on record",
         "native (learn 1f) on x86_64 AVX2"],
        ["noniid-top-k", "0", "20 of 20,000", "shortened", "not on record", "not on record"],
    ]  # fmt: skip


def test_the_table_says_what_each_run_came_to(tmp_path):
    made_run(tmp_path / "x", "noniid-tcs-h", 40, top=0.5, every=10, heard=lambda t: 20 - t // 10)
    made_run(tmp_path / "y", "noniid-top-k", 10, top=0.0, every=10)  # forgets what it knew
    out = tmp_path / "out"
    assert cli("noniid", "--from", tmp_path, "--out", out).exit_code == 0
    told = csv.reader((out / "claims-noniid-3.csv").read_text("utf-8").splitlines())
    assert [*told][1:] == [
        ["noniid-tcs-h", "0", "40", "2.21e+07", "23.2", "40", "23.2", "20.0", "16.8"],
        ["noniid-top-k", "0", "10", "3.45e+07", "10.0", "0", "9.0", "13.0", "13.0"],
    ]


def test_export_does_not_tell_where_the_data_lay(tmp_path):
    source = made_run(tmp_path / "runs" / "x", "iid-tcs-h", 3, reason="rounds") / "config.toml"
    text = source.read_text("utf-8")
    source.write_text(text.replace("[data]\n", '[data]\ndir = "/home/me/data"\n'), "utf-8")
    assert read(source.parent).experiment.data.dir == "/home/me/data"
    (copied,) = export([tmp_path / "runs"], tmp_path / "results", KNOWN)[0]
    assert (copied / "config.toml").read_text("utf-8") == text
    assert read(copied).columns["round"][-1] == 3


def test_export_keeps_the_columns_that_a_run_has(tmp_path):
    path = made_run(tmp_path / "runs" / "x", "iid-tcs-h", 3, reason="rounds") / "rounds.csv"
    head, *rows = path.read_text("utf-8").splitlines()
    more = [f"{row},{t}.25,word" for t, row in enumerate(rows)]
    path.write_text("\n".join([f"{head},pilots,said", *more]) + "\n", "utf-8")
    (copied,) = export([tmp_path / "runs"], tmp_path / "results", KNOWN)[0]
    columns = read(copied).columns
    assert list(columns) == [*ROUND_COLUMNS, "pilots", "said"]
    assert columns["pilots"].tolist() == [0.25, 1.25, 2.25, 3.25]
    assert set(columns["said"]) == {"word"}


def test_claims_live_without_columns_that_were_not_stored(tmp_path):
    path = made_run(tmp_path / "x", "iid-tcs-h", 30) / "rounds.csv"
    path.write_text(path.read_text("utf-8").replace("mask_overlap", "other", 1), "utf-8")
    told = cli("iid", "--from", tmp_path, "--out", tmp_path / "out")
    assert told.exit_code == 0, told.output
    lines = (tmp_path / "out" / "claims-iid.csv").read_text("utf-8").splitlines()
    rows = list(csv.DictReader(lines))
    (overlap,) = [row for row in rows if "global mask that was" in row["claim"]]
    assert (overlap["ours"], overlap["verdict"]) == ("–", "not reached")


def test_judging_from_rows_prints_and_writes_the_table(tmp_path):
    made_run(tmp_path / "runs" / "h", "iid-tcs-h", 100)
    made_run(tmp_path / "runs" / "d", "iid-tcs-d", 100, top=0.7)
    told = cli("iid", "--from", tmp_path / "runs", "--out", tmp_path / "out")
    assert told.exit_code == 0, told.output
    assert "same direction" in told.output
    lines = (tmp_path / "out" / "claims-iid.csv").read_text("utf-8").splitlines()
    rows = list(csv.DictReader(lines))
    assert list(rows[0])[:5] == ["claim", "paper", "ours", "spread", "verdict"]
    verdicts = {row["claim"]: row["verdict"] for row in rows}
    assert verdicts["iid: TCS-H less TCS-D, accuracy at equal blocks"] == "same direction"
    assert all(row["holds if"] for row in rows)
    text = (tmp_path / "out" / "claims-iid.md").read_text("utf-8")
    assert "| iid: TCS-H at φ[l] = 0.0001 less at 0.05" in text
    both = cli("--from", tmp_path / "runs", "--out", tmp_path / "out")  # all, by default
    assert both.exit_code == 0, both.output
    assert "noniid: devices that TCS-H hears" in (tmp_path / "out" / "claims-all.md").read_text()
    bits = cli("bits", "--from", tmp_path / "runs", "--out", tmp_path / "out")
    assert "12,945 < 16,384" in bits.output
    assert "26 < 64" in bits.output


def test_running_says_what_was_shortened(tmp_path, monkeypatch):
    monkeypatch.setattr("airfeel.cli.reproduce.pick", lambda *_: tiny())
    monkeypatch.setattr(
        "airfeel.cli.reproduce.curves", lambda *_: KNOWN | {c.name: c for c in tiny()}
    )
    told = cli("iid", "--scale", 0.5, "--seeds", "0..1", "--out", tmp_path, "--budget-hours", 1)
    assert told.exit_code == 0, told.output
    assert "Shortened: 6 rounds to 3; nothing else." in told.output
    assert "Shortened" in (tmp_path / "claims-iid.md").read_text("utf-8")
    assert len([p for p in tmp_path.iterdir() if (p / "summary.json").is_file()]) == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["iid", "--scale", "2"], "--scale 2.0: must be above 0 and at most 1"),
        (["iid", "--only", "x"], "--only x: must be one of"),
        (["accounting", "--draws", "1"], "--draws 1: must be at least 2"),
        (["figures", "--from", "."], "holds no run of one of the paper's curves"),
        (["study", "nothing"], "nothing: must be one of overlap, grid, starvation"),
        (["study", "grid"], "--from: name the folder"),
    ],
)
def test_bad_input_is_named(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    told = cli(*arguments)
    assert isinstance(told.exception, BadInput)
    assert words in str(told.exception)


def test_the_list_names_every_curve():
    told = cli("list").output
    assert all(name in told for name in KNOWN)


# --- figures


def test_figures_of_what_is_there(tmp_path):
    pytest.importorskip("matplotlib")
    made_run(tmp_path / "a", "iid-tcs-h", 60)
    made_run(tmp_path / "b", "iid-tcs-h", 50, 1)
    made_run(tmp_path / "c", "iid-fedavg", 60, heard=20)
    told = cli("figures", "--from", tmp_path)
    assert told.exit_code == 0, told.output
    names = {p.name for p in (tmp_path / "figures").iterdir()}
    assert names == {"iid.png", "iid-devices.png"}
    made_run(tmp_path / "d", "noniid-sparse-tcs-h", 60, air=104, digital=800, reason="stalled")
    made_run(tmp_path / "e", "noniid-fedavg", 60, heard=20)
    cli("figures", "--from", tmp_path, "--out", tmp_path / "f", "--format", "svg")
    names = {p.stem for p in (tmp_path / "f").iterdir()}
    assert names == {"iid", "iid-devices", "sparse", "sparse-devices", "starvation"}


@pytest.mark.parametrize(("rounds", "scale"), [(20, "linear"), (200, "log")])
def test_a_much_longer_run_is_shown_whole_beside_a_short_one(rounds, scale):
    """Until its end, where it starves; on an axis on which the short one is seen, too."""
    pytest.importorskip("matplotlib")

    def starving(length):
        needed = {"needed_median": np.ones(length + 1), "budget_median": np.ones(length + 1)}
        return made(np.linspace(0.1, 0.5, length + 1), range(length + 1), **needed)

    figure = starvation_figure({"short": [starving(10)], "long": [starving(rounds)]})
    for axes in figure.axes[:3]:
        assert axes.get_xscale() == scale
        assert axes.get_xlim()[1] >= rounds


def test_groups_of_a_study_are_named_by_what_was_changed(tmp_path):
    for i, change in enumerate([{}, {}, {"alpha": 4.0}, {"power_scalar": 0.2}]):
        run(small(radio=change, run={"seed": i % 2}, training={"rounds": 2}), tmp_path / str(i))
    groups = by_difference([read(tmp_path / str(i)) for i in range(4)])
    assert {k: len(v) for k, v in groups.items()} == {"unchanged": 2, "α = 4.0": 1, "σ_t = 0.2": 1}


@pytest.mark.parametrize("path", STUDIES, ids=lambda p: p.stem)
def test_every_sweep_of_a_study_can_be_run(path, tmp_path):
    trials = read_sweep(path, tmp_path)
    assert len({trial.folder for trial in trials}) == len(trials) >= 6
    assert path.stem.split("-")[0] in KINDS
    command = f"reproduce study {path.stem.split('-')[0]} --from runs/{path.stem}"
    assert command in path.read_text("utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_studies_are_drawn_and_told(tmp_path, kind):
    pytest.importorskip("matplotlib")
    for i, (g, f) in enumerate([(0.1, 0.1), (0.1, 0.2), (0.3, 0.1), (0.3, 0.1)]):
        scheme = {"global_sparsity": g, "local_sparsity": f}
        e = small(scheme=scheme, run={"seed": i}, budget={"slots": 2000}, training={"rounds": 4})
        run(e, tmp_path / "runs" / str(i))
    told = cli("study", kind, "--from", tmp_path / "runs")
    assert told.exit_code == 0, told.output
    folder = tmp_path / "runs" / "figures"
    assert (folder / f"{kind}.png").read_bytes().startswith(b"\x89PNG")
    rows = (folder / f"{kind}.csv").read_text("utf-8").splitlines()
    assert len(rows) == 4  # a head, and a row for each group of runs that differ in the seed alone


def stored_grid(folder, **changes):
    """Two points of a grid with two seeds each, other settings as told."""
    for share in (0.1, 0.3):
        for seed in (0, 1):
            scheme = {"global_sparsity": share} | changes.get("scheme", {})
            sections = changes | {"scheme": scheme, "run": {"seed": seed}}
            name = f"{share}-{seed}-{len(list(folder.glob('*')))}"
            run(small(**({"training": {"rounds": 3}} | sections)), folder / name)


def test_a_grid_parts_runs_that_differ_in_anything_else(tmp_path):
    pytest.importorskip("matplotlib")
    for noise in (1e-6, 1e-3):
        stored_grid(tmp_path, radio={"noise": noise})
    told = cli("study", "grid", "--from", tmp_path, "--out", tmp_path / "f" / "grid.png")
    assert told.exit_code == 0, told.output
    rows = list(csv.DictReader((tmp_path / "f" / "grid.csv").read_text("utf-8").splitlines()))
    assert len(rows) == 4
    assert {row["besides"] for row in rows} == {"noise = 1e-06", "noise = 0.001"}


def test_a_grid_marks_what_did_not_get_there(tmp_path):
    pytest.importorskip("matplotlib")
    stored_grid(tmp_path, budget={"slots": 100_000})
    folders = sorted(path.parent for path in tmp_path.glob("*/summary.json"))
    for folder in folders:  # the first point used its budget up with one seed, and stalled with one
        path = folder / "summary.json"
        reason = "stalled" if folder == folders[1] else "budget"
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"reason": reason}))
    told = cli("study", "grid", "--from", tmp_path, "--out", tmp_path / "f" / "grid.png")
    assert told.exit_code == 0, told.output
    rows = list(csv.DictReader((tmp_path / "f" / "grid.csv").read_text("utf-8").splitlines()))
    shown = [row["accuracy % at 800,000 blocks"] for row in rows]
    assert shown[0].endswith(" (1 of 2 runs)")
    assert "(" not in shown[1]
    assert [row["ended early"] for row in rows] == ["1 of 2 stalled after 3 rounds", ""]
    final = cli("study", "grid", "--from", tmp_path, "--judge", "final")
    assert "of 2 runs" not in final.output


def test_a_study_of_starvation_never_puts_two_lengths_together(tmp_path):
    for i, rounds in enumerate((2, 2, 3)):
        run(small(run={"seed": i}, training={"rounds": rounds}), tmp_path / str(i))
    groups = by_difference([read(tmp_path / str(i)) for i in range(3)])
    assert {k: len(v) for k, v in groups.items()} == {
        "unchanged (rounds = 2)": 2,
        "unchanged (rounds = 3)": 1,
    }


def test_a_copy_of_other_settings_is_never_replaced(tmp_path):
    made_run(tmp_path / "runs" / "x", "iid-tcs-h", 20)
    export([tmp_path / "runs"], tmp_path / "kept", KNOWN)
    before = (tmp_path / "kept" / "iid-tcs-h" / "rounds.csv").read_bytes()
    other = tmp_path / "bare" / "x"
    made_run(other, "iid-tcs-h", 40)
    text = (other / "config.toml").read_text("utf-8")
    assert '"crop"' in text
    (other / "config.toml").write_text(text.replace('"crop"', '"cutout"'), "utf-8")
    changed = replace(KNOWN["iid-tcs-h"], experiment=read(other).experiment)
    with pytest.raises(BadInput, match="holds a run of other settings; name another folder"):
        export([tmp_path / "bare"], tmp_path / "kept", {"iid-tcs-h": changed})
    assert (tmp_path / "kept" / "iid-tcs-h" / "rounds.csv").read_bytes() == before

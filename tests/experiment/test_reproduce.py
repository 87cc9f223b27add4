import csv
import json
import math
import signal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from made_rows import made_run
from typer.testing import CliRunner

from airfeel.cli.reproduce import app
from airfeel.experiment.load import load
from airfeel.experiment.report.runs import read
from airfeel.experiment.reproduce import claims, running
from airfeel.experiment.reproduce.curves import FOLDER, SETS, Curve, curves, essence, match, pick
from airfeel.experiment.reproduce.measures import Reach, accuracy, gain_within, rounds_within
from airfeel.experiment.reproduce.paper_claims import CLAIMS
from airfeel.experiment.reproduce.results import export
from airfeel.experiment.reproduce.studies import KINDS, by_difference
from airfeel.experiment.rows import ROUND_COLUMNS, read_columns
from airfeel.experiment.runner import run
from airfeel.experiment.signals import Interrupted, Signals
from airfeel.experiment.sweep import read_sweep
from airfeel.theory import contraction
from airfeel.types import BadInput
from small import small

KNOWN = curves()
STUDIES = sorted((Path(__file__).parents[2] / "experiments" / "studies").glob("*.toml"))


def cli(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


def claim(text, split="iid"):
    (one,) = [c for c in CLAIMS if c.split == split and c.text.startswith(text)]
    return one


def judged(folder, text, split="iid"):
    return claims.judge(claim(text, split), match([folder], KNOWN.values())[0], KNOWN)


# --- the curves


def test_every_curve_is_the_papers():
    for name, curve in KNOWN.items():
        e = curve.experiment
        iid = name.startswith("iid")
        assert (e.data.partition, e.training.local_steps, curve.rounds) == (
            ("iid", 10, 3000) if iid else ("classes", 1, 20000)
        )
        assert (e.training.devices, e.training.batch_size, e.training.learning_rate) == (
            20,
            64,
            0.05,
        )
        if e.scheme.name in ("tcs-d", "top-k"):
            assert e.scheme.scheduled == (13 if iid else 11)
    assert KNOWN["iid-tcs-h-wide"].label == "TCS-H (0.5, 0.05)"
    assert KNOWN["iid-tcs-h-thin"].label == "TCS-H (0.2, 0.0001)"
    assert KNOWN["noniid-sparse-top-k"].label == "Top-K (0.01, 0.0025)"
    assert {name for names in SETS.values() for name in names} == {*KNOWN} - {"iid-tcs-h-q4"}
    assert {c for one in CLAIMS for c in one.curves} <= {*SETS["all"]}


@pytest.mark.parametrize("split", ["iid", "noniid"])
@pytest.mark.parametrize("scheme", ["tcs-h", "tcs-d", "top-k", "fedavg"])
def test_presets_are_the_same_curves(split, scheme):
    preset = load(f"paper-{split}-{scheme}")
    assert essence(preset) == essence(KNOWN[f"{split}-{scheme}"].experiment)


def test_lemma_1_allows_all_bits_but_those_said_to_be_outside():
    for name, curve in KNOWN.items():
        s = curve.experiment.scheme
        sizes = [round(share * 258_898) for share in (s.global_sparsity, s.local_sparsity)]
        if s.name == "tcs-h" and name != "iid-tcs-h-q4":
            assert contraction(*sizes, bits=s.bits, dim=258_898) > 0
    with pytest.raises(BadInput, match="k_local = 12945: must be below"):
        contraction(51_780, 12_945, bits=4, dim=258_898)
    assert "12945" in (FOLDER / "iid-tcs-h-q4.toml").read_text("utf-8")


def test_only_named_curves():
    assert [c.name for c in pick("iid", ["iid-tcs-h-q4"])] == ["iid-tcs-h-q4"]
    with pytest.raises(BadInput, match="--only iid-tcs-x: must be one of iid-fedavg, "):
        pick("iid", ["iid-tcs-x"])


# --- which runs belong to them


def test_runs_are_matched_by_what_decides_them(tmp_path):
    made_run(tmp_path / "long", "iid-tcs-h", 40)
    short = made_run(tmp_path / "short", "iid-tcs-h", 20)
    made_run(tmp_path / "seed", "iid-tcs-h", 20, seed=4)
    other = made_run(tmp_path / "other", "iid-tcs-d", 20)
    text = (other / "config.toml").read_text("utf-8")
    (other / "config.toml").write_text(text.replace("scheduled = 13", "scheduled = 12"), "utf-8")
    made_run(tmp_path / "empty", "iid-top-k", 0)
    found, spare = match([tmp_path, short], KNOWN.values())
    assert {k: [(r.folder.name, r.experiment.run.seed) for r in v] for k, v in found.items()} == {
        "iid-tcs-h": [("long", 0), ("seed", 4)]
    }
    assert {r.folder.name for r in spare} == {"short", "other"}
    with pytest.raises(BadInput, match="nowhere: must be a run's folder"):
        match([tmp_path / "nowhere"], KNOWN.values())


# --- claims


@pytest.mark.parametrize(
    ("text", "value", "complete", "verdict"),
    [
        ("share of the devices", 0.68, True, claims.HOLDS),
        ("share of the devices", 0.72, True, claims.FAILS),
        ("share of the devices", 0.65, False, claims.NOT_REACHED),
        ("TCS-D less Top-K, accuracy after", -1.9, True, claims.HOLDS),
        ("TCS-D less Top-K, accuracy after", -1.9, False, claims.SAME),
        ("TCS-D less Top-K, accuracy after", 2.1, True, claims.FAILS),
        ("TCS-D less Top-K, accuracy after", 2.1, False, claims.AGAINST),
        ("resource blocks saved by TCS-H against", 64.0, True, claims.HOLDS),
        ("resource blocks saved by TCS-H against", 50.0, True, claims.SAME),
        ("resource blocks saved by TCS-H against", 68.0, False, claims.SAME),
        ("resource blocks saved by TCS-H against", -1.0, True, claims.FAILS),
        ("resource blocks saved by TCS-H against", -1.0, False, claims.AGAINST),
        ("TCS-H less TCS-D", 0.0, True, claims.HOLDS),
        ("TCS-H less TCS-D", 9.0, False, claims.SAME),
        ("TCS-H less TCS-D", -0.1, True, claims.FAILS),
        ("FedAvg", 3.0, True, claims.REFERENCE),
        ("TCS-H less TCS-D", math.nan, True, claims.NOT_REACHED),
    ],
)
def test_verdicts(text, value, complete, verdict):
    assert claims.verdict(claim(text), value, complete) == verdict


def test_complete_curves_are_judged_by_number(tmp_path):
    made_run(tmp_path / "h", "iid-tcs-h", 3000, top=0.8, heard=13, digital=22_000)
    made_run(tmp_path / "d", "iid-tcs-d", 3000, top=0.79, heard=13, digital=75_000)
    saved = judged(tmp_path, "resource blocks saved by TCS-H against TCS-D")
    assert saved.value == pytest.approx(100 * (1 - 24_072 / 75_000))
    assert (saved.verdict, saved.reached) == (claims.HOLDS, "3,000 of 3,000 rounds")
    share = judged(tmp_path, "share of the devices")
    assert (share.value, share.verdict, share.seeds) == (pytest.approx(0.65), claims.HOLDS, 1)
    assert "first tenth 0.65, last tenth 0.65" in share.reached
    order = judged(tmp_path, "TCS-H less TCS-D")
    assert order.verdict == claims.HOLDS
    assert judged(tmp_path, "FedAvg").reached == "no run of iid-fedavg"


def test_shortened_curves_show_a_direction_over_paired_seeds(tmp_path):
    for seed in (0, 1, 2):
        made_run(tmp_path / f"h{seed}", "iid-tcs-h", 100, seed, top=0.7 + 0.01 * seed)
        made_run(tmp_path / f"k{seed}", "iid-tcs-h-thin", 80, seed, top=0.69)
    made_run(tmp_path / "k9", "iid-tcs-h-thin", 80, 9, top=0.2)  # a seed that only one has run
    thin = judged(tmp_path, "TCS-H at φ[l]")
    climb = 100 * (1 - math.exp(-0.8))
    assert thin.reached == "80 of 3,000 rounds"
    assert thin.value == pytest.approx(-climb * 0.02, abs=1e-9)
    assert thin.spread == pytest.approx(climb * 0.01, abs=1e-9)
    assert (thin.verdict, thin.seeds) == (claims.SAME, 3)


def test_seeds_that_do_not_meet(tmp_path):
    made_run(tmp_path / "h", "iid-tcs-h", 20, 0)
    made_run(tmp_path / "d", "iid-tcs-d", 20, 1)
    none = judged(tmp_path, "TCS-H less TCS-D")
    assert (none.verdict, none.seeds) == (claims.NOT_REACHED, 0)


def test_a_budget_is_read_where_it_ends_or_where_the_rounds_do(tmp_path):
    a = read(made_run(tmp_path / "a", "noniid-sparse-tcs-h", 100, digital=0, air=4, top=0.9))
    b = read(made_run(tmp_path / "b", "noniid-sparse-top-k", 100, digital=40, every=1, top=0.5))
    partly, wholly = (Reach(100, 10_000.0, complete) for complete in (False, True))
    assert rounds_within(20_000)([b], wholly) == 20
    assert math.isnan(rounds_within(20_000)([b], partly))
    first = accuracy(a, "resource_blocks", 10_000.0)
    assert gain_within(20_000)([a, b], wholly) == pytest.approx(
        first - accuracy(b, "resource_blocks", 20_000)
    )
    assert gain_within(20_000)([a, b], partly) == pytest.approx(
        first - accuracy(b, "resource_blocks", 10_000)
    )


def test_a_stalled_run_has_had_its_say(tmp_path):
    how = {"air": 104, "digital": 800, "heard": lambda t: 12 if t < 50 else 0}
    made_run(tmp_path / "h", "noniid-sparse-tcs-h", 150, reason="stalled", **how)
    heard = judged(tmp_path, "devices that TCS-H hears", "sparse")
    assert heard.verdict == claims.FAILS
    assert heard.value == pytest.approx(12 * 49 / 150)
    assert "tcs-h stalled after 150" in heard.reached
    assert judged(tmp_path, "accuracy of TCS-D", "sparse").verdict == claims.NOT_REACHED


def test_accuracy_is_a_mean_of_the_last_looks(tmp_path):
    one = read(made_run(tmp_path / "a", "iid-tcs-h", 100, every=5))
    y = one.columns["test_accuracy"]
    assert accuracy(one, "round", 100) == pytest.approx(100 * np.mean(y[[90, 95, 100]]))
    assert accuracy(one, "round", 9) == pytest.approx(100 * y[5])
    assert math.isnan(accuracy(one, "round", 4))  # the start says nothing of a scheme


# --- running


def tiny(rounds=6):
    """Curves of the paper's shape and a millisecond's length."""
    made = []
    for name in ("tcs-h", "top-k"):
        e = small(name, training={"rounds": rounds}, run={"seed": 0})
        made.append(Curve(name, e))
    return made


def test_scale_shortens_rounds_and_nothing_else(tmp_path):
    (job, _) = running.jobs(tiny(), [3], 0.5, tmp_path)
    e, full = job.experiment, job.curve.experiment
    assert (e.training.rounds, e.run.seed) == (3, 3)
    assert e.model_copy(update={"training": full.training, "run": full.run}) == full
    assert e.training.model_copy(update={"rounds": 6}) == full.training
    assert running.shortened([job]) == "Shortened: 6 rounds to 3; nothing else."
    assert running.shortened(running.jobs(tiny(), [0], 1.0, tmp_path)) == ""
    for scale in (0.0, 1.1, math.nan):
        with pytest.raises(BadInput, match="--scale"):
            running.jobs(tiny(), [0], scale, tmp_path)


def test_finished_runs_are_reused(tmp_path):
    planned = running.jobs(tiny(), [0, 1], 0.5, tmp_path)
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

    whole = run(running.jobs(tiny(8), [0], 1.0, tmp_path)[0].experiment, tmp_path / "whole")
    planned = running.jobs(tiny(8), [0], 1.0, tmp_path)
    monkeypatch.setattr(running, "time", Clock())
    signals = Signals()
    assert not running.carry_out(planned, 10 / 3600, signals=signals)
    assert signals.received is None
    first, second = (read_columns(job.folder / "rounds.csv")["round"][-1] for job in planned)
    assert 0 < first < 8  # both have had a share
    assert 0 < second < 8
    assert not any(job.done for job in planned)
    assert running.carry_out(planned, None)
    ours = read_columns(planned[0].folder / "rounds.csv")
    for name in ROUND_COLUMNS[:-1]:
        np.testing.assert_array_equal(ours[name], whole.columns[name])


def test_no_time_no_work(tmp_path, monkeypatch):
    planned = running.jobs(tiny(), [0], 1.0, tmp_path)
    clock = iter([0.0, 99.0])
    monkeypatch.setattr(running, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert not running.carry_out(planned, 1 / 3600)
    assert not any(job.begun for job in planned)
    with pytest.raises(BadInput, match="--budget-hours 0"):
        running.carry_out(planned, 0.0)


def test_a_users_stop_is_passed_on(tmp_path):
    signals = Signals()
    signals.received = signal.SIGINT
    with pytest.raises(Interrupted):
        running.carry_out(running.jobs(tiny(), [0], 1.0, tmp_path), 1.0, signals=signals)


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
    monkeypatch.setattr("airfeel.cli.reproduce.curves", lambda: KNOWN | {c.name: c for c in tiny()})
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
    assert len(rows) == {"overlap": 3, "grid": 4, "starvation": 4}[kind]

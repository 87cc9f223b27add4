import base64
import csv
import json
import math
import re
import shutil
import sys

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from airfeel.cli.report import report
from airfeel.experiment import record
from airfeel.experiment.compare import lines, shared_blocks
from airfeel.experiment.load import load
from airfeel.experiment.readings import accuracy_at, held
from airfeel.experiment.report import curves, runs
from airfeel.experiment.report.data import comparison, page_data
from airfeel.experiment.report.devices import devices
from airfeel.experiment.report.inspector import recorded
from airfeel.experiment.report.page import page
from airfeel.experiment.report.styles import styles
from airfeel.experiment.report.summary import latex, markdown, tex
from airfeel.experiment.report.write import beside, write
from airfeel.experiment.rows import read_columns
from airfeel.experiment.runner import Run, run
from airfeel.experiment.store import as_toml, fingerprint
from airfeel.types import BadInput, Reason
from small import small
from stored import store, store_some

EVIL = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return store_some(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def one(folder, tmp_path):
    """A copy of one run, the only one in its folder, to be changed."""
    return shutil.copytree(folder / "tcs-h-0", tmp_path / "a")


@pytest.fixture
def groups(folder):
    return runs.load([folder])[0]


def made(accuracy, blocks, **more):
    t = np.arange(len(accuracy))
    columns = {
        "round": t,
        "test_accuracy": np.array(accuracy, dtype=float),
        "resource_blocks": np.array(blocks),
        "scheduled": np.full(len(t), 3),
    }
    return Run(small(), columns | {k: np.array(v) for k, v in more.items()}, {})


# --- finding, reading, grouping --------------------------------------------------------------


def test_runs_are_found_in_and_below_folders_each_once(folder):
    one = folder / "tcs-h-0"
    assert runs.find([one]) == [one]
    assert len(runs.find([folder, one, folder])) == 6
    for place in (folder / "nothing", one / "records"):
        with pytest.raises(BadInput, match=re.escape(str(place))):
            runs.find([place])


def test_groups_differ_in_more_than_the_seed(folder):
    groups, spare = runs.load([folder])
    assert {k: [r.experiment.run.seed for r in v] for k, v in groups.items()} == {
        "fedavg": [0, 1],
        "tcs-h": [0, 1],
        "top-k": [0, 1],
    }
    assert spare == []


def test_settings_that_tell_groups_apart_are_in_the_label(tmp_path):
    for bits in (4, 8):
        store(tmp_path / f"b{bits}", "tcs-h", 0, scheme={"bits": bits}, radio={"noise": bits / 1e6})
    store(tmp_path / "other", "top-k", 0)
    assert list(runs.load([tmp_path])[0]) == [
        "tcs-h (bits=4, noise=4e-06)",
        "tcs-h (bits=8, noise=8e-06)",
        "top-k",
    ]


def test_the_same_run_twice_counts_once_and_the_finished_one_is_kept(one, tmp_path):
    again = store(tmp_path / "b", "tcs-h", 0, data={"dir": "elsewhere"})
    (one / "summary.json").unlink()
    groups, spare = runs.load([tmp_path])
    assert [r.folder for r in groups["tcs-h"]] == [again]
    assert [r.folder for r in spare] == [one]
    assert comparison(groups, spare)["left_out"] == [str(one)]


def test_where_and_how_fast_a_run_was_carried_out_makes_no_group(one, tmp_path):
    here = {"threads": 2, "engine": "ray", "actors": 3, "address": "auto", "checkpoint_every": 5}
    path = shutil.copytree(one, tmp_path / "b") / "config.toml"
    e = load(path)
    other = e.model_copy(update={"run": e.run.model_copy(update=here)})
    again = other.model_copy(update={"run": other.run.model_copy(update={"seed": 1})})
    path.write_text(as_toml(again), "utf-8")
    groups, spare = runs.load([tmp_path])
    assert [len(peers) for peers in groups.values()] == [2]
    assert spare == []
    assert fingerprint(other) == fingerprint(e) != fingerprint(again)


def test_an_unfinished_run_is_reported_as_such(one):
    (one / "summary.json").unlink()
    groups, _ = runs.load([one])
    facts = comparison(groups)["groups"][0]["runs"][0]
    assert (facts["stopped"], facts["rounds"]) == ("not finished", 12)
    assert "not finished" in page(groups)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("rounds.csv", lambda s: s[:-90], "rounds.csv: cannot be read"),
        ("rounds.csv", lambda s: "", "rounds.csv: cannot be read"),
        ("rounds.csv", lambda s: "".join(s.splitlines(True)[:2]), "holds no round yet"),
        (
            "rounds.csv",
            lambda s: s.replace("resource_blocks", "x", 1),
            "has no column resource_blocks",
        ),
        ("rounds.csv", lambda s: s.replace("\n5,", "\n4,", 1), "must count 0, 1, 2"),
        ("rounds.csv", lambda s: s.replace("\n5,", "\n5,?", 1), "column scheduled holds what"),
        ("config.toml", lambda s: s + "=", "config.toml: cannot be read"),
        ("config.toml", lambda s: s.replace("bits = 6", 'bits = "six"'), "bits"),
        ("summary.json", lambda s: s[:-9], "summary.json: cannot be read"),
        ("summary.json", lambda s: "[]", "summary.json: must hold a table"),
    ],
)
def test_damaged_folders_are_refused_in_one_line(one, name, change, said):
    path = one / name
    path.write_text(change(path.read_text("utf-8")), "utf-8")
    with pytest.raises(BadInput, match=re.escape(said)) as error:
        runs.load([one])
    assert "\n" not in str(error.value)


def cut(folder, *names):
    """Take columns out of rounds.csv, as a version had it that did not know them."""
    path = folder / "rounds.csv"
    rows = list(csv.reader(path.read_text("utf-8").splitlines()))
    kept = [i for i, name in enumerate(rows[0]) if name not in names]
    path.write_text("".join(",".join(row[i] for i in kept) + "\n" for row in rows), "utf-8")


def metered(folder, name, each):
    """Add a column to rounds.csv, as a user's own meter would."""
    path = folder / "rounds.csv"
    head, *rows = path.read_text("utf-8").splitlines()
    more = [f"{row},{each(t)}" for t, row in enumerate(rows)]
    path.write_text("\n".join([f"{head},{name}", *more]) + "\n", "utf-8")


def test_rows_without_some_columns_are_reported_without_what_needs_them(one, tmp_path):
    whole = page_data(runs.load([one])[0])
    cut(one, "slots", "slots_air", "slots_digital", "mask_overlap", "needed_median", "distortion")
    (one / "devices.csv").unlink()
    groups = runs.load([one])[0]
    data = json.loads(json.dumps(page_data(groups), allow_nan=False))
    assert data["accuracy"] == whole["accuracy"]
    assert data["slots"] == [[None, None]]
    assert set(data["overlap"][0]["mean"]) == {None}
    assert data["devices"][0]["spent"] == []
    text = page(groups)
    assert "rounds.csv has no column slots_air, slots_digital, slots, needed_median" in text
    assert "there is no devices.csv" in text
    pytest.importorskip("matplotlib")
    made = {path.stem for path in write(groups, tmp_path / "out", ["svg"])}
    assert "scheduled" in made
    assert not made & {"slots", "energy", "mask-overlap"}


def test_columns_of_a_users_meter_are_drawn_and_told(folder, tmp_path):
    for name in ("tcs-h-0", "tcs-h-1", "top-k-0"):
        shutil.copytree(folder / name, tmp_path / "runs" / name)
    metered(tmp_path / "runs" / "tcs-h-0", "pilots/dB", lambda t: -t if t else "")
    metered(tmp_path / "runs" / "tcs-h-1", "pilots/dB", lambda t: -t - 2 if t else "")
    metered(tmp_path / "runs" / "top-k-0", "said", lambda t: "words")
    groups, _ = runs.load([tmp_path / "runs"])
    assert runs.extra_columns(groups) == ["pilots/dB"]
    (more,) = page_data(groups)["more"]
    by_label = dict(zip([line.label for line in lines(groups)], more["curves"], strict=True))
    assert by_label["tcs-h"]["mean"] == [-t - 1 for t in range(1, 13)]
    assert set(by_label["top-k"]["mean"]) == {None}
    (facts,) = [g for g in comparison(groups)["groups"] if g["label"] == "tcs-h"]
    assert facts["more"] == {"pilots/dB": {"mean": -7.5, "spread": pytest.approx(math.sqrt(2))}}
    told = markdown(groups)
    assert "pilots/dB per round" in told
    assert "-7.5 ± 1.4" in told
    assert "pilots/dB" in page(groups)
    pytest.importorskip("matplotlib")
    assert (tmp_path / "out" / "column-pilots-dB.svg") in write(groups, tmp_path / "out", ["svg"])


def test_damaged_device_rows_are_refused_in_one_line(one):
    path = one / "devices.csv"
    for text in ("", "round,device\n", "device,reason,energy\n9,scheduled,1\n"):
        path.write_text(text, "utf-8")
        with pytest.raises(BadInput, match=r"devices\.csv: cannot be read"):
            page_data(runs.load([one])[0])


def test_a_report_imports_no_users_code(one):
    path = one / "config.toml"
    path.write_text(path.read_text("utf-8").replace('"tcs-h"', '"no_such_module:thing"'), "utf-8")
    assert list(runs.load([one])[0]) == ["no_such_module:thing"]


# --- curves ----------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 5), st.none() | st.floats(0, 1)), min_size=1, max_size=20),
    st.integers(0, 60),
)
def test_a_held_value_is_the_accuracy_at_that_cost(steps, budget):
    blocks = np.cumsum([0, *(s for s, _ in steps)])
    accuracy = np.array([0.1, *(math.nan if a is None else a for _, a in steps)])
    columns = {"test_accuracy": accuracy, "resource_blocks": blocks}
    at = held(blocks, accuracy, np.array([float(budget)]))
    assert at[0] == accuracy_at(columns, budget)


def test_means_and_spreads_over_seeds_end_with_the_first_run():
    groups = {
        "a": [made([0.1, 0.3, 0.5], [0, 10, 20]), made([0.1, 0.5, 0.7, 0.9], [0, 12, 24, 36])],
        "free": [made([0.1, 0.8], [0, 0])],
    }
    a = curves.accuracy_by(groups, "resource_blocks", 100)["a"]
    assert a.x.tolist() == [0, 10, 12, 20]
    assert a.mean == pytest.approx([0.1, 0.2, 0.4, 0.5])
    assert a.spread == pytest.approx(np.array([0, 0.2, 0.2, 0]) / math.sqrt(2), abs=1e-12)
    free = curves.accuracy_by(groups, "resource_blocks", 100)["free"]
    assert (free.x.tolist(), free.mean.tolist()) == ([0], [0.8])
    by_round = curves.accuracy_by(groups, "round", 100)["a"]
    assert by_round.mean == pytest.approx([0.1, 0.4, 0.6])
    assert curves.first_reach(a, 0.4) == 12
    assert math.isnan(curves.first_reach(a, 0.6))


def test_long_curves_are_thin_and_still_exact_where_they_are_shown():
    rng, t = np.random.default_rng(0), np.arange(9000) > 0
    one, two = (made(rng.random(9000), np.cumsum(rng.integers(9, size=9000)) * t) for _ in range(2))
    groups = {"a": [one], "b": [two]}
    shown = curves.accuracy_by(groups, "resource_blocks", 500)
    assert all(len(c.x) <= 503 for c in shown.values())
    assert shared_blocks(groups) in shown["a"].x
    for curve, one_run in zip(shown.values(), (one, two), strict=True):
        assert curve.mean.tolist() == [accuracy_at(one_run.columns, x) for x in curve.x]


def test_windows_of_rounds_are_means_of_what_is_known():
    run = made([0.1] * 6, [0] * 6, mask_overlap=[math.nan, math.nan, 0.2, 0.4, math.nan, 0.6])
    curve, width = curves.each_round([run], "mask_overlap", 3)
    assert width == 2
    assert curve.x.tolist() == [2, 4, 5]
    assert curve.mean == pytest.approx([0.2, 0.4, 0.6])
    raw, width = curves.each_round([run], "mask_overlap", 9)
    assert (width, raw.x.tolist()) == (1, [1, 2, 3, 4, 5])
    assert np.isnan(raw.mean[[0, 3]]).all()


# --- devices and recorded rounds -------------------------------------------------------------


def test_devices_add_up_to_the_rows(folder, groups):
    found = devices(groups["tcs-h"][:1])
    rows = read_columns(folder / "tcs-h-0" / "devices.csv")
    e = groups["tcs-h"][0].experiment
    for n in range(6):
        mine = rows["device"] == n
        joules = rows["energy"][mine].sum() * e.radio.symbol_seconds
        assert found.spent[n] == pytest.approx(joules)
        assert found.heard[n] == pytest.approx(rows["scheduled"][mine].mean())
    slots = groups["tcs-h"][0].columns["slots"].sum()
    assert found.allowed == pytest.approx(e.radio.power * slots * e.radio.symbol_seconds)
    assert found.reasons.sum(axis=1) == pytest.approx(1.0)


def test_recorded_rounds_are_spread_evenly_and_limited(one, monkeypatch):
    groups = runs.load([one])[0]
    (only,) = recorded(groups)
    assert [r["round"] for r in only["rounds"]] == [4, 8, 12]
    monkeypatch.setattr("airfeel.experiment.report.inspector.ROUNDS", 2)
    (only,) = recorded(groups)
    assert ([r["round"] for r in only["rounds"]], only["of"]) == ([4, 12], 3)
    first = record.read(record.paths(one)[0])
    shown = only["rounds"][0]
    gain = np.frombuffer(base64.b64decode(shown["gain"]), "<f4").reshape(6, 8)
    assert np.array_equal(gain, first.fading.gain.astype("f4"))
    assert [list(Reason)[i] for i in shown["reason"]] == list(first.plan.reason)
    assert shown["owner"] == first.plan.owner.tolist()


# --- the page and the tables -----------------------------------------------------------------


def test_page_data_is_json_and_agrees_with_the_comparison(groups):
    data = json.loads(json.dumps(page_data(groups), allow_nan=False))
    table = lines(groups)
    assert [g["label"] for g in data["groups"]] == [line.label for line in table]
    at = data["accuracy"]["blocks"]["x"].index(data["blocks"])
    for line, curve in zip(table, data["accuracy"]["blocks"]["curves"], strict=True):
        k = min(at, len(curve["mean"]) - 1)
        assert curve["mean"][k] == pytest.approx(line.accuracy, rel=1e-4)
        assert curve["spread"][k] == pytest.approx(line.accuracy_spread, rel=1e-4, abs=1e-9)
    assert sum(len(each["rounds"]) for each in data["inspector"]) == 18


def test_the_page_needs_nothing_else_and_texts_stay_texts(one, tmp_path):
    path = one.rename(tmp_path / "<b>bold") / "config.toml"
    evil = json.dumps(EVIL)
    path.write_text(path.read_text("utf-8").replace('"tcs-h"', evil), "utf-8")
    text = page(runs.load([tmp_path])[0])
    before, _, after = text.partition("/**\n* plotly.js")
    ours = before + after[after.index("</script>") :]
    assert "default-src 'none'" in ours
    assert not re.search(r"https?://|<img|<b>|<script>document", ours)
    assert [len(re.findall(tag, ours)) for tag in ("<script", "</script>")] == [3, 3]
    found = re.search(r'id="data">(.*?)</script>', ours, re.DOTALL)
    assert json.loads(found[1])["groups"][0]["label"] == EVIL


def test_looks_are_all_different():
    labels = ["tcs-h", "x", "tcs-d", *"abcdefghijklmnop", "fedavg"]
    looks = styles(labels, [label == "fedavg" for label in labels])
    assert len({(s.colour, s.dash) for s in looks}) == len(labels)
    assert looks[0] == styles(["top-k", "tcs-h"], [False, False])[1]


def test_savings_are_blocks_to_reach_the_others_accuracy(tmp_path):
    groups = {
        "quick": [made([0.1, 0.5, 0.9], [0, 20, 80])],
        "slow": [made([0.1, 0.3, 0.5], [0, 40, 80])],
        "free": [made([0.1, 0.95, 0.96], [0, 0, 0])],
    }
    found = {(s["label"], s["against"]): s for s in comparison(groups)["savings"]}
    assert set(found) == {("quick", "slow"), ("slow", "quick")}
    assert found["quick", "slow"]["resource_blocks"] == 20
    assert found["quick", "slow"]["saving"] == pytest.approx(0.75)
    assert found["slow", "quick"]["saving"] is None


def test_markdown_and_latex_hold_the_same_cells(groups):
    text = markdown(groups)
    top, rule, *body = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(line) for line in (top, rule, *body)}) == 1
    assert len(body) == 3
    assert "resource blocks, the most that every run reached" in text
    table = latex(groups)
    assert table.count(r"\\") == 4
    assert all(rule in table for rule in (r"\toprule", r"\midrule", r"\bottomrule"))
    first = [cell.strip() for cell in body[0].strip("|").split("|")]
    assert " & ".join(tex(cell) for cell in first) in table
    assert tex(r"a_b\c{%}~") == r"a\_b\textbackslash{}c\{\%\}\textasciitilde{}"


# --- writing and the command line ------------------------------------------------------------


def test_a_report_goes_next_to_the_runs_and_never_into_one(folder, tmp_path):
    one, two = folder / "tcs-h-0", folder / "top-k-0"
    assert beside([folder]) == beside([one, two]) == folder
    assert beside([one]) == one / "report"
    with pytest.raises(BadInput, match="own folder"):
        write(runs.load([one])[0], one)
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(BadInput, match="cannot be written"):
        write(runs.load([one])[0], blocked / "below")


def test_without_plotly_the_way_to_get_it_is_said(groups, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(BadInput, match=r'plotly is missing.*pip install "airfeel\[report\]"'):
        write(groups, tmp_path / "out")


def test_command_line(folder, tmp_path):
    app = typer.Typer()
    app.command()(report)
    out = tmp_path / "out"
    done = CliRunner().invoke(app, [str(folder), "--out", str(out)], catch_exceptions=False)
    assert done.exit_code == 0
    assert done.stdout.startswith("| scheme")
    assert {p.name for p in out.iterdir()} == {"report.html", "summary.json", "summary.md"}
    assert f"wrote {out / 'report.html'}" in done.stdout
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert [len(g["runs"]) for g in summary["groups"]] == [2, 2, 2]
    with pytest.raises(BadInput, match="--format gif"):
        CliRunner().invoke(app, [str(folder), "--format", "gif"], catch_exceptions=False)


def test_reports_play_no_round(groups, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a report must not train")

    monkeypatch.setattr("airfeel.round.play_round", refuse)
    monkeypatch.setattr("airfeel.experiment.loop.play_round", refuse)
    with pytest.raises(AssertionError, match="must not train"):
        run(small())
    assert write(groups, tmp_path / "out")

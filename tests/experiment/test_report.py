import base64
import json
import math
import re
import sys

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from airfeel.analysis.criterion import shared
from airfeel.analysis.ranking import lines
from airfeel.analysis.series import evaluated, held
from airfeel.analysis.tables import tex
from airfeel.cli.report import report
from airfeel.reports import curves, runs
from airfeel.reports.data import comparison, page_data
from airfeel.reports.devices import devices
from airfeel.reports.inspector import recorded
from airfeel.reports.page import page
from airfeel.reports.styles import styles
from airfeel.reports.summary import latex, markdown
from airfeel.reports.write import beside, write
from airfeel.runs.runner import run
from airfeel.storage import records
from airfeel.storage.rows import read_columns
from airfeel.storage.run import Run
from airfeel.types import BadInput, Reason
from small import small

EVIL = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"


def made(accuracy, blocks, **more):
    t = np.arange(len(accuracy))
    columns = {
        "round": t,
        "test_accuracy": np.array(accuracy, dtype=float),
        "resource_blocks": np.array(blocks),
        "scheduled": np.full(len(t), 3),
    }
    return Run(small(), columns | {k: np.array(v) for k, v in more.items()}, {})


# --- curves ----------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(0, 5), st.none() | st.floats(0, 1)), min_size=1, max_size=20),
    st.integers(0, 60),
)
def test_a_held_value_is_the_accuracy_at_that_cost(steps, budget):
    blocks = np.cumsum([0, *(s for s, _ in steps)])
    accuracy = np.array([0.1, *(math.nan if a is None else a for _, a in steps)])
    at = held(blocks, accuracy, np.array([float(budget)]))
    assert at[0] == evaluated(blocks, accuracy, budget).accuracy


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
    assert shared(groups) in shown["a"].x
    for curve, one_run in zip(shown.values(), (one, two), strict=True):
        used, known = one_run.columns["resource_blocks"], one_run.accuracy
        assert curve.mean.tolist() == [evaluated(used, known, x).accuracy for x in curve.x]


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
    monkeypatch.setattr("airfeel.reports.inspector.ROUNDS", 2)
    (only,) = recorded(groups)
    assert ([r["round"] for r in only["rounds"]], only["of"]) == ([4, 12], 3)
    first = records.read(records.paths(one)[0])
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
    assert {p.name for p in out.iterdir()} == {
        "report.html",
        "runs.csv",
        "summary.json",
        "summary.md",
    }
    assert f"wrote {out / 'report.html'}" in done.stdout
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    assert [len(g["runs"]) for g in summary["groups"]] == [2, 2, 2]
    with pytest.raises(BadInput, match="--format gif"):
        CliRunner().invoke(app, [str(folder), "--format", "gif"], catch_exceptions=False)


def test_reports_play_no_round(groups, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a report must not train")

    monkeypatch.setattr("airfeel.round.play_round", refuse)
    monkeypatch.setattr("airfeel.runs.loop.play_round", refuse)
    with pytest.raises(AssertionError, match="must not train"):
        run(small())
    assert write(groups, tmp_path / "out")

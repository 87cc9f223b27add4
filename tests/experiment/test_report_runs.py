"""Runs that a report finds, reads and groups; what is damaged is refused in one line."""

import csv
import json
import math
import re
import shutil

import pytest

from airfeel.analysis.ranking import lines
from airfeel.reports import runs
from airfeel.reports.data import comparison, page_data
from airfeel.reports.page import page
from airfeel.reports.summary import markdown
from airfeel.reports.write import write
from airfeel.runs.runner import run
from airfeel.settings.load import load
from airfeel.settings.relevance import as_toml
from airfeel.storage.store import fingerprint
from airfeel.types import BadInput
from stored import store, unsealed


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


def test_a_budget_without_room_for_a_round_is_told(tmp_path):
    for scheme in ("tcs-h", "top-k"):  # warnings are errors
        run(load(f"digits-{scheme}", ["budget.slots=400", "run.seed=0"]), tmp_path / scheme)
    groups, _ = runs.load([tmp_path])
    assert [int(r.columns["round"][-1]) for r in groups["top-k"]] == [0]
    assert page(groups)
    assert re.search(r"top-k is \d+.\d points behind \(its budget has no room", markdown(groups))


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
        unsealed(shutil.copytree(folder / name, tmp_path / "runs" / name))
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
    assert list(runs.load([one])[0]) == ["tcs-h (no_such_module:thing)"]  # as its summary says

"""What a former commit gave is given still, to the byte; and the check that says so can fail."""

import json
import re
from itertools import islice

import grid
import history
import pytest
from folders import differences
from pairs import all_pairs, pairs_of
from same import PRESENT, check

RUNS = 12  # of the grid; `make same` compares them all
CHANGES = {  # of the former source: a louder noise, and a checkpoint that forgets the memory
    "radio/air.py": ("np.sqrt(fading.noise)", "1.0001 * np.sqrt(fading.noise)"),
    "experiment/checkpoint.py": (
        "buffers, sums = _with_prefix(_BUFFER, tensors),",
        "buffers, sums = {k: 0 * v for k, v in _with_prefix(_BUFFER, tensors).items()},",
    ),
}
SUMMARY = {"reason": "rounds", "seconds": 1.0, "commit": "a"}
WORD = re.compile("scheme=|resumed:")


@pytest.fixture(scope="module")
def former(tmp_path_factory):
    try:
        return history.source(tmp_path_factory.mktemp("former"))
    except history.Missing as missing:
        pytest.skip(str(missing))


def test_runs_give_the_bytes_of_the_former_commit_and_its_checkpoints_resume(former):
    found = check(list(islice(grid.covering(), RUNS)), former, PRESENT, memories=["ram"])
    assert found.lines == []
    assert {"a round", "scheduled"} <= found.met


def test_a_changed_source_is_found_where_it_matters(former, tmp_path):
    changed = history.source(tmp_path)
    for name, (was, becomes) in CHANGES.items():
        path = changed / "airfeel" / name
        text = path.read_text("utf-8")
        assert was in text
        path.write_text(text.replace(was, becomes), "utf-8")
    runs = [{"scheme": "tcs-h"}, {"scheme": "top-k"}, {"scheme": "fedavg"}]
    lines = check(runs, former, changed, memories=["ram"]).lines
    assert any(line.startswith("scheme=tcs-h: rounds.csv: line 3, update_norm: ") for line in lines)
    named = [[word for word in line.split() if WORD.match(word)] for line in lines]
    hit = {tuple(words) for words in named}
    resumed = {("resumed:", f"scheme={scheme}") for scheme in ("tcs-h", "tcs-d", "top-k")}
    assert hit == {("scheme=tcs-h:",)} | resumed


def test_a_commit_that_is_not_in_the_history_is_named(tmp_path):
    with pytest.raises(history.Missing, match="commit 0000000 is not in the history"):
        history.source(tmp_path, "0000000")


def test_every_legal_pair_is_in_a_run_of_every_scheme():
    runs = list(grid.covering())
    others = {name: list(values) for name, values in grid.FACTORS.items() if name != "scheme"}
    wanted = set(all_pairs(others, grid.conflict))
    for scheme in grid.SCHEMES:
        held = {pair for run in runs if run["scheme"] == scheme for pair in pairs_of(run)}
        assert held == wanted | {pair for pair in held if ("scheme", scheme) in pair}


def written(folder, **files):
    folder.mkdir()
    base = {
        "rounds": "round,seconds,loss\n0,0.1,2.5\n1,0.1,2.25\n",
        "config": "[run]\nseed = 1\n",
        "summary": json.dumps(SUMMARY),
        "model": "\0\1\2",
    }
    ends = {"rounds": "csv", "config": "toml", "summary": "json", "model": "safetensors"}
    for name, text in (base | files).items():
        if text is not None:
            (folder / f"{name}.{ends[name]}").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"rounds": "round,seconds,loss\n0,9,2.5\n1,9,2.25\n"}, None),
        ({"summary": json.dumps({"reason": "rounds", "seconds": 9.0, "commit": "b"})}, None),
        (
            {"rounds": "round,seconds,loss\n0,0.1,2.5\n1,0.1,2.250\n"},
            "rounds.csv: line 3, loss: 2.25 became 2.250",
        ),
        ({"rounds": "round,seconds,loss\n0,0.1,2.5\n"}, "rounds.csv: line 3, round: 1 became None"),
        ({"rounds": "round,loss\n0,2.5\n1,2.25\n"}, "rounds.csv: line 1"),
        ({"rounds": "round,energy_total,seconds,loss\n0,,9,2.5\n1,7,9,2.25\n"}, None),
        (
            {"rounds": "round,energy_total,seconds,loss\n0,,9,2.5\n1,7,9,2.5\n"},
            "rounds.csv: line 3, loss: 2.25 became 2.5",
        ),
        (
            {"rounds": "round,seconds,loss,more\n0,0.1,2.5,\n1,0.1,2.25,\n"},
            "rounds.csv: line 1: 3 cells became 4",
        ),
        ({"config": "[run]\nseed = 2\n"}, "config.toml: differs from byte 13"),
        ({"summary": json.dumps(SUMMARY | {"files": {}})}, None),
        ({"summary": json.dumps({"seconds": 9.0})}, "summary.json: reason: rounds became None"),
        ({"summary": json.dumps({"reason": "budget"})}, "summary.json: reason: rounds became budg"),
        ({"model": "\0\1\3"}, "model.safetensors: differs from byte 2 of 3"),
        ({"model": None}, "model.safetensors: is there on one side only, the former one"),
    ],
)
def test_what_differs_is_named_but_for_the_clock_and_the_machine(tmp_path, changed, told):
    found = differences(written(tmp_path / "a"), written(tmp_path / "b", **changed))
    assert len(found) == (told is not None)
    assert not told or found[0].startswith(told)

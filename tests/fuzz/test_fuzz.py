"""Whatever is given to airfeel is used or refused in one line: thousands of cases, the same always.

`make fuzz` goes on from other dice for as long as one likes; what it finds is kept in `found`.
"""

import json
import random
from pathlib import Path

import pytest

from fuzz.cases import KINDS
from fuzz.law import TRIES, Broken, check, place
from fuzz.nodes import NODES

COUNTS = {
    "config": 5000,
    "settings file": 600,
    "override": 600,
    "sweep": 500,
    "trace": 600,
    "npz": 400,
    "archive": 400,
    "images": 600,
    "arguments": 320,
}
FOUND = sorted((Path(__file__).parent / "found").glob("*.json"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_case_is_used_or_refused_in_one_line(kind, tmp_path):
    refused = 0
    with place(tmp_path):
        for number in range(COUNTS[kind]):
            case = KINDS[kind](random.Random(f"{kind} {number}"))
            try:
                refused += check(kind, case) is not None
            except Broken as fault:
                pytest.fail(f"{kind} {number}: {fault}: {str(case)[:500]}")
    assert refused > COUNTS[kind] // 10, "the cases are too tame"


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_was_found_once_is_not_found_again(path, tmp_path):
    found = json.loads(path.read_text("utf-8"))
    with place(tmp_path):
        if found["kind"] in NODES:
            NODES[found["kind"]](found["case"])
        else:
            check(found["kind"], found["case"])


@pytest.mark.parametrize("kind", NODES)
def test_what_nodes_send_and_keep_is_fuzzed_too(kind, tmp_path):
    pytest.importorskip("flwr")
    with place(tmp_path):
        for seed in range(20):
            NODES[kind](seed)


def test_a_broken_law_is_noticed(tmp_path, monkeypatch):
    for broken in (lambda case: 1 / 0, lambda case: exec("raise SystemExit")):
        monkeypatch.setitem(TRIES, "config", broken)
        with pytest.raises(Broken):
            check("config", {})
    with pytest.raises(Broken, match="outside"), place(tmp_path):
        (tmp_path / "escaped").write_text("")

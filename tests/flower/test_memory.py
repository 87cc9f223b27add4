"""A node's own file: whatever happens to it, the node goes on, and says what it has lost."""

import dataclasses
import json

import numpy as np
import pytest

from small import small

pytest.importorskip("flwr", reason='flwr is not installed: pip install "airfeel[flower]"')

from federation import Town, client_app, initial, step, strategy
from flwr.app import Context, RecordDict

from airfeel.build.setup import build
from airfeel.flower import AirMod
from airfeel.flower.memory import Node, file_of, load, save
from airfeel.flower.vectors import Layout

LAYOUT = Layout(("a", "b"), ((3, 4), (5,)))
ARRAYS = ("theta", "update", "memory", "proposed")


def context(run=7):
    return Context(run, 1000, {"partition-id": 0}, RecordDict(), {})


@pytest.fixture
def node():
    rng = np.random.default_rng(0)
    arrays = {name: rng.standard_normal(17).astype(np.float32) for name in ARRAYS}
    return Node("abc", 5, 4, LAYOUT, **arrays, counted=4)


@pytest.fixture
def kept(node, tmp_path):
    file = file_of(tmp_path, 7, 0)
    save(node, context(), file)
    return file


def same(one, other):
    for field in dataclasses.fields(Node):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if not (np.array_equal(a, b) if field.name in ARRAYS else a == b):
            return False
    return True


@pytest.mark.filterwarnings("ignore")  # zipfile warns of a name that is there twice
def test_no_flipped_byte_raises_or_changes_what_is_read(node, kept):
    data, rng, refused = kept.read_bytes(), np.random.default_rng(1), 0
    for at in range(len(data)):
        flipped = bytearray(data)
        flipped[at] ^= int(rng.integers(1, 256))
        kept.write_bytes(flipped)
        found, fault = load(context(), kept, "abc")
        assert (found is None and fault) or same(found, node), at
        refused += found is None
    assert refused > len(data) // 2


@pytest.mark.filterwarnings("ignore")
def test_no_file_that_was_cut_raises(kept):
    data = kept.read_bytes()
    for size in range(0, len(data), 5):
        kept.write_bytes(data[:size])
        found, fault = load(context(), kept, "abc")
        assert found is None
        assert fault.startswith("run-7.npz: cannot be read")


@pytest.mark.parametrize(
    "wrong",
    [
        {"asking": -5},
        {"asking": 2.5},
        {"version": True},
        {"theta": np.zeros(16, np.float32)},
        {"memory": np.full(17, np.nan, np.float32)},
        {"proposed": np.zeros(17, np.int64)},
    ],
    ids=str,
)
def test_a_file_that_is_whole_and_wrong_is_not_used(kept, wrong):
    with np.load(kept) as found:
        arrays = {name: found[name] for name in ARRAYS}
        book = json.loads(str(found["book"]))
    for name, value in wrong.items():
        (arrays if name in arrays else book)[name] = value
    np.savez(kept, book=np.array(json.dumps(book)), **arrays)
    found, fault = load(context(), kept, "abc")
    assert found is None
    assert "cannot be read" in fault


def test_without_a_file_nothing_is_wrong(tmp_path):
    assert load(context(), file_of(tmp_path, 7, 0), "abc") == (None, "")


def test_a_file_of_another_run_is_found_by_its_session(node, kept, tmp_path):
    found, fault = load(context(8), file_of(tmp_path, 8, 0), "abc")
    assert same(found, node)
    assert not fault
    assert load(context(8), file_of(tmp_path, 8, 0), "another session") == (None, "")


@pytest.mark.parametrize(
    ("counted", "stands"),
    [(5, "proposed"), (4, "memory"), (3, None), (6, None)],
    ids=["counted", "not counted", "the server went back", "the file is old"],
)
def test_a_memory_stands_only_if_it_is_of_what_counted(node, counted, stands):
    found = node.settled(counted)
    wanted = np.zeros(17) if stands is None else getattr(node, stands)
    assert np.array_equal(found.memory, wanted)
    assert node.in_step(counted) == (stands is not None)


@pytest.fixture(scope="module")
def setup():
    return build(small("tcs-h", radio={"fading": "none", "power": 1e6}))


@pytest.mark.parametrize("harm", ["damaged", "deleted", "behind"])
def test_a_lost_memory_is_told_to_the_server_and_named_in_its_log(setup, tmp_path, caplog, harm):
    town = Town(client_app(setup, AirMod(folder=tmp_path)), 6)
    air, arrays = strategy(setup), initial(setup)
    file, old = file_of(tmp_path, 7, 2), b""
    for number in range(1, 5):
        arrays = step(air, town, number, arrays)
        old = old or file.read_bytes()
    file.write_bytes({"damaged": b"no archive", "deleted": b"", "behind": old}[harm])
    if harm == "deleted":
        file.unlink()
    town.restart(2)
    arrays = step(air, town, 5, arrays)
    if harm == "behind":
        said = "it is that of answer 1, counted was 4"
    else:
        said = "run-7.npz: cannot be read" if harm == "damaged" else "nothing is kept here"
    assert f"(device 2) says: its memory is lost and begins empty: {said}" in caplog.text
    assert air.last.plan.active.all()

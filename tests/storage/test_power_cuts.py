"""Whenever the power goes, the same command gives the uninterrupted bytes, or refuses in a line."""

import re
import subprocess
from concurrent.futures import ProcessPoolExecutor

import cuts
import pytest
from disk import ROOT, Disk, Link, Sync, Truncate, Unlink, Write
from faults import carry_out
from killed import context
from recorder import read_tree, recording, write_tree

NEW = [Link(ROOT, "a.part", 1), Write(1, 0, b"four")]
NAMED = [*NEW, Link(ROOT, "a", 1, old="a.part")]


@pytest.fixture(scope="module")
def child():
    """A process without the checks of shapes and types, which take most of a round's time."""
    with ProcessPoolExecutor(1, context()) as pool:
        yield lambda *arguments: pool.submit(carry_out, *arguments).result()


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("run", 1.0),
        ("resume", 0.5),
        ("resume an old one", 0.5),
        ("compare", 0.06),
        ("sweep", 0.15),
    ],
)
def test_no_power_cut_changes_a_result(child, name, share):
    """After every file operation, in all ways that a disk may be left or a share of them."""
    verdict = child(name, "nothing", share)
    assert not verdict.faults, "\n".join(verdict.faults)
    assert verdict.operations > 70
    assert verdict.cuts > 10 * share * verdict.operations


@pytest.mark.parametrize(
    ("how", "fault"),
    [
        ("no sync", "runs/r went on from round 0, though 4 was saved"),
        ("no folder is synced", "runs/r went on from round 0, though 4 was saved"),
        ("in place", r"refused after .*summary\.json: cannot be read"),
        ("alone", "other bytes in runs/r/facts|though 4 was saved"),
    ],
)
def test_the_simulator_finds_what_is_done_wrong(child, how, fault):
    """A disk that lies, and writers that are careless: each shows as a fault."""
    verdict = child("run", how, 0.15, 6)
    assert any(re.search(fault, each) for each in verdict.faults), "\n".join(verdict.faults)


def survivors(log):
    return [tree for _, tree in cuts.survivors(log)]


def test_what_was_synced_is_there_after_every_cut():
    safe = [*NEW, Sync(1), NAMED[-1], Sync(ROOT)]
    assert all(tree == {"a": b"four"} for tree in survivors(safe))


def test_a_name_may_come_without_its_content_and_a_content_without_its_name():
    found = survivors([*NAMED, Sync(ROOT)])
    for content in (b"four", b"fo", b"", bytes(4)):
        assert {"a": content} in found
    assert {} in survivors([*NEW, Sync(1)])


def test_an_older_file_stays_whole_until_the_new_name_is_there():
    old = [Link(ROOT, "a", 2), Write(2, 0, b"old"), Sync(2), Sync(ROOT)]
    found = survivors([*old, *NEW, Sync(1), NAMED[-1]])
    assert {tree["a"] for tree in found} == {b"old", b"four"}


def test_a_later_name_may_come_without_an_earlier():
    found = survivors([*NAMED, Link(ROOT, "b", 2)])
    assert {"b": b""} in found
    assert {"a": b"four"} in found
    assert {"a.part": b"four", "b": b""} in found


def test_lines_after_the_last_sync_may_be_torn_or_cut_off():
    log = [*NAMED, Sync(1), Sync(ROOT), Truncate(1, 2), Write(1, 2, b"++++")]
    assert {t["a"] for t in survivors(log)} == {b"four", b"fo++", b"fo++++", b"fo" + bytes(4)}


def test_a_folder_that_is_lost_takes_everything_in_it_along():
    inside = [Link(ROOT, "d", 1, is_folder=True), Link(1, "a", 2), Write(2, 0, b"x")]
    assert survivors([*inside, Sync(2), Sync(1)])[0] == {}
    assert survivors([*inside, Sync(2), Sync(1), Sync(ROOT)])[0] == {"d": None, "d/a": b"x"}
    assert {"d": None} in survivors([*inside, Sync(ROOT), Unlink(1, "a"), Sync(1)])


def test_the_recorder_hears_every_way_to_write(tmp_path):
    write_tree(tmp_path, {"old": None, "old/file": b"as it was"})
    with recording(tmp_path) as recorder:
        (tmp_path / "new" / "er").mkdir(parents=True)
        (tmp_path / "new" / "text").write_text("some text")
        with (tmp_path / "new" / "text").open("a") as file:
            file.write("and more")
        (tmp_path / "new" / "text").rename(tmp_path / "new" / "name")
        (tmp_path / "new" / "bytes").write_bytes(b"one")
        (tmp_path / "new" / "bytes").write_bytes(b"two")
        (tmp_path / "old" / "file").unlink()
        (tmp_path / "old").rmdir()
    everything = {"new": None, "new/er": None, "new/name": b"some textand more"}
    assert (
        Disk(recorder.log).everything() == read_tree(tmp_path) == everything | {"new/bytes": b"two"}
    )


def test_what_passes_the_recorder_by_is_noticed(tmp_path):
    with pytest.raises(AssertionError, match="passed the recorder by"), recording(tmp_path):
        subprocess.run(["touch", str(tmp_path / "elsewhere")], check=True)

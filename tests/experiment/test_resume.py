"""A run survives everything: the resumed result is the uninterrupted one, byte for byte."""

import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import airfeel
import stopping
from airfeel.engines.threads import Threads
from airfeel.runs import runner
from airfeel.storage import checkpoint
from airfeel.storage.checkpoint import NEWEST, PREVIOUS, Damaged
from airfeel.storage.store import Store
from airfeel.sweeps.compare import run_missing
from airfeel.types import BadInput
from small import small
from stopping import content

ROUNDS = 40


def settings(scheme="tcs-h", rounds=ROUNDS, **run):
    return small(
        scheme,
        training={"rounds": rounds},
        scheme={"scheduler": "proportional-fair"},
        run={"checkpoint_every": 1, "record_every": 10} | run,
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    airfeel.run(settings(), folder)
    return content(folder)


def test_rows_of_an_older_version_are_refused_in_one_line(tmp_path):
    """Of a scheme whose components keep nothing, so that its checkpoint has no names to refuse."""
    e = settings("fedavg", rounds=8)
    folder = interrupted(tmp_path / "r", 4, e)
    found, _ = checkpoint.newest(folder)
    assert not found.state.carry
    table = [line.split(",") for line in (folder / "rounds.csv").read_text().splitlines()]
    place = table[0].index("energy_total")
    text = "".join(",".join(row[:place] + row[place + 1 :]) + "\n" for row in table)
    (folder / "rounds.csv").write_text(text)
    checkpoint.write(folder, replace(found, bytes=found.bytes | {"rounds.csv": len(text)}, sums={}))
    with pytest.raises(BadInput) as refused:
        airfeel.resume(folder)
    assert str(refused.value) == (
        "rounds.csv: is of an older version, without the column 'energy_total'; "
        "remove the checkpoints to start over"
    )


def interrupted(folder, rows, e=None):
    return stopping.interrupted(folder, rows, e or settings())


@pytest.mark.parametrize("rows", [2, 7, ROUNDS])
def test_stopped_and_resumed(tmp_path, whole, rows):
    folder = interrupted(tmp_path / "r", rows)
    assert not (folder / "summary.json").exists()
    run = airfeel.resume(folder)
    assert content(folder) == whole
    assert run.summary["rounds"] == ROUNDS
    assert len(run.columns["round"]) == ROUNDS + 1


@pytest.mark.parametrize("scheme", ["tcs-d", "top-k", "fedavg", "backlog"])
@pytest.mark.parametrize("memory", ["ram", "file", "bfloat16"])
def test_every_scheme_and_memory_resumes(tmp_path, scheme, memory):
    e = settings(scheme, rounds=8, memory=memory)
    airfeel.run(e, tmp_path / "whole")
    folder = interrupted(tmp_path / "cut", 4, e)
    airfeel.resume(folder)
    assert content(folder) == content(tmp_path / "whole")


def test_a_run_that_is_asked_for_again_goes_on_with_the_threads_of_the_call(tmp_path, monkeypatch):
    folder, workers = interrupted(tmp_path / "r", 5, settings(threads=1)), []

    class Told(Threads):
        def __init__(self, world, count, *rest, **more):
            workers.append(count)
            super().__init__(world, count, *rest, **more)

    monkeypatch.setattr(runner, "Threads", Told)
    run_missing(settings(threads=2), folder)
    assert workers == [2]
    airfeel.run(settings(threads=1), tmp_path / "whole")
    assert content(folder) == content(tmp_path / "whole")


def test_rows_after_the_checkpoint_are_cut(tmp_path, whole):
    folder = interrupted(tmp_path / "r", 5)
    for name in ("rounds.csv", "devices.csv"):
        with (folder / name).open("a") as file:
            file.write("6,1,2,3\n7,half a r")
    airfeel.resume(folder)
    assert content(folder) == whole


def damage(path, how):
    data = bytearray(path.read_bytes())
    if how == "truncated":
        del data[len(data) // 2 :]
    elif how == "flipped":
        data[-7] ^= 4
    elif how == "header":
        data[12] ^= 1
    else:
        data.clear()
    path.write_bytes(data)


@pytest.mark.parametrize("how", ["truncated", "flipped", "header", "empty"])
def test_a_damaged_newest_checkpoint_gives_way_to_the_previous(tmp_path, whole, how):
    folder = interrupted(tmp_path / "r", 9)
    damage(folder / NEWEST, how)
    with pytest.raises(Damaged):
        checkpoint.read(folder / NEWEST)
    with pytest.warns(UserWarning, match=rf"{NEWEST}.*going on from round 7"):
        airfeel.resume(folder)
    assert content(folder) == whole


def test_without_any_whole_checkpoint_the_run_starts_over(tmp_path, whole):
    folder = interrupted(tmp_path / "r", 9)
    for name in (NEWEST, PREVIOUS):
        damage(folder / name, "flipped")
    with pytest.warns(UserWarning, match="going on from round 0"):
        airfeel.resume(folder)
    assert content(folder) == whole


def test_one_writer_at_a_time(tmp_path):
    folder = interrupted(tmp_path / "r", 3)
    e = airfeel.load(folder / "config.toml")
    with Store(folder, e, resume=True), pytest.raises(BadInput, match="another process"):
        airfeel.resume(folder)


def test_what_cannot_be_resumed(tmp_path):
    with pytest.raises(BadInput, match=r"no config\.toml"):
        airfeel.resume(tmp_path)
    airfeel.run(settings(rounds=1), tmp_path / "r")
    with pytest.raises(BadInput, match="is complete"):
        airfeel.resume(tmp_path / "r")


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path, whole, monkeypatch):
    """Writing a checkpoint fails once there is no room: what was saved before is whole."""
    folder, room = tmp_path / "r", [60]
    fsync = os.fsync

    def full(handle):
        room[0] -= 1
        if room[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return fsync(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        airfeel.run(settings(), folder)
    assert not list(folder.glob("*.part"))
    monkeypatch.setattr(os, "fsync", fsync)
    airfeel.resume(folder)
    assert content(folder) == whole


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs root to mount a tmpfs")
def test_a_really_full_disk(tmp_path, whole):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        with pytest.raises(OSError, match="No space left"):
            airfeel.run(settings(), disk / "r")
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        airfeel.resume(disk / "r")
        assert content(disk / "r") == whole
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_read_only_folder_is_named(tmp_path, monkeypatch):
    """Root may write anywhere, so the refusal is simulated."""
    real = Path.mkdir

    def refuse(self, *arguments, **named):
        if self.name == "shut":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(self, *arguments, **named)

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(BadInput, match=r"shut: cannot be written \(Permission denied\)"):
        airfeel.run(settings(), tmp_path / "shut")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_signals_stop_the_command_line_and_say_how_to_go_on(tmp_path, number, code):
    folder = tmp_path / "a run"
    command = [sys.executable, "-c", "from airfeel.cli import main; main()"]
    quick = ["--set", "training.rounds=100000", "--set", "budget.slots=100000000"]
    process = subprocess.Popen(
        [*command, "run", "digits-tcs-h", *quick, "--out", str(folder)],
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while time.monotonic() < until and not _rows(folder) > 3:
        time.sleep(0.05)
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == code
    assert f"airfeel resume '{folder}'" in error
    found, faults = checkpoint.newest(folder)
    assert not faults
    assert found.state.round == _rows(folder) - 2


def _rows(folder):
    path = folder / "rounds.csv"
    return path.read_text().count("\n") if path.exists() else 0

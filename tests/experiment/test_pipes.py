"""A pipe in place of a file: no reader waits for what nothing writes."""

import contextlib
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

import airfeel
from airfeel import arrays
from airfeel.cli.gains import read_gains
from airfeel.data import own
from airfeel.data.files import add, status
from airfeel.data.sources import SOURCES
from airfeel.reports.live import Watched
from airfeel.reports.runs import load as load_runs
from airfeel.reports.write import write
from airfeel.settings.load import load
from airfeel.storage import records
from airfeel.sweeps.compare import run_missing
from airfeel.sweeps.sweep import read_sweep
from airfeel.types import BadInput
from small import small
from stopping import interrupted

SECONDS = 20  # of a case, which takes some milliseconds
RUN = {"record_every": 2, "checkpoint_every": 1}
FILES = [
    "config.toml",
    "facts.json",
    "rounds.csv",
    "devices.csv",
    "model.safetensors",
    "summary.json",
    "checkpoint.safetensors",
    "checkpoint-previous.safetensors",
    "records/round-000002.safetensors",
]


class Late(BaseException):
    """Not an error that a reader may catch."""


@pytest.fixture(autouse=True)
def in_time():
    def late(*_):
        raise Late(f"waits for more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A finished run and one that was stopped."""
    folder = tmp_path_factory.mktemp("runs")
    airfeel.run(small(run=RUN), folder / "whole")
    interrupted(folder / "begun", 6, small(run=RUN))
    return folder


def piped(path):
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    return path


def report(folder):
    write(load_runs([folder])[0], folder.with_name("report"))


def watch(folder):
    watched = Watched([folder])
    watched.state()
    watched.whole_page()


READERS = {
    "open": airfeel.open,
    "report": report,
    "watch": watch,
    "compare": lambda folder: run_missing(small(run=RUN), folder),
    "resume": airfeel.resume,
    "records": lambda folder: [records.read(path) for path in records.paths(folder)],
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # of a damaged checkpoint
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("state", ["whole", "begun"])
def test_no_reader_waits_for_a_pipe_in_a_runs_folder(runs, tmp_path, state, name, reader):
    folder = Path(shutil.copytree(runs / state, tmp_path / "run"))
    piped(folder / name)
    with contextlib.suppress(BadInput, OSError):
        READERS[reader](folder)


def test_a_folder_without_a_checkpoint_is_not_written_into_a_pipe(runs, tmp_path):
    folder = Path(shutil.copytree(runs / "begun", tmp_path / "run"))
    for path in folder.glob("checkpoint*"):
        path.unlink()
    piped(folder / "rounds.csv")
    with pytest.raises(BadInput, match="is no regular file"):
        airfeel.resume(folder)


INPUTS = {
    "trace.npy": lambda path: arrays.read_gains(path, "radio.trace"),
    "trace.npz": lambda path: arrays.read_npz(path, "radio.trace", 1e9),
    "own.npz": lambda path: own.file(str(path)),
    "gains.npy": read_gains,
    "gains.csv": read_gains,
    "settings.toml": load,
    "sweep.toml": lambda path: read_sweep(path, path.parent / "runs"),
    "cifar-10-binary.tar.gz": lambda path: add("cifar10", path, path.parent / "data"),
}


@pytest.mark.parametrize("name", INPUTS)
def test_no_reader_waits_for_a_pipe_as_an_input(tmp_path, name):
    with pytest.raises(BadInput) as error:
        INPUTS[name](piped(tmp_path / name))
    assert len(str(error.value).splitlines()) == 1


def test_data_sets_of_pipes_are_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFEEL_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / SOURCES["mnist"].layouts[0].folder
    folder.mkdir()
    for item in SOURCES["mnist"].layouts[0].items:
        piped(folder / item.name)
    assert {each.name: each.state for each in status(tmp_path)}["mnist"] == "missing"


def test_a_device_is_no_file_either():
    with pytest.raises(BadInput, match="is no regular file"):
        arrays.read_npy(Path("/dev/zero"), "radio.trace")


def test_regular_files_are_read_as_ever(tmp_path):
    np.save(tmp_path / "gains.npy", np.ones((2, 3)))
    assert read_gains(tmp_path / "gains.npy").shape == (2, 3)

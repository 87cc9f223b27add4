"""A run is deleted, resumed or begun by one process at a time, whoever else is at it."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from filelock import FileLock

import airfeel
from airfeel.runs import runner
from airfeel.storage.store import Store, _clear
from airfeel.sweeps.compare import run_missing
from airfeel.types import BadInput
from small import small

RACES = 8


def settings():
    return small(training={"rounds": 4}, run={"checkpoint_every": 1, "record_every": 2})


def kept(folder):
    names = ("config.toml", "devices.csv", "model.safetensors")
    return [(folder / name).read_bytes() for name in names]


@pytest.fixture
def done(tmp_path):
    airfeel.run(settings(), tmp_path / "run")
    return tmp_path / "run"


class Meanwhile:
    """Does something after a run's second row."""

    def __init__(self, act):
        self.act, self.rows = act, 0

    def begin(self, experiment, world):
        pass

    def row(self, row):
        self.rows += 1
        if self.rows == 2:
            self.act()

    def end(self, summary):
        pass


def test_fresh_does_not_delete_what_another_process_writes(tmp_path, done):
    def delete():
        with pytest.raises(BadInput, match="another process is writing this run"):
            run_missing(settings(), folder, fresh=True)

    folder = tmp_path / "again"
    watcher = Meanwhile(delete)
    airfeel.run(settings(), folder, [watcher])
    assert watcher.rows > 2
    assert kept(folder) == kept(done)


def test_of_many_that_want_a_fresh_run_at_once_each_wins_or_leaves_it_alone(done):
    before, together = kept(done), Barrier(2)

    def race(_):
        together.wait()
        try:
            run_missing(settings(), done, fresh=True)
        except BadInput as error:
            return str(error)
        return "done"

    for _ in range(RACES):
        with ThreadPoolExecutor(2) as pool:
            said = list(pool.map(race, range(2)))
        assert "done" in said
        assert all(s == "done" or "another process is writing" in s for s in said)
        assert (done / "summary.json").is_file()
        assert kept(done) == before


def test_fresh_leaves_nothing_of_the_run_before(done):
    (done / "left-over").write_text("")
    (done / "records" / "left-over").write_text("")
    run_missing(settings(), done, fresh=True)
    assert not list(done.rglob("left-over"))
    assert (done / "summary.json").is_file()


def test_a_deletion_cut_off_anywhere_leaves_a_run_that_resumes(done, monkeypatch):
    before, real = kept(done), type(done).unlink
    files = [p for p in done.iterdir() if p.is_file() and p.name != ".lock"]

    for cut in range(len(files)):
        left = [cut]

        def unlink(path, *arguments, left=left, **named):
            left[0] -= 1
            if left[0] < 0:
                raise KeyboardInterrupt
            real(path, *arguments, **named)

        with monkeypatch.context() as patch:
            patch.setattr(type(done), "unlink", unlink)
            with pytest.raises(KeyboardInterrupt):
                _clear(done)
        assert not (done / "summary.json").exists() or cut == 0
        with warnings.catch_warnings(action="ignore"):  # a checkpoint without rows is told
            run_missing(settings(), done)
        assert kept(done) == before


def test_a_run_that_another_process_has_finished_meanwhile_is_not_resumed(done, monkeypatch):
    """It would cut the rows of a complete run."""
    (done / "summary.json").rename(done / "later")
    build = runner.build

    def slow(*arguments, **named):
        (done / "later").rename(done / "summary.json")
        return build(*arguments, **named)

    monkeypatch.setattr(runner, "build", slow)
    before = (done / "rounds.csv").read_bytes()
    with pytest.raises(BadInput, match="is complete"):
        airfeel.resume(done)
    assert (done / "rounds.csv").read_bytes() == before
    FileLock(done / ".lock").acquire(timeout=0)


def test_a_folder_that_another_process_has_filled_meanwhile_is_not_begun(tmp_path, monkeypatch):
    folder, look = tmp_path / "run", Store._look

    def fill(self, resume):
        look(self, resume)
        monkeypatch.setattr(Store, "_look", look)
        airfeel.run(settings(), folder)

    folder.mkdir()
    monkeypatch.setattr(Store, "_look", fill)
    with pytest.raises(BadInput, match="already holds something"):
        airfeel.run(settings(), folder)
    assert (folder / "summary.json").is_file()
    FileLock(folder / ".lock").acquire(timeout=0)

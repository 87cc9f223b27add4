"""Nothing on the disk is believed unseen: damage is named in one line, and nothing is lost."""

import json
import random
import re
import shutil
import sys
import warnings
from pathlib import Path

import pytest

import airfeel
from airfeel.cli import main
from airfeel.reports import runs
from airfeel.reports.live import Watched
from airfeel.reproduce.results import export
from airfeel.storage import checkpoint
from airfeel.storage.checksums import ROWS, Growing, checksum
from airfeel.storage.reader import open_run
from airfeel.storage.rows import read_columns
from airfeel.sweeps.compare import folder_of, read_run, run_missing
from airfeel.types import BadInput
from small import small
from stopping import content, interrupted
from stored import unsealed

SEALED = ("config.toml", *ROWS, "model.safetensors")


def settings():
    return small(training={"rounds": 8}, run={"checkpoint_every": 2})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    airfeel.run(settings(), folder)
    return folder


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    return interrupted(tmp_path_factory.mktemp("stopped") / "run", 6, settings())


@pytest.fixture
def cut(stopped, tmp_path):
    """A copy of a run that was stopped after round 5, its checkpoints are of rounds 5 and 4."""
    return shutil.copytree(stopped, tmp_path / "cut")


def flip(path, place, bit=1):
    data = bytearray(path.read_bytes())
    data[place] ^= bit
    path.write_bytes(data)


def files(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name != ".lock"}


def refusal(action, *arguments):
    with pytest.raises(BadInput) as error:
        action(*arguments)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_finished_run_knows_the_checksums_of_its_files(whole):
    told = json.loads((whole / "summary.json").read_text())["files"]
    assert told == {name: checksum(whole / name) for name in SEALED}


@pytest.mark.parametrize("name", SEALED)
@pytest.mark.parametrize("reader", [airfeel.resume, read_run, open_run, runs.read])
def test_a_finished_run_that_was_damaged_is_refused_by_every_reader(whole, tmp_path, name, reader):
    folder = shutil.copytree(whole, tmp_path / "r")
    flip(folder / name, -3)
    before = files(folder)
    assert refusal(reader, folder).startswith(f"{folder / name}: is not what the run wrote")
    assert files(folder) == before


@pytest.mark.parametrize("name", ROWS)
def test_damaged_rows_of_an_unfinished_run_are_refused_and_nothing_is_lost(cut, name):
    flip(cut / name, 400)
    before = files(cut)
    assert refusal(airfeel.resume, cut).startswith(f"{cut / name}: is not what was written")
    assert refusal(open_run, cut).startswith(f"{cut / name}: is not what was written")
    assert files(cut) == before


@pytest.mark.parametrize("change", [lambda p: p.unlink(), lambda p: p.write_bytes(b"")])
@pytest.mark.parametrize("name", ROWS)
def test_rows_that_were_lost_are_refused_and_nothing_else_is_lost(cut, name, change):
    change(cut / name)
    before = files(cut)
    assert re.search("is not there any more|holds less", refusal(airfeel.resume, cut))
    assert files(cut) == before


def test_damage_after_the_previous_checkpoint_costs_the_rounds_since(cut, whole):
    size = checkpoint.read(cut / checkpoint.PREVIOUS).bytes["rounds.csv"]
    flip(cut / "rounds.csv", size + 2)
    with pytest.warns(UserWarning, match=r"rounds\.csv: is not .*; going on from round 4"):
        airfeel.resume(cut)
    assert content(cut) == content(whole)


def test_a_damaged_checkpoint_does_not_push_the_whole_one_out(cut):
    """The next checkpoint takes the place of the damaged one, so that a crash finds the other."""
    flip(cut / checkpoint.NEWEST, -7)
    e = airfeel.load(cut / "config.toml")
    with airfeel.storage.store.Store(cut, e, resume=True, other=True) as store:
        store.save(store.found.state, store.found.buffers)
    assert checkpoint.read(cut / checkpoint.PREVIOUS).state.round == 4


def test_no_single_damage_goes_unnoticed(cut, whole, tmp_path):
    """Wherever a bit of settings or rows flips: the very result, or a refusal in one line."""
    dice, expected, said = random.Random(5), content(whole)[:3], []
    for number in range(24):
        folder = shutil.copytree(cut, tmp_path / str(number))
        name = ("config.toml", *ROWS)[number % 3]
        flip(folder / name, dice.randrange((folder / name).stat().st_size), 1 << dice.randrange(7))
        try:
            with warnings.catch_warnings(action="ignore"):
                airfeel.resume(folder)
        except BadInput as error:
            said.append(str(error))
        else:
            assert content(folder)[:3] == expected
    assert len(said) >= 16
    assert not any("\n" in line for line in said)


def test_a_damaged_row_is_one_line_on_the_command_line(whole, tmp_path, monkeypatch, capsys):
    folder = shutil.copytree(whole, tmp_path / "r")
    flip(folder / "rounds.csv", 300)
    for command in ("resume", "report"):
        monkeypatch.setattr(sys, "argv", ["airfeel", command, str(folder)])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 2
        said = capsys.readouterr().err
        assert said.startswith(f"airfeel: {folder}/rounds.csv: is not what the run wrote")
        assert said.count("\n") == 1


@pytest.mark.parametrize("text", ["", "a,b\n1\n", "a,b\n1,2,3\n", "a\n\xff\n"])
def test_rows_without_checksums_that_cannot_be_read_are_refused_in_one_line(tmp_path, text):
    path = tmp_path / "rounds.csv"
    path.write_text(text, "latin-1")
    assert refusal(read_columns, path).startswith(f"{path}: cannot be read")


def test_what_older_versions_stored_is_read(whole, tmp_path):
    """A finished run without checksums, and a copy with fewer digits, which has its own."""
    folder = unsealed(shutil.copytree(whole, tmp_path / "runs" / "r"))
    assert read_run(folder, settings()).summary["rounds"] == 8
    (copy,), _ = export([whole], tmp_path / "copies", {}, others=True)
    assert open_run(copy).summary["files"] == {
        name: checksum(copy / name) for name in ("config.toml", "rounds.csv")
    }


class Meddler:
    """Does something to a run's folder after its fifth row."""

    def __init__(self, act):
        self.act = act

    def begin(self, experiment, world):
        pass

    def row(self, row):
        if row["round"] == 4:
            self.act()

    def end(self, summary):
        pass


def replaced(path):
    """By an editor, say: another file of that name, with a line more."""
    other = path.with_name("other")
    other.write_bytes(path.read_bytes() + b"#\n")
    other.replace(path)


@pytest.mark.parametrize("act", [Path.unlink, replaced])
@pytest.mark.parametrize("name", ["config.toml", *ROWS])
@pytest.mark.parametrize("every", [1, 0])
def test_a_file_that_is_taken_away_stops_the_run(tmp_path, monkeypatch, act, name, every):
    """At the next checkpoint, or at the end where none is due before."""
    monkeypatch.setattr("airfeel.storage.store._SECONDS", 0.0)  # rows are written at once
    path = tmp_path / "r" / name
    e = small(training={"rounds": 8}, run={"checkpoint_every": every})
    said = refusal(airfeel.run, e, tmp_path / "r", [Meddler(lambda: act(path))])
    assert said.startswith(f"{path}: was ")
    assert said.endswith("while the run was under way")
    assert not (tmp_path / "r" / "summary.json").exists()


def test_a_folder_that_is_taken_away_stops_the_run(tmp_path):
    folder = tmp_path / "r"
    said = refusal(airfeel.run, settings(), folder, [Meddler(lambda: shutil.rmtree(folder))])
    assert "was removed" in said


def test_compare_takes_up_no_folder_of_another_experiment(tmp_path):
    e = settings()
    folder = interrupted(folder_of(tmp_path, "tcs-h", e), 5, e)
    config = folder / "config.toml"
    text = config.read_text()
    config.write_text(text.replace("noise = 1e-06", "noise = 2e-06"))
    said = refusal(run_missing, e, folder)
    assert said.endswith("is not the run that its name says: radio.noise = 2e-06, was 1e-06")
    config.write_text(text)
    run_missing(e, folder)
    config.write_text(text.replace("noise = 1e-06", "noise = 2e-06"))
    unsealed(folder)
    assert "radio.noise" in refusal(run_missing, e, folder)


def test_a_growing_file_knows_its_checksum_at_any_time(tmp_path):
    file = Growing(tmp_path / "x", b"head\n")
    for piece in (b"one\n", b"two\n"):
        file.append(piece)
        assert (file.checksum, file.size) == (checksum(file.path), file.path.stat().st_size)
    file.close()
    again = Growing(tmp_path / "x", keep=9)
    assert (again.checksum, again.size) == (checksum(again.path), 9)
    assert again.path.read_bytes() == b"head\none\n"
    again.close()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"arithmetic": [{}]},
            "arithmetic: must be a list of tables, each with a number from_round",
        ),
        ({"arithmetic": "native"}, "arithmetic: must be a list of tables"),
        ({"rounds": "many"}, "rounds = 'many': must be int"),
        ({"seed": True}, "seed = True: must be int"),
        ({"test_accuracy": [1.0]}, r"test_accuracy = \[1.0\]: must be int or float or null"),
        ({"reason": None}, "reason = None: must be str"),
        ({"files": {"a\0b": "x"}}, "files: must be a table of names and checksums"),
        ({"arithmetic": [{"from_round": True}]}, "arithmetic: must be a list of tables"),
    ],
)
def test_a_summary_that_was_edited_by_hand_is_refused_by_every_reader(
    whole, tmp_path, change, words
):
    folder = shutil.copytree(whole, tmp_path / "r")
    told = json.loads((folder / "summary.json").read_text()) | change
    (folder / "summary.json").write_text(json.dumps(told))
    for reader in (airfeel.resume, read_run, open_run, runs.read):
        assert re.search(rf"summary\.json: {words}", refusal(reader, folder))


@pytest.mark.parametrize("text", ["{}", "[" * 100_000])
def test_a_summary_without_entries_or_nested_too_deeply_is_refused(whole, tmp_path, text):
    folder = shutil.copytree(whole, tmp_path / "r")
    (folder / "summary.json").write_text(text)
    assert re.search(r"summary\.json: (must hold|cannot be read)", refusal(open_run, folder))


def test_a_page_outlives_a_summary_and_facts_that_were_edited_by_hand(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "whole")
    other = shutil.copytree(whole, tmp_path / "other")
    watched = Watched([tmp_path])
    assert "<html" in watched.whole_page()
    for name in ("summary.json", "facts.json"):
        facts = json.loads((other / name).read_text()) | {"arithmetic": [{"backend": "torch"}] * 2}
        (other / name).write_text(json.dumps(facts))
        assert "<html" in watched.whole_page()
    assert "must be a list of tables" in str(watched.state())


def test_a_summary_without_an_entry_is_not_reused(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "r")
    told = json.loads((folder / "summary.json").read_text())
    del told["seed"]
    (folder / "summary.json").write_text(json.dumps(told))
    assert refusal(read_run, folder) == f"{folder}/summary.json: has no seed"


def test_a_model_that_was_removed_is_noticed_and_its_rows_are_reused(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "r")
    (folder / "model.safetensors").unlink()
    for reader in (read_run, lambda folder: run_missing(settings(), folder)):
        with pytest.warns(UserWarning, match=r"model\.safetensors: was removed; --fresh makes it"):
            assert reader(folder).summary["rounds"] == 8
    run_missing(settings(), folder, fresh=True)
    assert (folder / "model.safetensors").is_file()

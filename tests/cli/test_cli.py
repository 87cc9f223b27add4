"""The command line as a user meets it."""

import re
import sys
from pathlib import Path

import pytest

from airfeel.cli import main
from airfeel.storage.rows import read_columns

QUICK = ["--set", "training.rounds=3", "--set", "training.local_steps=1"]


def call(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["airfeel", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 0
    return capsys.readouterr().out


def runs_in(folder):
    return [path for path in folder.iterdir() if path.is_dir()]


def test_run_writes_a_folder_and_never_over_another(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("digits-tcs-h-seed7", "digits-tcs-h-seed7-2"):
        out = call(monkeypatch, capsys, "run", "digits-tcs-h", "--seed", "7", *QUICK)
        assert f"results in runs/{name}" in out
        assert "after 3 rounds" in out
        files = {p.name for p in (tmp_path / "runs" / name).iterdir() if p.name[0] != "."}
        tables = {"rounds.csv", "devices.csv"}
        assert files == tables | {"config.toml", "facts.json", "model.safetensors", "summary.json"}


def test_run_from_a_file(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('[scheme]\nname = "top-k"\n[training]\nrounds = 2\n')
    call(monkeypatch, capsys, "run", "mine.toml", "--out", "r")
    assert 'name = "top-k"' in (tmp_path / "r" / "config.toml").read_text()


def test_compare_ends_in_a_table_and_a_sentence_and_reuses_runs(monkeypatch, capsys, tmp_path):
    call_ = ["compare", "--schemes", "tcs-h,top-k,fedavg", "--seeds", "0..1", *QUICK]
    call_ += ["--out", str(tmp_path)]
    first = call(monkeypatch, capsys, *call_)
    assert len(runs_in(tmp_path)) == 6
    assert first.count("stopped by") == 6
    times = {p: (p / "rounds.csv").stat().st_mtime_ns for p in runs_in(tmp_path)}
    again = call(monkeypatch, capsys, *call_)
    assert "stopped by" not in again
    assert first.endswith(again)
    assert times == {p: (p / "rounds.csv").stat().st_mtime_ns for p in runs_in(tmp_path)}
    sentence = " ".join(again.split())
    assert re.search(
        r"At [\d,]+ resource blocks, the most that every run reached, \S+ has", sentence
    )
    assert "fedavg, which is free and noiseless" in sentence
    fresh = call(monkeypatch, capsys, *call_, "--fresh")
    assert fresh.count("stopped by") == 6
    assert fresh.endswith(again)


def test_compare_says_the_same_with_runs_side_by_side(monkeypatch, capsys, tmp_path):
    call_ = ["compare", "--schemes", "tcs-h,fedavg", "--seeds", "0..1", *QUICK]
    alone = call(monkeypatch, capsys, *call_, "--out", str(tmp_path / "a"))
    two = [*call_, "--out", str(tmp_path / "b"), "--workers", "2"]
    first = call(monkeypatch, capsys, *two)
    assert first.count(": done") == 4
    for folder in runs_in(tmp_path / "a"):
        other = tmp_path / "b" / folder.name
        assert (folder / "model.safetensors").read_bytes() == (
            other / "model.safetensors"
        ).read_bytes()
    table = alone.index("scheme")
    assert alone[table:].replace("/a/", "/b/") == first[first.index("scheme") :]
    assert call(monkeypatch, capsys, *two, "--fresh").count(": done") == 4


def test_compare_runs_again_what_was_cut_off(monkeypatch, capsys, tmp_path):
    call_ = ["compare", "digits-tcs-h", *QUICK, "--out", str(tmp_path)]
    call(monkeypatch, capsys, *call_)
    (folder,) = runs_in(tmp_path)
    (folder / "summary.json").unlink()
    assert "stopped by" in call(monkeypatch, capsys, *call_)
    assert (folder / "summary.json").is_file()


def test_list_names_everything(monkeypatch, capsys):
    out = call(monkeypatch, capsys, "list")
    for name in ("tcs-h", "fedavg", "cifar10", "paper-cnn", "digits-top-k", "paper-noniid-tcs-d"):
        assert name in out


def test_version_and_help(monkeypatch, capsys):
    assert re.fullmatch(r"airfeel \d+\.\d+\.\d+\n", call(monkeypatch, capsys, "--version"))
    assert "compare" in call(monkeypatch, capsys, "--help")


def test_a_scheme_of_ones_own(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(Path(__file__).parents[2] / "examples" / "own")
    own = ["--set", "scheme.name=air_only:build", "--set", "scheme.options={count=5}"]
    call(monkeypatch, capsys, "run", "digits-tcs-h", *QUICK, *own, "--out", str(tmp_path / "r"))
    rounds = read_columns(tmp_path / "r" / "rounds.csv")
    assert not rounds["slots_digital"].any()
    assert 0 < rounds["scheduled"].max() <= 5

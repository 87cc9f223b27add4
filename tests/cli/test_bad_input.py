"""Bad input: one line that names the field, exit code 2, and no half-made folder."""

import os
import sys

import numpy as np
import pytest

from airfeel.cli import main

SET = [
    ("scheme.bits=1", "scheme.bits = 1"),
    ("scheme.bits=25", "2 to 24, or 32"),
    ("scheme.bits=8.5", "scheme.bits = 8.5"),
    ("scheme.bits=lots", "scheme.bits = 'lots'"),
    ("scheme.global_sparsity=1.2", "scheme.global_sparsity = 1.2"),
    ("scheme.local_sparsity=-0.1", "scheme.local_sparsity = -0.1"),
    ("scheme.local_sparsity=nan", "scheme.local_sparsity = nan"),
    ("scheme.name=tcs-x", "did you mean 'tcs-h'"),
    ("scheme.name=nowhere:f", "scheme.name = 'nowhere:f'"),
    ("scheme.scheduled=21", "at most training.devices = 20"),
    ("scheme.scheduled=0", "scheme.scheduled = 0"),
    ("scheme.bitz=8", "did you mean 'bits'"),
    ("scheem.bits=8", "did you mean 'scheme'"),
    ("training.devices=0", "training.devices = 0"),
    ("training.devices=2000", "training.devices = 2000"),
    ("training.local_steps=0", "training.local_steps = 0"),
    ("training.batch_size=-5", "training.batch_size = -5"),
    ("training.learning_rate=0", "training.learning_rate = 0"),
    ("training.learning_rate=[0.1,0.2]", "training.rounds = 100"),
    ("training.learning_rate=inf", "training.learning_rate = inf"),
    ("training.rounds=0", "training.rounds = 0"),
    ("training.dtype=float16", "'float32' or 'float64'"),
    ("training.device=abacus", "training.device = 'abacus'"),
    ("radio.power=-0.005", "radio.power = -0.005"),
    ("radio.power=[0.1,0.1]", "training.devices = 20"),
    ("radio.power=[]", "radio.power = []"),
    ("radio.noise=0", "radio.noise = 0"),
    ("radio.subchannels=0", "radio.subchannels = 0"),
    ("radio.fading=fog", "radio.fading = 'fog'"),
    ("radio.fading=trace", "radio.trace"),
    ("radio.trace=h.npy", "radio.trace"),
    ("radio.alpha=0", "radio.alpha = 0"),
    ("radio.power_scalar=true", "radio.power_scalar = True"),
    ("budget.slots=0", "budget.slots = 0"),
    ("budget.resource_blocks=3", "budget.resource_blocks"),
    ("budget.target_accuracy=1.5", "budget.target_accuracy = 1.5"),
    ("data.dataset=mnist", "data.dataset = 'mnist'"),
    ("data.partition=random", "data.partition = 'random'"),
    ("data.alpha=0", "data.alpha = 0"),
    ("model.name=gpt", "model.name = 'gpt'"),
    ("model.name=paper-cnn", "needs inputs of at least 16 × 16"),
    ("model.dropout=1", "model.dropout = 1"),
    ("model.options={a=1}", "model.options"),
    ("run.seed=-1", "run.seed = -1"),
    ("run.eval_every=0", "run.eval_every = 0"),
    ("run.idle_limit=0", "run.idle_limit = 0"),
    ("bits=8", "section.key=value"),
    ("scheme.bits", "section.key=value"),
]


def fails(monkeypatch, capsys, *arguments):
    """The one line on stderr of a call that must exit with 2."""
    monkeypatch.setattr(sys, "argv", ["airfeel", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("airfeel: ")
    assert error.count("\n") == 1, error
    return error


@pytest.mark.parametrize(("change", "words"), SET, ids=[change for change, _ in SET])
def test_bad_settings(monkeypatch, capsys, tmp_path, change, words):
    monkeypatch.chdir(tmp_path)
    error = fails(monkeypatch, capsys, "run", "digits-tcs-h", "--set", change, "--out", "here")
    assert words in error
    assert list(tmp_path.iterdir()) == []


BY_CLASSES = ["--set", "data.partition=classes", "--set"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "digits-tcs-g"], "did you mean 'digits-tcs-h'"),
        (["run", "nothing.toml"], "neither a preset"),
        (["run", "digits-tcs-h", *BY_CLASSES, "data.classes_per_device=11"], "classes_per_device"),
        (
            [
                "run",
                "digits-tcs-h",
                *BY_CLASSES,
                "data.classes_per_device=1",
                "--set",
                "training.devices=4",
                "--set",
                "scheme.scheduled=2",
            ],
            "data.classes_per_device",
        ),
        (["run", "digits-tcs-h", "--seed", "-3"], "run.seed = -3"),
        (["compare", "--seeds", "4..0"], "--seeds '4..0'"),
        (["compare", "--seeds", "a,b"], "--seeds 'a,b'"),
        (["compare", "--seeds", "1,1"], "--seeds '1,1'"),
        (["compare", "--schemes", "tcs-h,tcs-q"], "scheme.name = 'tcs-q'"),
        (["data", "fetch", "imagenet"], "imagenet"),
        (["data", "add", "cifar10", "missing-folder"], "missing-folder"),
    ],
)
def test_bad_calls(monkeypatch, capsys, tmp_path, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert words in fails(monkeypatch, capsys, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_missing_data_set_names_the_commands(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("AIRFEEL_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    error = fails(monkeypatch, capsys, "run", "paper-iid-tcs-h", "--out", str(tmp_path / "x"))
    assert "airfeel data fetch cifar10" in error
    assert "airfeel data add cifar10" in error
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "text", ["a = [", "scheme = 3", "[scheme]\nbits = 'x'", "[[scheme]]\nbits = 8"]
)
def test_bad_files(monkeypatch, capsys, tmp_path, text):
    (tmp_path / "e.toml").write_text(text)
    fails(monkeypatch, capsys, "run", str(tmp_path / "e.toml"), "--out", str(tmp_path / "x"))
    assert not (tmp_path / "x").exists()


def test_binary_file(monkeypatch, capsys, tmp_path):
    np.save(tmp_path / "e.toml.npy", np.arange(300, dtype=np.uint8))
    assert "not a TOML file" in fails(monkeypatch, capsys, "run", str(tmp_path / "e.toml.npy"))


def test_unwritable_folder(monkeypatch, capsys, tmp_path):
    (tmp_path / "file").write_text("in the way")
    error = fails(monkeypatch, capsys, "run", "digits-tcs-h", "--out", str(tmp_path / "file" / "r"))
    assert "cannot be written" in error
    full = tmp_path / "full"
    full.mkdir()
    (full / "a").write_text("")
    assert "already holds" in fails(monkeypatch, capsys, "run", "digits-tcs-h", "--out", str(full))
    assert os.listdir(full) == ["a"]

"""Bad input: one line that names the field, exit code 2, and no half-made folder."""

import os
import subprocess
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
    (
        "training.learning_rate=cosine",
        """a table: {name = "cosine", start = 0.05, rounds = 100}""",
    ),
    ("radio.power_scalar=mine:Warm", """a table: {name = "mine:Warm"}"""),
    ("radio.alpha=0", "radio.alpha = 0"),
    ("radio.power_scalar=true", "radio.power_scalar = True"),
    ("budget.slots=0", "budget.slots = 0"),
    ("budget.resource_blocks=3", "budget.resource_blocks"),
    ("budget.target_accuracy=1.5", "budget.target_accuracy = 1.5"),
    ("data.dataset=emnist", "data.dataset = 'emnist'"),
    ("data.partition=random", "data.partition = 'random'"),
    ("data.alpha=0", "data.alpha = 0"),
    ("model.name=gpt", "model.name = 'gpt'"),
    ("model.name=paper-cnn", "needs inputs of at least 16 × 16"),
    ("model.dropout=1", "model.dropout = 1"),
    ("model.options={a=1}", "model.options"),
    ("run.seed=-1", "run.seed = -1"),
    ("run.eval_every=0", "run.eval_every = 0"),
    ("run.idle_limit=0", "run.idle_limit = 0"),
    ("run.seed=" + "9" * 5000, "cannot be read"),
    ("run.seed=" + "9" * 50, "run.seed = 9"),
    ("training.devices=" + "9" * 25, "training.devices = 9"),
    ("radio.power=" + "9" * 400, "must be a number above 0"),
    ("model.options=" + "[" * 3000, "nested too deeply"),
    ("model.options=" + "{a=" * 60 + "1" + "}" * 60, "nested more than 50 deep"),
    ("scheme.options={a=nan}", "scheme.options = {'a': nan}: must hold finite numbers"),
    ("scheme.options.foo=1", "scheme.options.foo: is no setting"),
    ("radio.fading={name='rician',factor=nan}", "must hold finite numbers"),
    ("budget.slots=100000000000000000000000", "less than or equal to 9223372036854775807"),
    ("run.threads=1000000", "less than or equal to 4096"),
    ("training.device=meta", "training.device = 'meta'"),
    ("training.device=hpu", "training.device = 'hpu'"),
    ("radio.power_scalar=1e300", "between 1e-150 and 1e+150"),
    ("radio.power_scalar=1e-300", "between 1e-150 and 1e+150"),
    ("radio.power_scalar={name='cosine',start=1e300,end=1e299}", "between 1e-150 and 1e+150"),
    ("model.name=" + "a." * 2000 + ":b", "cannot be imported"),
    ("model.name=fails:x", "cannot be imported (ZeroDivisionError"),
    ("model.name=unfinished:x", "cannot be imported (SyntaxError"),
    ("model.name=leaves:x", "cannot be imported (SystemExit"),
    ("scheme.codec=leaves:x", "cannot be imported (SystemExit"),
    ("data.dir=\udcff", "data.dir = '\\udcff': must be text in UTF-8"),
    ("data.dataset=file:" + "x" * 300, "is no file"),
    ("scheme.name=" + "x" * 5000, "must be one of tcs-h"),
    ("scheme." + "x" * 5000 + "=1", "is no setting"),
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


OWN = {"fails": "1 / 0", "unfinished": "def (", "leaves": "raise SystemExit"}


@pytest.mark.parametrize(("change", "words"), SET, ids=[ascii(change)[:60] for change, _ in SET])
def test_bad_settings(monkeypatch, capsys, tmp_path, change, words):
    modules, here = tmp_path / "modules", tmp_path / "here"
    for folder in (modules, here):
        folder.mkdir()
    for name, code in OWN.items():
        (modules / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(modules)
    monkeypatch.chdir(here)
    error = fails(monkeypatch, capsys, "run", "digits-tcs-h", "--set", change, "--out", "r")
    assert words in error
    assert len(error) < 800
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("radio.fading_scale=1e300", "gain2 holds inf"),
        ("radio.noise=1e-320", "power * gain2 / noise = inf"),
    ],
)
def test_numbers_that_only_a_round_finds_too_large(monkeypatch, capsys, tmp_path, change, words):
    folder = str(tmp_path / "r")
    assert words in fails(
        monkeypatch, capsys, "run", "digits-tcs-h", "--set", change, "--out", folder
    )


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
        (["run", "digits-tcs-h", "--rounds", "3"], "--rounds: is a setting, not an option; must"),
        (["compare", "--learning-rate=3"], "must be --set training.learning_rate=…"),
        (["run", "x", "--alpha", "1"], "must be --set data.alpha=… or --set radio.alpha=…"),
        (["compare", "--seeds", "4..0"], "--seeds '4..0'"),
        (["compare", "--seeds", "a,b"], "--seeds 'a,b'"),
        (["compare", "--seeds", "1,1"], "--seeds '1,1'"),
        (["compare", "--seeds", "0..3000000000"], "at most 10,000 seeds at a time"),
        (["compare", "--seeds", "9" * 5000], "must be a range"),
        (["run", "x" * 300], "neither a preset"),
        (["run", "\udcff"], "neither a preset"),
        (["report", "x" * 300], "File name too long"),
        (["theory", "--dim", "9" * 400], "cannot be computed"),
        (["theory", "--a", "1e308"], "cannot be computed"),
        (["allocate", "--bits", "5e-324"], "--bits 5e-324"),
        (["allocate", "--devices", "1000000", "--subchannels", "1000000"], "more memory"),
        (["data", "add", "cifar10", "x" * 300], "does not exist"),
        (["data", "add", "cifar10", "~nobody-of-this-name"], "does not exist"),
        (["compare", "--schemes", "tcs-h,tcs-q"], "scheme.name = 'tcs-q'"),
        (["data", "fetch", "imagenet"], "imagenet"),
        (["data", "add", "cifar10", "missing-folder"], "missing-folder"),
    ],
)
def test_bad_calls(monkeypatch, capsys, tmp_path, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert words in fails(monkeypatch, capsys, *arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [["run", "x", "--round", "3"], ["report", "x", "--rounds", "3"]]
)
def test_options_that_are_no_settings_of_a_command_are_unknown(monkeypatch, capsys, arguments):
    monkeypatch.setattr(sys, "argv", ["airfeel", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert f"No such option: {arguments[2]}" in capsys.readouterr().err


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


SWEEPS = [
    ("base = 3", "base = 3: must be a preset"),
    ("base = [1]", "base = [1]: must be a preset"),
    ("base = 'x/" + "x" * 300 + "'", "neither a preset"),
    ("seeds = [" + "9" * 5000 + "]", "not a TOML file"),
    ("seeds = ['a']", "seeds = ['a']: must be a list"),
    ("grid = 3", "grid = 3: must be a table"),
    ("grid = [1]", "grid = [1]: must be a table"),
    ("list = 3", "list = 3: must be tables, written as [[list]]"),
    ("list = [3]", "list = [3]: must be tables, written as [[list]]"),
    ("list = {a = 1}", "must be tables, written as [[list]]"),
    ("x = " + "[" * 3000, "not a TOML file"),
    ("[grid]\n" + "\n".join(f"'scheme.x{i}' = {[*range(100)]}" for i in range(9)), "points"),
]


@pytest.mark.parametrize(("text", "words"), SWEEPS, ids=[text[:30] for text, _ in SWEEPS])
def test_bad_sweeps(monkeypatch, capsys, tmp_path, text, words):
    (tmp_path / "s.toml").write_text(text)
    out = str(tmp_path / "out")
    assert words in fails(monkeypatch, capsys, "sweep", str(tmp_path / "s.toml"), "--out", out)
    assert not (tmp_path / "out").exists()


def test_a_folder_whose_name_is_not_utf8_is_named_all_the_same(tmp_path):
    """A command of its own: the terminal's encoding is what matters."""
    out = os.fsencode(tmp_path) + b"/\xff"
    program = "import sys; from airfeel.cli import main; main()"
    sizes = ["training.rounds=1", "training.devices=2", "scheme.scheduled=1"]
    sets = [word for size in sizes for word in ("--set", size)]
    command = [sys.executable, "-c", program, "run", "digits-tcs-h", *sets, "--out", out]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\udcff" in done.stdout

"""compare, sweep and report: seeds, labels, judges and figures over settings."""

import csv
import json

import pytest
from typer.testing import CliRunner

from airfeel.cli import app
from airfeel.cli.compare import parse_seeds
from airfeel.cli.outcome import names
from airfeel.storage.store import as_toml
from airfeel.types import BadInput
from small import small
from stored import store


def cli(*words):
    done = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_seeds_are_ranges_lists_or_both():
    assert parse_seeds("0..3") == [0, 1, 2, 3]
    assert parse_seeds("0,3,7") == [0, 3, 7]
    assert parse_seeds("0..2,9") == [0, 1, 2, 9]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,1,0", "holds 0 twice"),
        ("0..3,2", "holds 2 twice"),
        ("3..1", "must be a range"),
        ("", "must be a range"),
        ("a", "must be a range"),
        ("0..3000000000", "at most 10,000 seeds"),
        ("9" * 5000, "must be a range"),
    ],
)
def test_other_seeds_are_refused_in_one_short_line(text, words):
    with pytest.raises(BadInput, match=words) as error:
        parse_seeds(text)
    assert len(str(error.value)) < 300


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(as_toml(small(training={"rounds": 3})))
    return path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "run.seed=5"], "--set run.seed=5: every run has the seeds of --seeds"),
        (["--schemes", "tcs-h,tcs-h"], "tcs-h: is asked for twice with seed 0"),
        (["--judge", "best"], "--judge 'best': must be final"),
        (["--label", "tcs-h"], "--label 'tcs-h': must be OLD=NEW"),
        (["--label", "tcs-j=x"], "--label tcs-j: must be one of small"),
    ],
)
def test_what_would_mislead_is_refused_before_anything_runs(source, tmp_path, words, said):
    with pytest.raises(BadInput) as error:
        cli("compare", source, "--out", tmp_path / "out", *words)
    assert said in str(error.value)
    assert not (tmp_path / "out").exists()


def test_files_of_one_name_are_two_groups(source, tmp_path):
    other = tmp_path / "b" / source.name
    other.parent.mkdir()
    other.write_text(as_toml(small(training={"rounds": 3}, scheme={"bits": 8})))
    cli("compare", source, other, "--out", tmp_path / "out")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert {g["label"] for g in summary["groups"]} == {str(source), str(other)}


def test_names_part_at_the_last_sign():
    assert names(["bits=4=four bits"]) == {"bits=4": "four bits"}


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("swept")
    for bits in (4, 8):
        for noise in (1e-6, 1e-3):
            for seed in (0, 1):
                change = {"scheme": {"bits": bits}, "radio": {"noise": noise}}
                store(folder / f"{bits}-{noise}-{seed}", "tcs-h", seed, **change)
    return folder


def test_a_sweep_and_a_report_of_its_runs_draw_the_same_map(source, tmp_path):
    pytest.importorskip("matplotlib")
    file, axes = tmp_path / "grid.toml", ("--x", "bits", "--y", "local_sparsity")
    grid = '"scheme.bits" = [4, 8]\n"scheme.local_sparsity" = [0.1, 0.3]'
    file.write_text(f'base = "{source}"\nseeds = [0, 1]\n[grid]\n{grid}\n', "utf-8")
    cli("sweep", file, "--out", tmp_path / "runs", "--workers", 1, *axes)
    cli("report", tmp_path / "runs", "--out", tmp_path / "report", *axes)
    drawn = [tmp_path / name / "map-bits-local_sparsity.png" for name in ("runs", "report")]
    assert drawn[0].read_bytes() == drawn[1].read_bytes()


def test_a_tidy_table_has_a_row_per_run_and_a_column_per_setting_that_varies(swept, tmp_path):
    cli("report", swept, "--out", tmp_path, "--judge", "final")
    with (tmp_path / "runs.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert list(rows[0])[:4] == ["group", "scheme.bits", "radio.noise", "seed"]
    for row in rows:
        stored = json.loads((swept / row["folder"].split("/")[-1] / "summary.json").read_text())
        assert float(row["joules"]) == pytest.approx(stored["energy_total"])
        assert float(row["test_accuracy"]) == float(row["score"]) == stored["test_accuracy"]
        assert int(row["resource_blocks"]) == stored["resource_blocks"]
        assert row["ended"] == stored["reason"]
        assert row["backend"].startswith(stored["backend"])


def test_results_are_drawn_over_any_two_settings(swept, tmp_path):
    pytest.importorskip("matplotlib")
    cli("report", swept, "--out", tmp_path, "--x", "bits", "--y", "radio.noise")
    cli("report", swept, "--out", tmp_path, "--x", "noise", "--color", "bits", "--format", "svg")
    cli("report", swept, "--out", tmp_path / "p", "--x", "noise")  # bits: panels, never pooled
    for path in ("map-bits-noise.png", "lines-noise.svg", "p/lines-noise.png"):
        assert (tmp_path / path).stat().st_size > 1000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--y", "bits"], "--y bits: needs --x too"),
        (["--x", "bitz"], "bitz: must be one setting that varies in these runs: scheme.bits"),
        (["--x", "bits", "--y", "noise", "--color", "noise"], "--color noise: is of lines"),
        (["--label", "nobody=x"], "--label nobody: must be one of"),
    ],
)
def test_bad_axes_and_labels_are_named(swept, tmp_path, words, said):
    pytest.importorskip("matplotlib")
    with pytest.raises(BadInput) as error:
        cli("report", swept, "--out", tmp_path, *words)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--x", "bitz"], "bitz: must be one setting that varies in these runs: scheme.bits"),
        (["--label", "nobody=x"], "--label nobody: must be one of bits=4, bits=8"),
    ],
)
def test_a_sweep_checks_axes_and_labels_before_it_runs(source, tmp_path, words, said):
    file = tmp_path / "sweep.toml"
    file.write_text('base = "small.toml"\n[grid]\n"scheme.bits" = [4, 8]\n')
    with pytest.raises(BadInput) as error:
        cli("sweep", file, "--out", tmp_path / "out", *words)
    assert said in str(error.value)
    assert not (tmp_path / "out").exists()


def test_schemes_may_be_spaced(source, tmp_path):
    told = cli("compare", source, "--out", tmp_path / "out", "--schemes", "tcs-h, fedavg")
    assert "fedavg" in told


def test_an_experiment_is_no_sweep(source):
    with pytest.raises(BadInput, match="it is one experiment: `airfeel run"):
        cli("sweep", source)


def test_a_schemes_other_name_holds_for_all_its_groups(swept, tmp_path):
    told = cli("report", swept, "--out", tmp_path, "--label", "tcs-h=ours")
    assert "| ours (bits=4, noise=1e-06)" in told
    assert "tcs-h" not in told


def test_a_group_may_have_another_name(swept, tmp_path):
    told = cli("report", swept, "--out", tmp_path, "--label", "tcs-h (bits=4, noise=1e-06)=ours")
    assert "| ours" in told

"""`data.validation` evaluates on training samples that no device trains on."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import airfeel
from airfeel.analysis.ranking import unlike
from airfeel.build.setup import build, build_radio
from airfeel.catalogues import PARTITIONS
from airfeel.cli import app
from airfeel.data import from_arrays
from airfeel.data.validation import held_out
from airfeel.settings.load import load
from airfeel.settings.relevance import as_toml
from airfeel.storage.store import fingerprint
from airfeel.types import BadInput
from small import small
from stopping import interrupted

SIZES = {"fixed-size": {"size": 33}}  # the most of 200 samples on 6 devices


def setups(share=0.25, /, **data):
    """The same settings without and with a validation split."""
    return [build(small(data=data | {"validation": each})).world for each in (0.0, share)]


def is_split(plain, split, share):
    """Check that a split holds out training samples which nobody trains on."""
    every = plain.data.train_x.flatten(1).numpy()
    held = split.data.test_x.flatten(1).numpy()
    place = {row.tobytes(): i for i, row in enumerate(every)}
    index = np.array([place[row.tobytes()] for row in held])
    assert len(set(index.tolist())) == len(index) == round(share * len(every))
    assert torch.equal(split.data.test_y, plain.data.train_y[index])
    for own, whole in zip(split.shards, plain.shards, strict=True):
        assert np.array_equal(own, whole[~np.isin(whole, index)])
    return index


@pytest.mark.parametrize("name", PARTITIONS)
def test_every_partition_is_dealt_as_without_a_split_and_keeps_the_rest(name):
    plain, split = setups(partition={"name": name, **SIZES.get(name, {})})
    index = is_split(plain, split, 0.25)
    counts = np.bincount(plain.data.train_y[index], minlength=4)
    assert np.ptp(counts - 0.25 * np.bincount(plain.data.train_y)) <= 1
    assert torch.equal(split.data.shift, plain.data.shift)


def test_regression_and_own_files_are_split_too(tmp_path):
    is_split(*setups(classes=0), 0.25)
    rng = np.random.default_rng(0)
    arrays = {"x": rng.random((60, 5)).astype(np.float32), "y": np.arange(60) % 3}
    np.savez(tmp_path / "my.npz", **arrays)
    is_split(*setups(dataset=f"file:{tmp_path / 'my.npz'}"), 0.25)


def test_data_from_python_are_split_too():
    rng = np.random.default_rng(0)
    x, y = rng.random((60, 5)).astype(np.float32), np.arange(60) % 3
    data = from_arrays(x, y, x[:6], np.zeros(6, int))
    run = airfeel.run(small(data={"validation": 0.5}), data=data)
    assert run.summary["evaluated_on"] == "validation"
    assert set(30 * run.columns["test_accuracy"] % 1) <= {0.0}  # of 30 samples, not of 6


@given(st.integers(1, 90), st.floats(0.0, 0.99), st.integers(1, 5), st.integers(0, 99))
def test_so_many_are_drawn_and_of_each_class_alike(total, share, classes, seed):
    labels = np.arange(total) % classes
    held = held_out(labels, share, rng=np.random.default_rng(seed))
    assert held.sum() == round(share * total)
    exact = held.sum() / total * np.bincount(labels)
    assert (np.abs(np.bincount(labels[held], minlength=len(exact)) - exact) < 1).all()


def test_seeds_draw_others_and_schemes_the_same():
    def drawn(scheme, seed):
        e = load(f"digits-{scheme}", data__validation=0.25, run__seed=seed)
        return build(e).world.data.test_x

    assert torch.equal(drawn("tcs-h", 3), drawn("top-k", 3))
    assert not torch.equal(drawn("tcs-h", 3), drawn("tcs-h", 4))


def test_a_device_keeps_a_sample():
    world = build(small(training={"devices": 100}, data={"validation": 0.9})).world
    assert min(map(len, world.shards)) == 1
    assert sum(map(len, world.shards)) + len(world.data.test_y) == 200


def test_off_is_as_before_and_left_out_of_files():
    e = small(data={"validation": 0.0})
    assert fingerprint(e) == fingerprint(small())
    assert "validation" not in as_toml(e)
    assert "validation" in as_toml(small(data={"validation": 0.1}))
    assert "evaluated_on" not in airfeel.run(small()).summary


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (1e-4, r"data\.validation = 0\.0001: holds out none of 200 training samples on 6 devices"),
        (1.0, r"data\.validation = 1\.0: must be less than 1"),
        (-0.1, r"data\.validation = -0\.1: must be greater than or equal to 0"),
    ],
)
def test_shares_that_split_nothing_are_refused(share, words):
    with pytest.raises(BadInput, match=words) as caught:
        build(small(data={"validation": share}))
    assert "\n" not in str(caught.value)


def test_where_devices_are_trained_elsewhere_a_split_is_refused():
    e = small(data={"validation": 0.25})
    setup = build(e)
    with pytest.raises(BadInput, match=r"data\.validation = 0\.25: must be 0 where devices are"):
        build_radio(e, setup.world.model, setup.scheme.learn)


def test_a_comparison_says_what_it_is_evaluated_on(tmp_path):
    more = ["--set", "training.rounds=2", "--set", "training.local_steps=1"]
    more += ["--set", "data.validation=0.2", "--out", str(tmp_path)]
    told = CliRunner().invoke(app, ["compare", "--schemes", "tcs-h,top-k", *more])
    assert told.exit_code == 0, told.output
    text = " ".join(told.output.split())
    assert "held-out training samples (data.validation = 0.2), not of the test set" in text
    assert "Settings were not tuned per scheme." in text
    (_, untuned) = json.loads((tmp_path / "summary.json").read_text())["notes"]
    assert untuned == "Settings were not tuned per scheme."
    (folder,) = tmp_path.glob("tcs-h*")
    assert json.loads((folder / "summary.json").read_text())["evaluated_on"] == "validation"


def test_groups_of_other_splits_are_not_comparable():
    runs = [airfeel.run(small(data={"validation": share})) for share in (0.2, 0.3)]
    groups = {"a": runs[:1], "b": runs[1:]}
    (sentence,) = unlike(groups)
    assert sentence.startswith("Groups differ in data.validation")


def test_a_resumed_run_has_the_same_rows(tmp_path):
    e = small(data={"validation": 0.25}, run={"checkpoint_every": 4})
    whole = airfeel.run(e).columns
    again = airfeel.resume(interrupted(tmp_path, 7, e)).columns
    for name in whole.keys() - {"seconds"}:
        assert np.array_equal(whole[name], again[name], equal_nan=True), name

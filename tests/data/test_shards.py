"""Partitions as parts: today's deals by name, a user's own checked."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airfeel.build.setup import build
from airfeel.catalogues import PARTITIONS
from airfeel.data import partition
from airfeel.data.shards import deal
from airfeel.settings.load import load
from airfeel.types import BadInput

LABELS = np.arange(60) % 4
Deal = Callable[..., Any]


def dice() -> np.random.Generator:
    return np.random.default_rng(3)


KERNELS = {
    "iid": lambda: partition.iid(LABELS, 5, rng=dice()),
    "classes": lambda: partition.by_classes(LABELS, 5, 3, rng=dice()),
    "dirichlet": lambda: partition.dirichlet(LABELS, 5, 0.2, minimum=2, rng=dice()),
    "fixed-size": lambda: partition.fixed_size(LABELS, 5, 7, rng=dice()),
}
SETTINGS = {
    "iid": {},
    "classes": {"classes_per_device": 3},
    "dirichlet": {"alpha": 0.2, "minimum": 2},
    "fixed-size": {"size": 7},
}


@pytest.mark.parametrize("name", PARTITIONS)
def test_a_part_deals_as_its_kernel_does(name: str) -> None:
    said = SETTINGS[name]
    for choice, facts in (({"name": name, **said}, {}), (name, said)):
        shards = deal(choice, LABELS, 5, rng=dice(), **facts)
        assert all(map(np.array_equal, shards, KERNELS[name]()))


def test_flat_settings_and_tables_say_the_same() -> None:
    flat = load("digits-tcs-h", ["data.partition=classes", "data.classes_per_device=4"])
    table = load("digits-tcs-h", ["data.partition=classes", "data.partition.classes_per_device=4"])
    shards, same = (build(e).world.shards for e in (flat, table))
    assert all(map(np.array_equal, shards, same))


@given(st.integers(1, 80), st.data())
def test_a_fixed_size_is_kept(samples: int, data: st.DataObject) -> None:
    devices = data.draw(st.integers(1, samples))
    size = data.draw(st.integers(1, samples // devices))
    shards = partition.fixed_size(np.zeros(samples), devices, size, rng=dice())
    assert [len(shard) for shard in shards] == [size] * devices
    taken = np.concatenate(shards)
    assert len(np.unique(taken)) == len(taken)
    assert 0 <= taken.min() <= taken.max() < samples
    with pytest.raises(BadInput, match=rf"must be 1\.\.{samples // devices}"):
        partition.fixed_size(np.zeros(samples), devices, samples // devices + 1, rng=dice())


def own(made: str = "good") -> Deal | int:
    """A partition that deals as it is told."""
    shards = {
        "good": [[5, 1], np.array([2], np.uint8), range(6, 9)],
        "few": [[0], [1]],
        "twice": [[0, 1], [2], [1]],
        "twice in one": [[0, 0], [2], [1]],
        "beyond": [[0], [1], [60]],
        "negative": [[0], [-1], [2]],
        "empty": [[0], [], [2]],
        "floats": [[0.0], [1.0], [2.0]],
        "nested": [[[0]], [[1]], [[2]]],
        "words": [["a"], ["b"], ["c"]],
    }
    return 7 if made == "no part" else lambda labels, devices, *, rng: shards[made]


def test_a_partition_of_ones_own_need_not_use_every_sample() -> None:
    shards = deal("test_shards:own", LABELS, 3, rng=dice())
    assert [shard.tolist() for shard in shards] == [[1, 5], [2], [6, 7, 8]]
    assert {shard.dtype for shard in shards} == {np.dtype(np.int64)}


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ("few", "made 2 shards; must be one for each of 3"),
        ("twice", "deals sample 1 2 times"),
        ("twice in one", "deals sample 0 2 times"),
        ("beyond", r"deals samples 0\.\.60; must be 0\.\.59"),
        ("negative", r"deals samples -1\.\.2"),
        ("empty", "shard 1 is float64 of"),
        ("floats", "shard 0 is float64 of"),
        ("nested", r"shard 0 is int64 of \(1, 1\)"),
        ("words", "shard 0 is <U1"),
        ("no part", "must make a Partition, made int"),
    ],
)
def test_a_bad_deal_is_refused_in_one_line(made: str, words: str) -> None:
    with pytest.raises(BadInput, match=words) as refused:
        deal({"name": "test_shards:own", "made": made}, LABELS, 3, rng=dice())
    assert str(refused.value).startswith("data.partition = ")
    assert "\n" not in str(refused.value)


def test_regression_has_no_classes_to_deal_by() -> None:
    for name in ("classes", "dirichlet"):
        with pytest.raises(BadInput, match=r"data\.partition: needs classes.*use 'iid'"):
            deal(name, LABELS / 2, 3, rng=dice())

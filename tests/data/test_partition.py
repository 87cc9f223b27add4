"""Laws of dealing samples to devices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airfeel.data.partition import by_classes, dirichlet, iid
from airfeel.types import BadInput

seeds = st.integers(0, 2**32 - 1)


def dice(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def check_partition(shards: list[np.ndarray], samples: int, devices: int) -> None:
    """Sorted int64 indices for each device; together every sample once."""
    assert len(shards) == devices
    for shard in shards:
        assert shard.dtype == np.int64
        assert (np.diff(shard) > 0).all()
    assert np.array_equal(np.sort(np.concatenate(shards)), np.arange(samples))


@st.composite
def class_deals(draw: st.DrawFn) -> tuple[np.ndarray, int, int]:
    """Labels, devices and classes_per_device for which a partition by classes exists."""
    classes = draw(st.integers(1, 10))
    devices = draw(st.integers(1, 25))
    per_device = draw(st.integers(-(-classes // devices), classes))
    least = -(-devices * per_device // classes)
    if draw(st.booleans()):
        counts = [draw(st.integers(least, 3 * least + 2))] * classes
    else:
        counts = draw(st.lists(st.integers(least, 60), min_size=classes, max_size=classes))
    names = draw(st.permutations(range(-3, 12)))[:classes]  # any whole numbers may name classes
    return dice(draw(seeds)).permutation(np.repeat(names, counts)), devices, per_device


@given(st.integers(1, 200), st.data(), seeds)
def test_iid_is_equal_and_complete(samples: int, data: st.DataObject, seed: int) -> None:
    devices = data.draw(st.integers(1, samples))
    shards = iid(np.zeros(samples), devices, rng=dice(seed))
    check_partition(shards, samples, devices)
    assert {len(shard) for shard in shards} <= {samples // devices, -(-samples // devices)}


def test_iid_mixes_the_classes() -> None:
    labels = np.repeat(np.arange(10), 500)
    for shard in iid(labels, 5, rng=dice()):
        assert np.bincount(labels[shard]).min() > 60  # 100 expected, standard deviation 9


@given(class_deals(), seeds)
def test_by_classes_holds_distinct_classes_and_every_sample(
    deal: tuple[np.ndarray, int, int], seed: int
) -> None:
    labels, devices, per_device = deal
    shards = by_classes(labels, devices, per_device, rng=dice(seed))
    check_partition(shards, len(labels), devices)
    assert all(len(np.unique(labels[shard])) == per_device for shard in shards)
    for each in np.unique(labels):
        pieces = [n for shard in shards if (n := int((labels[shard] == each).sum()))]
        assert max(pieces) - min(pieces) <= 1
    counts = np.unique(labels, return_counts=True)[1]
    if counts.min() == counts.max():
        sizes = [len(shard) for shard in shards]
        holders, rest = divmod(devices * per_device, len(counts))
        assert max(sizes) - min(sizes) <= -(-counts[0] // holders)
        if not rest and counts[0] % holders == 0:
            assert max(sizes) == min(sizes)


@pytest.mark.parametrize("per_device", range(1, 11))
def test_by_classes_on_the_paper_s_numbers(per_device: int) -> None:
    labels = dice().permutation(np.repeat(np.arange(10), 500))
    shards = by_classes(labels, 20, per_device, rng=dice())
    assert {len(shard) for shard in shards} == {250}
    assert {len(np.unique(labels[shard])) for shard in shards} == {per_device}


def test_by_classes_is_random_in_pairs_and_samples() -> None:
    labels = np.repeat(np.arange(10), 40)
    deals = [by_classes(labels, 20, 2, rng=dice(seed)) for seed in range(60)]
    pairs = {tuple(np.unique(labels[shard])) for shards in deals for shard in shards}
    assert len(pairs) == 45  # every two classes meet somewhere
    assert len({shards[0].tobytes() for shards in deals}) == 60
    again = by_classes(labels, 20, 2, rng=dice(3))
    assert all(np.array_equal(a, b) for a, b in zip(again, deals[3], strict=True))


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=150),
    st.data(),
    st.sampled_from([5e-324, 1e-300, 1e-6, 0.1, 1.0, 1e6, 1e300]),
    seeds,
)
def test_dirichlet_is_complete_and_keeps_the_minimum(
    drawn: list[int], data: st.DataObject, alpha: float, seed: int
) -> None:
    labels = np.array(drawn)
    devices = data.draw(st.integers(1, len(labels)))
    minimum = data.draw(st.integers(1, len(labels) // devices))
    shards = dirichlet(labels, devices, alpha, minimum=minimum, rng=dice(seed))
    check_partition(shards, len(labels), devices)
    assert min(len(shard) for shard in shards) >= minimum


def mixtures(labels: np.ndarray, shards: list[np.ndarray]) -> np.ndarray:
    """Share of each class on each device."""
    counts = np.array([np.bincount(labels[shard], minlength=10) for shard in shards])
    return counts / counts.sum(axis=1, keepdims=True)


def test_dirichlet_alpha_goes_from_one_class_to_all() -> None:
    labels = np.repeat(np.arange(10), 1000)
    deals = [dirichlet(labels, 20, a, minimum=1, rng=dice()) for a in (1e-6, 0.1, 1.0, 1e6)]
    shards = deals[0]
    owners = [max(int((labels[shard] == k).sum()) for shard in shards) for k in range(10)]
    assert min(owners) >= 980  # but for the few moved to devices that had none
    purity = [float(mixtures(labels, shards).max(axis=1).mean()) for shards in deals]
    assert purity == sorted(purity, reverse=True)
    assert np.allclose(mixtures(labels, deals[3]), 0.1, atol=0.01)


def test_dirichlet_proportions_have_the_right_variance() -> None:
    labels, devices, alpha = np.zeros(1000, np.int64), 5, 0.7
    shares = np.array(
        [
            [len(s) / 1e3 for s in dirichlet(labels, devices, alpha, minimum=1, rng=dice(seed))]
            for seed in range(400)
        ]
    )
    expected = (devices - 1) / devices**2 / (devices * alpha + 1)
    assert shares.mean() == pytest.approx(1 / devices)
    assert shares.var() == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("devices", [0, -1, 11])
def test_devices_out_of_range_are_refused(devices: int) -> None:
    labels = np.arange(10) % 2
    for deal in (
        lambda: iid(labels, devices, rng=dice()),
        lambda: by_classes(labels, devices, 1, rng=dice()),
        lambda: dirichlet(labels, devices, 1.0, minimum=1, rng=dice()),
    ):
        with pytest.raises(BadInput, match=rf"devices = {devices}: must be 1\.\.10"):
            deal()


@pytest.mark.parametrize(("devices", "per_device"), [(4, 2), (20, 0), (20, 11), (20, -1)])
def test_impossible_classes_per_device_is_refused(devices: int, per_device: int) -> None:
    labels = np.repeat(np.arange(10), 20)
    with pytest.raises(
        BadInput, match=rf"data\.classes_per_device = {per_device}: must be 1\.\.10"
    ):
        by_classes(labels, devices, per_device, rng=dice())


def test_a_class_too_rare_for_its_holders_is_refused() -> None:
    labels = np.array([0] * 50 + [7] * 2)
    with pytest.raises(BadInput, match="class 7 has 2 samples for 3 devices"):
        by_classes(labels, 6, 1, rng=dice())


def test_class_partitions_refuse_regression_targets() -> None:
    with pytest.raises(BadInput, match="float64"):
        by_classes(np.zeros(10), 2, 1, rng=dice())
    with pytest.raises(BadInput, match="float64"):
        dirichlet(np.zeros(10), 2, 1.0, minimum=1, rng=dice())


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("inf"), float("nan")])
def test_dirichlet_refuses_a_bad_alpha(alpha: float) -> None:
    with pytest.raises(BadInput, match="alpha = "):
        dirichlet(np.zeros(10, int), 2, alpha, minimum=1, rng=dice())


@pytest.mark.parametrize("minimum", [0, 4])
def test_dirichlet_refuses_an_impossible_minimum(minimum: int) -> None:
    with pytest.raises(BadInput, match=rf"minimum = {minimum}: must be 1\.\.3"):
        dirichlet(np.zeros(10, int), 3, 1.0, minimum=minimum, rng=dice())


def test_so_many_samples_of_each_class_and_no_more() -> None:
    labels = np.repeat(np.arange(10), 30)
    shards = by_classes(labels, 25, 2, 4, rng=dice())
    whole = by_classes(labels, 25, 2, rng=dice())
    for shard, all_of_it in zip(shards, whole, strict=True):
        assert np.unique(labels[shard], return_counts=True)[1].tolist() == [4, 4]
        assert set(shard) <= set(all_of_it)


@pytest.mark.parametrize("size", [0, 7])
def test_more_samples_of_a_class_than_there_are_are_refused(size: int) -> None:
    labels = np.repeat(np.arange(10), 30)
    with pytest.raises(BadInput, match=rf"data\.partition\.size = {size}: must be 1\.\.6"):
        by_classes(labels, 25, 2, size, rng=dice())

import dataclasses

import numpy as np
import pytest

from airfeel.storage import records
from airfeel.types import BadInput
from small import play_small


@pytest.mark.parametrize("scheme", ["tcs-h", "tcs-d", "top-k", "fedavg"])
def test_a_recorded_round_reads_back_exactly(tmp_path, scheme):
    reports = [report for _, _, report, _ in play_small(scheme, 3)]
    for report in reversed(reports):
        records.save(tmp_path, report)
    read = [records.read(p) for p in records.paths(tmp_path)]
    assert [r.round for r in read] == [1, 2, 3]
    for found, report in zip(read, reports, strict=True):
        assert report.fading.mean2 is not None  # the settings of an ideal sky tell it
        sky = dataclasses.replace(report.fading, mean2=None, moments=None)
        assert same(found.fading, sky)
        assert same(found.plan, report.plan)


def test_a_real_sky_is_recorded_with_its_means(tmp_path):
    report = play_small("tcs-h", 1, csi={"error": 0.1}, radio={"mean_gain": (0.5,) * 6})[0][2]
    found = records.read(records.save(tmp_path, report)).fading
    assert found.mean2.tolist() == [1.0] * 6
    np.testing.assert_array_equal(found.relative, report.fading.relative)


def same(a, b):
    for field in dataclasses.fields(a):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if isinstance(y, np.ndarray) and x.dtype != y.dtype:
            return False
        if field.name == "reason" or y is None:
            if x != y:
                return False
        elif not np.array_equal(x, y, equal_nan=True):
            return False
    return True


def test_only_whole_files_stay_and_order_is_by_round(tmp_path):
    report = play_small("tcs-h", 1)[0][2]
    for number in (1_000_000, 999_999, 7):
        records.save(tmp_path, dataclasses.replace(report, round=number))
    assert [r.round for r in [records.read(p) for p in records.paths(tmp_path)]] == [
        7,
        999_999,
        1_000_000,
    ]
    assert {p.suffix for p in (tmp_path / "records").iterdir()} == {".safetensors"}
    assert [records.read(p) for p in records.paths(tmp_path / "elsewhere")] == []


def test_every_damage_is_one_line(tmp_path):
    report = play_small("tcs-h", 1)[0][2]
    records.save(tmp_path, report)
    path = records.paths(tmp_path)[0]
    whole = path.read_bytes()
    for end in (0, 4, 8, 100, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(BadInput, match="not a recorded round"):
            records.read(path)
    reason = report.plan.reason[0].value.encode()
    path.write_bytes(whole.replace(reason, reason[::-1]))
    with pytest.raises(BadInput, match=reason[::-1].decode()):
        records.read(path)


def test_arrays_that_do_not_belong_together_are_refused(tmp_path):
    report = play_small("tcs-h", 1)[0][2]
    owner = report.plan.owner.copy()
    owner[0, 0] = 6
    records.save(
        tmp_path, dataclasses.replace(report, plan=dataclasses.replace(report.plan, owner=owner))
    )
    with pytest.raises(BadInput, match="owner names a device that is not there"):
        [records.read(p) for p in records.paths(tmp_path)]

"""A run under a real radio gives the same bytes on Ray, interrupted or not."""

import numpy as np
import pytest
from test_real_rounds import ALL

import airfeel
from airfeel.engines.cluster import joined
from airfeel.storage.rows import read_columns
from small import small
from stopping import interrupted

pytest.importorskip("ray", reason='Ray is not installed: pip install "airfeel[ray]"')


def test_every_impairment_on_ray_stopped_and_gone_on_with(tmp_path):
    limits = {"training": {"rounds": 5}}
    airfeel.run(small(**ALL, **limits), tmp_path / "here")
    with joined(None, 2):
        e = small(**ALL, **limits, run={"engine": "ray", "actors": 2})
        airfeel.resume(interrupted(tmp_path / "there", 3, e))
    here, there = (read_columns(tmp_path / name / "rounds.csv") for name in ("here", "there"))
    for name in here.keys() - {"seconds"}:
        assert np.array_equal(here[name], there[name], equal_nan=True), name
    for name in ("devices.csv", "model.safetensors"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()

"""A codec of a stranger gives the same bytes on Ray: what was agreed travels there."""

import pytest
from stranger import left

import airfeel
from airfeel.engines.cluster import joined
from small import small

pytest.importorskip("ray", reason='Ray is not installed: pip install "airfeel[ray]"')


@pytest.mark.parametrize("codec", ["projection:Projection", "own_parts:BySize"])
def test_a_codec_of_ones_own_on_ray(codec, home):
    uneven = {"partition": "dirichlet", "alpha": 0.3}
    with joined(None, 2):
        for name, run in {"here": {}, "there": {"engine": "ray", "actors": 2}}.items():
            e = small(data=uneven, scheme={"codec": codec}, training={"rounds": 5}, run=run)
            airfeel.run(e, home / name)
    assert left(home / "there") == left(home / "here")

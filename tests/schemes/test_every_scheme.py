"""What holds for every scheme there is: it resumes, travels, and refuses what it does not know."""

import pytest

import airfeel
from airfeel.catalogues import SCHEMES
from airfeel.engines.cluster import joined
from airfeel.experiment.build import build
from airfeel.flower.refusals import refuse_scheme
from airfeel.radio.limit import Shares
from airfeel.types import BadInput
from small import small
from stopping import content, interrupted

# schemes whose codec or memory is like no other's
SAID_ANEW = ("airfl-mem", "a-dsgd", "ef-obda", "ncairfl", "reed")
UNEVEN = {"partition": "dirichlet", "alpha": 0.3}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_stopped_and_resumed_it_leaves_the_same_bytes(scheme, tmp_path):
    e = small(scheme, training={"rounds": 6}, run={"checkpoint_every": 1}, budget={"slots": 900})
    airfeel.run(e, tmp_path / "whole")
    airfeel.resume(interrupted(tmp_path / "cut", 4, e))
    assert content(tmp_path / "cut") == content(tmp_path / "whole")


def test_on_ray_a_scheme_leaves_the_same_bytes(tmp_path):
    pytest.importorskip("ray", reason='Ray is not installed: pip install "airfeel[ray]"')
    with joined(None, 2):
        for scheme in SAID_ANEW:
            for name, run in {"here": {}, "there": {"engine": "ray", "actors": 2}}.items():
                e = small(scheme, data=UNEVEN, training={"rounds": 3}, run=run)
                airfeel.run(e, tmp_path / scheme / name)
            here, there = (content(tmp_path / scheme / name)[:3] for name in ("here", "there"))
            assert there == here, scheme


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_option_that_it_does_not_know_is_refused_by_name(scheme):
    if scheme in ("tcs-h", "tcs-d", "top-k", "fedavg"):
        pytest.skip("has no options, and reads none")
    with pytest.raises(BadInput, match=r"scheme\.options\.nonsense: is no setting"):
        build(small(scheme, scheme={"options": {"nonsense": 1}}))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_federation_refuses_by_name_what_arrives_in_part(scheme):
    made = build(small(scheme)).scheme
    if isinstance(made.plan, Shares) and made.plan.partial:
        with pytest.raises(BadInput, match=rf"scheme\.name = '{scheme}'"):
            refuse_scheme(made)
    else:
        refuse_scheme(made)

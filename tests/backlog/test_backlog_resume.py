"""Backlog, stopped between two reports and resumed: its loudness is carried, byte for byte."""

import pytest

import airfeel
from airfeel.storage import checkpoint
from small import small
from stopping import content, interrupted

CASES = {
    "seldom": {"options": {"every": 4}},
    "strict": {"strict_bits": True},
    "strict-seldom": {"strict_bits": True, "options": {"every": 4}},
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("case", CASES)
def test_a_run_stopped_between_reports_goes_on_with_the_loudness_that_it_had(
    tmp_path, case, threads
):
    """Its rounds, devices and model are those of a run that was not stopped."""
    e = small(
        "backlog",
        scheme=CASES[case],
        radio={"noise": 1e-2},
        training={"rounds": 11},
        run={"checkpoint_every": 1, "threads": threads},
    )
    airfeel.run(e, tmp_path / "whole")
    folder = interrupted(tmp_path / "cut", 4, e)
    found, faults = checkpoint.newest(folder)
    assert (found.state.round, faults) == (3, [])
    assert float(found.state.carry["plan/loudness"]) > 0.0
    airfeel.resume(folder)
    assert content(folder) == content(tmp_path / "whole")

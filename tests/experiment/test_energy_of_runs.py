"""The energy of a run is read in one place, with one meaning."""

import math

import numpy as np
import pytest

from airfeel.analysis import energy
from airfeel.analysis.criterion import spent
from airfeel.storage.run import Run
from airfeel.sweeps.benchmark.equal import joules
from small import small

BASE = {"round": np.arange(3), "scheduled": np.array([0, 1, 2])}
SCHEDULED = {"energy_mean": np.array([math.nan, 3.0, 1.0])}
TOTAL = {"energy_total": np.array([math.nan, 5.0, 2.0])}


def made(**columns):
    return Run(small(radio={"symbol_seconds": 0.5}), BASE | columns, {})


@pytest.mark.parametrize("read", [energy.until_each_row, joules, lambda run: spent(run, "joules")])
def test_it_is_of_all_devices_where_rows_say_so_and_else_of_those_scheduled(read):
    assert read(made(**SCHEDULED, **TOTAL)).tolist() == [0.0, 2.5, 3.5]
    assert read(made(**SCHEDULED)).tolist() == [0.0, 1.5, 2.5]
    assert np.isnan(read(made())).all()

"""The energy of a run [J], read in one place: of all devices that pay, scheduled or not."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from airfeel.analysis.series import column
from airfeel.catalogue import Value
from airfeel.storage.run import Run


def until_each_row(run: Run) -> Float[np.ndarray, "r"]:
    """Return the energy that all devices have spent until each row [J]; NaN where unknown.

    Rows of older versions have no column `energy_total`. There it is the energy of the scheduled
    devices, which is all of it unless others pay for reports, pilots or training.
    """
    if "energy_total" in run.columns:
        energy = run.columns["energy_total"].astype(float)
    else:
        energy = column(run, "energy_mean") * column(run, "scheduled")
    if np.isnan(energy).all():
        return energy
    return np.nancumsum(energy) * run.experiment.radio.symbol_seconds


def total(summary: Mapping[str, Value]) -> Value:
    """Return the energy of all devices of a whole run [J]; older versions call it energy_joules.

    >>> total({"energy_total": 2.0}), total({"energy_joules": 1.0}), total({})
    (2.0, 1.0, None)
    """
    return summary.get("energy_total", summary.get("energy_joules"))

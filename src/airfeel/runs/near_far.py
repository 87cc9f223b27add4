"""A cell in which only near devices speak: who is left out, and how much weaker it is."""

import numpy as np

from airfeel.settings.config import Experiment
from airfeel.storage.run import Facts

_SELDOM = 0.1  # of the rounds: who speaks in fewer is left out
_OFTEN = 0.5  # and only beside devices that speak in so many
_FEWEST = 10  # rounds that tell anything


def verdict(e: Experiment, told: Facts, summary: Facts) -> str | None:
    """What there is to say of a run in a cell; None where everybody is heard now and then.

    With differences of path loss the power rule schedules the devices of least loss.

    Args:
        e: the settings.
        told: what the run's folder tells of its cell: distance [m] and loss [dB] of each device.
        summary: of the run; `heard` counts the rounds in which each device spoke.
    """
    rounds = int(summary["rounds"])
    if "cell" not in told or "heard" not in summary or rounds < _FEWEST:
        return None
    part = np.array(summary["heard"]) / rounds
    distance, loss = (np.array(told["cell"][name]) for name in ("distance", "loss_db"))
    out, often = part < _SELDOM, part >= _OFTEN
    if not (out.any() and often.any()) or loss[out].mean() <= loss[often].mean():
        return None
    return (
        f"cell.model = {e.cell.model!r}: near devices speak alone: {int(out.sum())} of {len(part)} "
        f"devices were heard in less than a tenth of {rounds} rounds; in the mean they are "
        f"{distance[out].mean():.0f} m away and lose {loss[out].mean():.0f} dB, those who are "
        f"heard {distance[often].mean():.0f} m and {loss[often].mean():.0f} dB"
    )

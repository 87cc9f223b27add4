"""COTAF on a ridge problem of known optimum: the experiment of that name, cut short."""

import importlib.util
from pathlib import Path

import numpy as np

from ridge import unchecked

_FILE = Path(__file__).parents[2] / "experiments" / "cotaf" / "ridge.py"
ROUNDS, SEED = 300, 0


def slope(gap, first):
    """Of the gap over rounds, both as logarithms."""
    late = np.arange(first, ROUNDS + 1)
    return np.polyfit(np.log(late), np.log(gap[first - 1 :]), 1)[0]


def test_the_gap_keeps_falling_as_devices_speak_up_and_else_there_is_a_floor():
    """F − F* under η_t ∝ 1/t falls like 1/t; at the loudness of the first round it does not.

    Slopes from rounds 30 and 100 on are −1.1 and −2.0, at that loudness 0.1 from round 100 on.
    """
    spec = importlib.util.spec_from_file_location("cotaf_ridge", _FILE)
    experiment = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(experiment)
    experiment.ROUNDS = ROUNDS
    with unchecked():
        loud, first = experiment.gaps(SEED)
        still, _ = experiment.gaps(SEED, first)
    assert slope(loud, 30) < -0.5
    assert slope(loud, 100) < -0.5
    assert loud[-30:].mean() < 0.5 * loud[85:115].mean()
    assert slope(still, 100) > -0.25
    assert still[-1] > still[99]
    assert still[-30:].mean() > still[85:115].mean() > 2.0 * loud[-30:].mean()

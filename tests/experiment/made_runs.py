"""Runs in memory, of rows that a test writes down."""

import numpy as np

from airfeel.settings.config import Experiment
from airfeel.storage.run import Run
from small import small


def made(accuracy, blocks, seed=0, reason="rounds", e: Experiment | None = None, **columns) -> Run:
    """A run of so many rounds; without a reason it is not finished."""
    e = e or small()
    e = e.model_copy(update={"run": e.run.model_copy(update={"seed": seed})})
    t = np.arange(len(accuracy))
    rows = {
        "round": t,
        "test_accuracy": np.array(accuracy, dtype=float),
        "resource_blocks": np.array(blocks),
        "scheduled": np.full(len(t), 3),
    }
    more = {name: np.array(values) for name, values in columns.items()}
    summary = {"reason": reason, "backend": "native"} if reason else {}
    return Run(e, rows | more, summary)

"""A run in a few numbers."""

import math
from enum import StrEnum

import numpy as np

from airfeel.build.setup import Setup
from airfeel.radio.cost_metrics import Heard
from airfeel.radio.scheduling.planner import Bounded
from airfeel.settings.config import Experiment
from airfeel.storage.run import Facts
from airfeel.storage.store import fingerprint
from airfeel.types import Arrays, ComponentStates, State


class End(StrEnum):
    """Why a run has ended; the value stands in summary.json."""

    ROUNDS = "rounds"  # training.rounds are played
    BUDGET = "budget"  # the next round's slots do not fit
    TARGET = "target"  # budget.target_accuracy is reached
    CONVERGED = "converged"  # the update is as small as budget.convergence asks
    STALLED = "stalled"  # run.idle_limit rounds in a row in which nobody spoke
    DIVERGED = "diverged"  # the model, or every update, is not finite


def summarise(
    e: Experiment,
    setup: Setup,
    state: State,
    columns: dict[str, np.ndarray],
    reason: End,
    accuracy: float,
    loss: float,
) -> Facts:
    """What summary.json says; a number that is not known is null there."""
    world = setup.world
    played = columns["round"] > 0
    measured = columns["test_accuracy"][~np.isnan(columns["test_accuracy"])]
    scheduled = (columns["energy_mean"] * columns["scheduled"])[played].sum()
    total = columns["energy_total"][played].sum()  # others pay, too: for reports, pilots, training
    numbers = {
        "test_accuracy": accuracy,
        "test_loss": loss,
        "best_accuracy": max([*measured, accuracy]) if world.data.classes else math.nan,
        "scheduled_mean": float(columns["scheduled"][played].mean()) if played.any() else math.nan,
        "energy_total": float(total) * e.radio.symbol_seconds,
        "energy_scheduled": float(scheduled) * e.radio.symbol_seconds,
        "allocation_gap": _gap(state),
    }
    told = {
        "scheme": setup.facts.get("scheme", e.scheme.name),
        "reason": reason.value,
        "rounds": int(columns["round"][-1]),
        "silent_rounds": int((columns["scheduled"][played] == 0).sum()),  # nobody was heard
        "slots": int(columns["slots"].sum()),
        "resource_blocks": int(columns["resource_blocks"][-1]),
        "dim": world.dim,
        "backend": getattr(getattr(setup.scheme.learn, "backend", None), "name", None),
        "seed": e.run.seed,
        "seconds": float(columns["seconds"].sum()),
        "fingerprint": fingerprint(e),
    } | {k: v if math.isfinite(v) else None for k, v in numbers.items()}
    evaluated = {"evaluated_on": "validation"} if e.data.validation else {}
    return told | evaluated | _heard(state)


def _gap(state: State) -> float:
    """The largest distance to a proven bound that an allocator of the plan left; NaN: unknown."""
    gaps = [kept["gap"] for kept in _kept_by(Bounded, state)]
    return float(np.fmax.reduce(gaps, initial=math.nan))


def _heard(state: State) -> Facts:
    """In how many rounds each device spoke, where that is counted: in a cell."""
    counts = [kept["heard"] for kept in _kept_by(Heard, state)]
    return {"heard": counts[0].tolist()} if counts else {}


def _kept_by(kind: type, state: State) -> list[Arrays]:
    """What components of a kind keep."""
    states = state.carry
    if not isinstance(states, ComponentStates):
        return []
    return [states.of(part) for part in states.components.values() if isinstance(part, kind)]

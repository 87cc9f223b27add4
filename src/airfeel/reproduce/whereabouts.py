"""Where each curve is, and when it will be done, from its stored rows."""

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from airfeel.reproduce.running import seconds_of
from airfeel.runs.summary import End
from airfeel.storage.checksums import read_summary
from airfeel.storage.rows import read_columns
from airfeel.sweeps.pool import Trial
from airfeel.types import BadInput

_LAST = 200  # rounds that tell how long one takes
_PAUSE = 10  # a round of more than so many medians was stopped on its way, and counts as so many
_LOWEST = 19  # how nice a process can be


@dataclass(frozen=True)
class Place:
    """How far one run has come: rounds, their number in all, the last look, seconds per round."""

    label: str
    round: int
    rounds: int
    accuracy: float
    pace: float  # NaN before the first round
    state: str  # done, going on, waiting
    end: str = ""  # why it ended, where not by its last round


def place_of(trial: Trial) -> Place:
    """What the rows of a run tell, finished, under way or not begun."""
    e = trial.experiment
    label, rounds = f"{trial.label} seed {e.run.seed}", int(e.training.rounds or 0)
    nothing = Place(label, 0, rounds, math.nan, math.nan, "waiting")
    try:
        rows = read_columns(trial.folder / "rounds.csv", growing=True)
        round, looks = int(rows["round"][-1]), rows["test_accuracy"].astype(float)
    except (OSError, BadInput, KeyError, IndexError):  # none yet, or only a part of the first one
        return nothing
    seconds = rows["seconds"][1:][-_LAST:].astype(float) if "seconds" in rows else np.zeros(0)
    known = looks[~np.isnan(looks)]
    accuracy = float(known[-1]) if len(known) else math.nan
    state = "done" if trial.done else "going on" if round else "waiting"
    reason = str(read_summary(trial.folder).get("reason", ""))
    end = "" if reason == End.ROUNDS else reason
    return Place(label, round, rounds, accuracy, _pace(seconds), state, end)


def _pace(seconds: np.ndarray) -> float:
    """Mean seconds of a round, of which a pause in the midst of one tells nothing."""
    known = seconds[~np.isnan(seconds)]
    if not len(known):
        return math.nan
    return float(np.minimum(known, _PAUSE * np.median(known)).mean())


def whereabouts(
    planned: Sequence[Trial], now: datetime, hours: float | None = None, at_a_time: int = 1
) -> list[str]:
    """One line for each run: rounds, accuracy, and when it will be done if the command begins now.

    They follow in turn, `at_a_time` beside each other; with `hours` each has its share of them, and
    a line says if that is too little. A run that has not begun is taken to be as fast as the others
    of as many local steps, and one that has as fast as it was.
    """
    places = [place_of(trial) for trial in planned]
    width = max((len(place.label) for place in places), default=0)
    endings = _endings(places, _paces(planned, places), now, seconds_of(hours), at_a_time)
    return [
        f"{place.label:{width}}  {_progress(place)}, {ending}"
        for place, ending in zip(places, endings, strict=True)
    ]


def give_way() -> None:
    """Let everything else on the machine go first: the lowest priority of a process.

    Linux shares time between sessions before it looks at processes: there the session gives way.
    """
    with suppress(AttributeError, OSError):  # Windows has none; some containers forbid it
        os.nice(_LOWEST)
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(_LOWEST), "utf-8")


def _paces(planned: Sequence[Trial], places: Sequence[Place]) -> list[float]:
    """Seconds per round of each, borrowed from those like it where it has none of its own."""
    alike: dict[int, list[float]] = {}
    steps = [trial.experiment.training.local_steps for trial in planned]
    for h, place in zip(steps, places, strict=True):
        if not math.isnan(place.pace):
            alike.setdefault(h, []).append(place.pace)
    return [
        place.pace if not math.isnan(place.pace) else float(np.mean(alike.get(h, [math.nan])))
        for h, place in zip(steps, places, strict=True)
    ]


def _endings(
    places: Sequence[Place], paces: Sequence[float], now: datetime, seconds: float, at_a_time: int
) -> Iterator[str]:
    free = np.zeros(at_a_time)  # seconds until each of those that go on beside each other is done
    waiting = sum(place.state != "done" for place in places)
    for place, pace in zip(places, paces, strict=True):
        if place.state == "done":
            yield f"done ({place.end})" if place.end else "done"
            continue
        next_, own = int(np.argmin(free)), (place.rounds - place.round) * pace
        share = (seconds - float(free[next_])) * min(1.0, at_a_time / waiting)
        free[next_] += own if math.isnan(own) else min(own, share)
        ahead, waiting = float(free[next_]), waiting - 1
        if math.isnan(ahead):
            yield "no pace known yet"
        elif own > share:
            yield f"{_span(own)} to go, of which {_span(share)} within the budget"
        else:
            yield f"{_span(own)} to go, done about {now + timedelta(seconds=ahead):%Y-%m-%d %H:%M}"


def _progress(place: Place) -> str:
    if place.state == "waiting":
        return f"waiting, 0 of {place.rounds:,} rounds"
    shown = "" if math.isnan(place.accuracy) else f", accuracy {place.accuracy:.2%}"
    return f"round {place.round:,} of {place.rounds:,}{shown}"


def _span(seconds: float) -> str:
    minutes = math.ceil(seconds / 60.0)
    return f"{minutes} min" if minutes < 120 else f"{seconds / 3600.0:.1f} h"

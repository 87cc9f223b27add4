"""What contenders have after equally many rounds, and for equal energy: what slots do not tell."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Real

from airfeel.analysis import energy
from airfeel.analysis.series import evaluated, evaluated_by_all
from airfeel.storage.run import Run
from airfeel.sweeps.benchmark.play import Played
from airfeel.sweeps.benchmark.standings import Place, sentence, standings

Way = Callable[[Run], Real[np.ndarray, "r"]]  # how far a run had come, in each of its rows


def blocks(run: Run) -> Real[np.ndarray, "r"]:
    """Resource blocks until each row."""
    return run.columns["resource_blocks"]


def rounds(run: Run) -> Real[np.ndarray, "r"]:
    """Rounds until each row."""
    return run.columns["round"]


def joules(run: Run) -> Real[np.ndarray, "r"]:
    """Energy of all devices until each row [J]."""
    return energy.until_each_row(run)


def elsewhere(played: Sequence[Played]) -> list[str]:
    """Sentences for the largest budget: who is first after equal rounds, who for equal energy."""
    named = {"After {:,.0f} rounds": rounds, "For {:.2g} joules": joules}
    found = [(text, at_equal(played, way)) for text, way in named.items()]
    return [_told(text.format(at), places) for text, (at, places) in found if _any(places)]


def at_equal(played: Sequence[Played], way: Way) -> tuple[float, list[Place]]:
    """The most that every run of the largest budget came to, and the places there, best first.

    Or the most below that at which every run was evaluated. A contender to whom it costs nothing,
    in a run at least, has no place. An accuracy is that of the last look after the start, which is
    the same for all; whoever had none yet, or a stale one, is last, NaN.

    Args:
        played: runs of the table.
        way: how far a run had come, in each of its rows.
    """
    most = max(p.slots for p in played)
    all_of_it = [p for p in played if p.slots == most]
    nowhere = {p.label for p in all_of_it if not way(p.run)[-1] > 0}
    there = [p for p in all_of_it if p.label not in nowhere]
    if not there:
        return 0.0, []
    most_of_all = min(float(way(p.run)[-1]) for p in there)
    curves = [(way(p.run)[1:], p.run.accuracy[1:]) for p in there]
    known = evaluated_by_all(curves, most_of_all, whole=way is not joules)
    at = most_of_all if math.isnan(known) else known

    def accuracy(p: Played) -> float:
        found = evaluated(way(p.run)[1:], p.run.accuracy[1:], at)
        return math.nan if found.stale else found.accuracy

    return at, standings(there, accuracy)[most]


def _any(places: Sequence[Place]) -> bool:
    """Whether somebody was looked at in all of its runs."""
    return bool(places) and not math.isnan(places[0].accuracy)


def _told(where: str, places: Sequence[Place]) -> str:
    late = [p.label for p in places if math.isnan(p.accuracy)]
    text = sentence(where, [p for p in places if not math.isnan(p.accuracy)])
    return text + (
        f" Not evaluated so early, or too long before: {', '.join(late)}." if late else ""
    )

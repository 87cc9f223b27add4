"""Who is ahead at which budget: ranks, paired differences, and the same in words."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from airfeel.analysis import energy
from airfeel.analysis.paired import Difference, holm, paired
from airfeel.analysis.series import mean_and_spread
from airfeel.sweeps.benchmark.play import Played


@dataclass(frozen=True)
class Place:
    """A contender at a budget: means over seeds, and how far the first is ahead of it."""

    label: str
    slots: int
    accuracies: tuple[float, ...]  # by seed
    accuracy: float
    spread: float  # sample standard deviation over seeds
    rounds: float
    joules: float
    ends: tuple[str, ...]  # why its runs ended, each once
    behind: Difference | None = None  # the first minus this one, paired by seed; None for the first
    p: float = math.nan  # of no difference, corrected for all comparisons at this budget


def standings(
    played: Sequence[Played], accuracy: Callable[[Played], float] = lambda p: p.accuracy
) -> dict[int, list[Place]]:
    """The places at each budget, best first; p-values are Holm's over the budget's comparisons.

    Args:
        played: runs of the table.
        accuracy: what a run is judged by; left out: its last model.
    """
    table: dict[int, list[Place]] = {}
    for slots in dict.fromkeys(p.slots for p in played):
        labels = dict.fromkeys(p.label for p in played if p.slots == slots)
        teams = [[p for p in played if (p.label, p.slots) == (n, slots)] for n in labels]
        places = [_place(team, [accuracy(p) for p in team]) for team in teams]
        table[slots] = _compared(
            sorted(places, key=lambda place: np.nan_to_num(-place.accuracy, nan=1.0))
        )
    return table


def _place(played: Sequence[Played], accuracies: Sequence[float]) -> Place:
    """One contender at one budget, its seeds in the order in which all were played."""
    summaries = [p.run.summary for p in played]
    mean, spread = mean_and_spread(accuracies)
    return Place(
        label=played[0].label,
        slots=played[0].slots,
        accuracies=tuple(accuracies),
        accuracy=mean,
        spread=spread,
        rounds=float(np.mean([s["rounds"] for s in summaries])),
        joules=float(np.mean([energy.total(s) or 0.0 for s in summaries])),
        ends=tuple(dict.fromkeys(str(s["reason"]) for s in summaries)),
    )


def _compared(places: list[Place]) -> list[Place]:
    first, *others = places
    ahead = np.array(first.accuracies)
    differences = [paired(ahead, np.array(place.accuracies)) for place in others]
    corrected = holm(np.array([d.p for d in differences], dtype=float))
    return [
        first,
        *(
            Place(**{**vars(place), "behind": difference, "p": float(p)})
            for place, difference, p in zip(others, differences, corrected, strict=True)
        ),
    ]


def words(table: dict[int, list[Place]]) -> list[str]:
    """A sentence per budget: who wins, by how much, and what cannot be told apart."""
    return [sentence(f"At {slots:,} slots", places) for slots, places in table.items()]


def sentence(where: str, places: Sequence[Place]) -> str:
    """Who is first, who cannot be told apart from it, who is behind, and who ended badly.

    Args:
        where: the words before it, such as "At 500 slots".
        places: best first.
    """
    first, *others = places
    level = [place for place in others if not _apart(place)]
    text = f"{where} {first.label} is first with {percent(first)} %"
    if level:
        text += "; not told apart from it: " + _listed([_gap(p) for p in level])
    beaten = [place for place in others if _apart(place)]
    if beaten:
        text += "; behind it: " + _listed([_gap(p) for p in beaten])
    odd = [p for p in places if "stalled" in p.ends or "diverged" in p.ends]
    if odd:
        text += "; " + _listed([f"{p.label} ended {' or '.join(p.ends)}" for p in odd])
    return text + "."


def _apart(place: Place) -> bool:
    """Whether the difference to the first is more than chance, at 5 % for all comparisons."""
    return place.p < 0.05


def _gap(place: Place) -> str:
    d = place.behind
    if d is None or math.isnan(d.low):
        return f"{place.label} ({100 * (d.mean if d else 0.0):.1f} points)"
    return f"{place.label} ({100 * d.mean:.1f} points, {100 * d.low:.1f} to {100 * d.high:.1f})"


def percent(place: Place) -> str:
    """Mean accuracy and its spread, without the sign."""
    text = f"{100 * place.accuracy:.1f}"
    return text if math.isnan(place.spread) else f"{text} ± {100 * place.spread:.1f}"


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"

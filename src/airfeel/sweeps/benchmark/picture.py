"""Accuracy of every contender at the largest budget, against blocks, rounds and joules."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from airfeel.analysis.series import held, over_seeds
from airfeel.plotting import (
    PALETTE,
    SCREEN,
    Band,
    Stroke,
    canvas,
    draw_band,
    drawn,
    legend_below,
    save,
)
from airfeel.storage.run import Run
from airfeel.sweeps.benchmark.equal import Way, blocks, joules, rounds
from airfeel.sweeps.benchmark.play import Played, final_accuracy

_DASHES = ("-", "--")
_POINTS = 200
_LEADERS = 8  # contenders with a look of their own; more could not be told apart
_OTHERS = "#BBBBBB"


def draw(played: Sequence[Played], path: Path) -> Path:
    """The figure of a league; a value holds until the next look at the test set.

    Beyond eight contenders those that end best have colours, and all others are grey lines.
    """
    most = max(p.slots for p in played)
    runs: dict[str, list[Run]] = {}
    for p in played:
        if p.slots == most:
            runs.setdefault(p.label, []).append(p.run)
    leaders = _leaders(runs)
    with drawn(SCREEN):
        figure, panels = canvas(9.6, 3.2, 3)
        for axes, (name, of) in zip(panels, _AXES.items(), strict=True):
            others = [_band(some, of) for label, some in runs.items() if label not in leaders]
            for i, band in enumerate(others):
                label = f"the other {len(others)}" if i == 0 else ""
                axes.plot(band.x, 100.0 * band.mean, color=_OTHERS, linewidth=0.8, label=label)
            for i, label in enumerate(leaders):
                stroke = Stroke(PALETTE[i % len(PALETTE)], _DASHES[i // len(PALETTE)])
                draw_band(axes, _band(runs[label], of), stroke, label, scale=100.0)
            axes.set_xlabel(name)
            axes.set_xscale("log")
            axes.tick_params(axis="x", which="minor", labelbottom=False)  # they would overlap
        panels[0].set_ylabel("test accuracy [%]")
        legend_below(figure, panels[0], 5, 0.22)
        return save(figure, path, 150)


def _leaders(runs: Mapping[str, Sequence[Run]]) -> list[str]:
    """Labels of the largest mean accuracy at the end, in the league's order."""
    reached = {k: np.nan_to_num([final_accuracy(r) for r in v]).mean() for k, v in runs.items()}
    best = sorted(reached, key=lambda label: -reached[label])[:_LEADERS]
    return [label for label in runs if label in best]


_AXES = {"resource blocks": blocks, "rounds": rounds, "joules": joules}


def _band(runs: Sequence[Run], of: Way) -> Band:
    """Mean and spread over seeds at places that all runs have come to."""
    ways = [of(run).astype(float) for run in runs]
    first = max(float(way[way > 0].min(initial=np.inf)) for way in ways)
    last = min(float(way[-1]) for way in ways)
    if not 0 < first < last:
        return over_seeds(np.zeros(0), [np.zeros(0)])
    x = np.geomspace(first, last, _POINTS)
    looks = [run.accuracy for run in runs]
    return over_seeds(x, [held(way, y, x) for way, y in zip(ways, looks, strict=True)])

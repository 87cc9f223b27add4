"""How groups look: colours of Okabe and Ito, which the colour-blind can tell apart, and dashes."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from airfeel.plotting import GREY, PALETTE

_DASHES = ("solid", "dash", "dot", "dashdot")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
_OWN = {"tcs-h": 0, "tcs-d": 1, "top-k": 2}  # a scheme looks the same in every report


@dataclass(frozen=True)
class Style:
    """Colour, dash and symbol by the names of Plotly."""

    colour: str
    dash: str
    symbol: str


def styles(labels: Sequence[str], free: Sequence[bool]) -> list[Style]:
    """One look for each group, all different for up to 24 groups; free references are grey."""
    every = [
        Style(colour, dash, symbol)
        for dash, (colour, symbol) in product(_DASHES, zip(PALETTE, _SYMBOLS, strict=True))
    ]
    taken = {_OWN[label] for label in labels if label in _OWN}
    others = [i for i in range(len(every)) if i not in taken]
    chosen, grey, next_one = [], 0, 0
    for label, is_free in zip(labels, free, strict=True):
        if is_free:
            chosen.append(Style(GREY, _DASHES[1 + grey % 3], "circle"))
            grey += 1
        elif label in _OWN:
            chosen.append(every[_OWN[label]])
        else:
            chosen.append(every[others[next_one % len(others)]])
            next_one += 1
    return chosen

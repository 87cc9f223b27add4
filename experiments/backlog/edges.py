"""Whose best setting lies at the edge of what was tried for it, from a league's `tuning.csv`."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

HEAD = ("problem", "slots", "at an edge of its grid", "all settings alike")
SHORT = {"power_scalar": "σ_t", "global_sparsity": "φ[g]", "local_sparsity": "φ[l]"}
Point = tuple[dict[str, float], float, bool]  # numbers of its settings, accuracy, if it was chosen


def numbers(settings: dict[str, object]) -> Iterator[tuple[str, float]]:
    """The settings that are numbers, those of parts inside too, by their own names."""
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from numbers(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            name = key.split(".")[-1]
            yield SHORT.get(name, name), float(value)


def points_of(path: Path) -> dict[int, dict[str, list[Point]]]:
    """What was tried for each contender, at each budget."""
    found: dict[int, dict[str, list[Point]]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["mean"]:
                own = found.setdefault(int(row["slots"]), {}).setdefault(row["contender"], [])
                tried = dict(numbers(json.loads(row["settings"])))
                own.append((tried, float(row["mean"]), row["chosen"] == "1"))
    return found


def edges(points: list[Point]) -> list[str]:
    """Settings whose chosen number is the least or the largest of three or more that were tried."""
    (chosen,) = [settings for settings, _, best in points if best]
    told = []
    for name, value in chosen.items():
        tried = {settings[name] for settings, *_ in points if name in settings}
        if len(tried) > 2 and value in (min(tried), max(tried)):
            which = "least" if value == min(tried) else "largest"
            told.append(f"{name} {value:g}, the {which} of {len(tried)}")
    return told


def lines_of(name: str, path: Path) -> list[str]:
    """The lines of one league."""
    lines = []
    for slots, contenders in points_of(path).items():
        alike = [who for who, points in contenders.items() if len({p[1] for p in points}) == 1]
        at = {who: edges(points) for who, points in contenders.items() if who not in alike}
        told = "; ".join(f"{who} ({', '.join(each)})" for who, each in at.items() if each)
        lines.append(f"| {name} | {slots:,} | {told} | {', '.join(alike)} |")
    return lines

"""What a league leaves behind: its table and words, every run, every point that was tried."""

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path

from airfeel.analysis import energy
from airfeel.storage import atomic
from airfeel.storage.environment import facts
from airfeel.sweeps.benchmark.equal import elsewhere
from airfeel.sweeps.benchmark.picture import draw
from airfeel.sweeps.benchmark.play import Played
from airfeel.sweeps.benchmark.rules import League, Point
from airfeel.sweeps.benchmark.standings import Place, percent, standings, words
from airfeel.sweeps.benchmark.tuned import Tried, candidates, how, told_how

_RUNS = ("contender", "slots", "seed", "accuracy", "rounds", "resource_blocks", "joules", "end")


def write(league: League, tried: Sequence[Tried], played: Sequence[Played], out: Path) -> None:
    """league.md, league.json, runs.csv and league.png into a folder, beside its tuning.csv."""
    out.mkdir(parents=True, exist_ok=True)
    table = standings(played)
    text = markdown(league, tried, played, table)
    atomic.write(out / "league.md", text.encode())
    atomic.write(out / "league.json", as_json(league, tried, table).encode())
    atomic.write(out / "runs.csv", _runs(played).encode())
    draw(played, out / "league.png")


def markdown(
    league: League,
    tried: Sequence[Tried],
    played: Sequence[Played],
    table: dict[int, list[Place]],
) -> str:
    """The page: how it was played, who won, and with which settings."""
    where, versions = facts()["machine"], facts()["versions"]
    lines = [
        f"# League: {league.name}",
        "",
        f"Base `{league.base}`; for all: {spelled(league.given)}. Equal slots and power, the same "
        f"sky, batches and data for each seed. Seeds {_seeds(league.seeds)}. {told_how(tried)}",
        "",
        *(f"- {sentence}" for sentence in (*words(table), *elsewhere(played))),
        "",
        "Behind: mean of paired differences to the first, in points, with its 95 % interval "
        "(Student's t); p after Holm's correction over the comparisons at that budget. "
        "After equal rounds and for equal joules: at the largest budget, as far as all runs came.",
    ]
    for slots, places in table.items():
        lines += ["", f"## {slots:,} slots", "", *_places(places, tried)]
    lines += [
        "",
        "![accuracy against resource blocks, rounds and joules](league.png)",
        "",
        f"{sum(len(t.accuracies) for t in tried)} tuning runs, {len(played)} runs of the table. "
        f"{where['system']}, {where['cores']} cores; Python {versions['python']}, "
        f"torch {versions['torch']}; commit {facts()['commit'] or 'unknown'}.",
        "",
    ]
    return "\n".join(lines)


def as_json(league: League, tried: Sequence[Tried], table: dict[int, list[Place]]) -> str:
    """The table for other programs: how it was tuned, and each contender's mean and settings."""
    budgets = [
        {
            "slots": slots,
            "contenders": [
                {
                    "label": place.label,
                    "accuracy": _number(place.accuracy),
                    "spread": _number(place.spread),
                    "settings": chosen(tried, place),
                }
                for place in places
            ],
        }
        for slots, places in table.items()
    ]
    told = {"league": league.name, "seeds": league.seeds, "tuning": how(tried)}
    return json.dumps({**told, "budgets": budgets}, indent=2, allow_nan=False) + "\n"


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def chosen(tried: Sequence[Tried], place: Place) -> Point:
    """The settings that a contender has at a budget."""
    return next(
        t.point for t in tried if t.chosen and (t.label, t.slots) == (place.label, place.slots)
    )


def _places(places: Sequence[Place], tried: Sequence[Tried]) -> list[str]:
    head = (
        "| | contender | accuracy [%] | behind [points] | p | rounds | joules | ended "
        "| candidates | settings |"
    )
    rows, count = [head, "|---|---|---|---|---|---|---|---|---|---|"], candidates(tried)
    for rank, place in enumerate(places, 1):
        rows.append(
            f"| {rank} | {place.label} | {percent(place)} | {behind(place)} | "
            f"{'' if math.isnan(place.p) else f'{place.p:.2g}'} | {place.rounds:.0f} | "
            f"{place.joules:.3g} | {', '.join(place.ends)} | {count[place.label]} | "
            f"{spelled(chosen(tried, place))} |"
        )
    return rows


def behind(place: Place) -> str:
    """How far the first is ahead, with its interval."""
    d = place.behind
    if d is None:
        return ""
    gap = f"{100 * d.mean:.1f}"
    return gap if math.isnan(d.low) else f"{gap} ({100 * d.low:.1f} to {100 * d.high:.1f})"


def spelled(point: Point) -> str:
    """Settings in a line."""
    return ", ".join(f"`{key}` = {json.dumps(value)}" for key, value in point.items()) or "–"


def _seeds(seeds: Sequence[int]) -> str:
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]}–{seeds[-1]}"
    return ", ".join(map(str, seeds)) or "none"


def _runs(played: Sequence[Played]) -> str:
    rows: list[dict[str, str | int]] = [
        {
            "contender": p.label,
            "slots": p.slots,
            "seed": p.run.summary["seed"],
            "accuracy": f"{p.accuracy:.6g}",
            "rounds": p.run.summary["rounds"],
            "resource_blocks": p.run.summary["resource_blocks"],
            "joules": f"{energy.total(p.run.summary) or 0.0:.6g}",
            "end": p.run.summary["reason"],
        }
        for p in played
    ]
    return _csv(_RUNS, rows)


def _csv(columns: Sequence[str], rows: Sequence[dict[str, str | int]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()

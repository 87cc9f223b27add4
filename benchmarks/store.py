"""What rows, checkpoints, syncing and progress cost: the demo's runs in a folder, or without.

    python benchmarks/store.py [--turns 5] [--out DIR]

A turn plays `make demo` as it is, and then its twelve runs, each in memory, in a folder, and in a
folder with a checkpoint every 20 rounds (the demo's own runs are over before their first one is
due), in an order that changes from run to run. Shares are taken within a turn, medians over the
turns. Facts are looked up once a turn, as in the demo. The folders lie in --out, whose disk is the
one measured.
"""

import argparse
import contextlib
import io
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from rich.console import Console

import airfeel
from airfeel.cli.compare import compare
from airfeel.runs.progress import Display
from airfeel.storage import atomic, provenance
from airfeel.storage.checksums import Growing
from airfeel.storage.environment import facts
from airfeel.storage.store import Store

SCHEMES, SEEDS = ("tcs-h", "tcs-d", "top-k", "fedavg"), range(3)
WAYS = ("in memory", "as in the demo", "a checkpoint every 20 rounds")
TOLD = ("rows", "checkpoints", "progress")  # what is aimed at: 2 % of the time
SAFE = (  # again: 2 %
    "syncing",
    "waiting for the settings",
    "rows and their checksums",
    "what computes the run",
)
Spent = Counter[tuple[str, str]]  # seconds by way and part
PARTS: list[tuple[str, Any, tuple[str, ...]]] = [
    ("syncing", atomic, ("_sync",)),
    ("waiting for the settings", Store, ("_begun",)),
    ("rows and their checksums", Growing, ("append", "fault")),
    ("what computes the run", provenance, ("arithmetic",)),
    ("opening the folder", Store, ("__init__",)),
    ("rows", Store, ("add", "_flush")),
    ("recorded rounds", Store, ("_keep",)),
    ("checkpoints", Store, ("save",)),
    ("model and summary", Store, ("finish", "__exit__")),
    ("progress", Display, ("begin", "row", "end")),
]


def watch(part: str, owner: Any, names: tuple[str, ...], spent: Counter[str]) -> None:
    """Add up the time that a run waits in some methods, minus what others of them take inside."""

    def timed(plain: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(plain)
        def call(*arguments: Any, **named: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():
                return plain(*arguments, **named)  # nothing waits for it
            before, clock = sum(spent.values()), time.perf_counter()
            try:
                return plain(*arguments, **named)
            finally:
                inside = sum(spent.values()) - before
                spent[part] += time.perf_counter() - clock - inside

        return call

    for name in names:
        setattr(owner, name, timed(getattr(owner, name)))


def play(way: str, scheme: str, seed: int, folder: Path) -> tuple[float, float]:
    """One run: its seconds, and its seconds of processor time, children included."""
    every = 20 if way == WAYS[2] else 0
    e = airfeel.load(
        "digits-tcs-h",
        ["run.record_every=10", f"run.checkpoint_every={every}", f"scheme.name={scheme}"],
        run__seed=seed,
    )
    kept = way != WAYS[0]
    watchers = [Display(Console(file=io.StringIO(), force_terminal=True))] if kept else []
    clock, before = time.perf_counter(), os.times()
    airfeel.run(e, folder if kept else None, watchers)
    return time.perf_counter() - clock, sum(os.times()[:4]) - sum(before[:4])


def demo(out: Path, parts: Counter[str]) -> tuple[float, Counter[str]]:
    """`make demo` on a terminal: its seconds, and those that it waited for each part."""
    told = ["run.record_every=10"]
    facts.cache_clear()
    parts.clear()
    clock = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=out) as folder, contextlib.redirect_stdout(io.StringIO()):
        compare(None, ",".join(SCHEMES), "0..2", told, Path(folder), fresh=True)
        return time.perf_counter() - clock, parts + Counter()


def start() -> float:
    """Seconds that the command takes before it begins to work."""
    clock = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import airfeel.cli.compare"], check=True)
    return time.perf_counter() - clock


def turn(out: Path, parts: Counter[str]) -> tuple[Spent, Spent]:
    """All runs in all ways: seconds and processor seconds in all, and what they are made of."""
    wall, cpu = Spent(), Spent()
    facts.cache_clear()
    for i, (scheme, seed) in enumerate((s, n) for s in SCHEMES for n in SEEDS):
        for way in (*WAYS[i % 3 :], *WAYS[: i % 3]):
            parts.clear()
            with tempfile.TemporaryDirectory(dir=out) as folder:
                seconds, worked = play(way, scheme, seed, Path(folder) / "run")
            wall[way, "all"] += seconds
            cpu[way, "all"] += worked
            for part, waited in parts.items():
                wall[way, part] += waited
    return wall, cpu


def shown(shares: list[float]) -> str:
    """The median and the range, in percent."""
    return f"{statistics.median(shares):.2%} ({min(shares):.2%} … {max(shares):.2%})"


def table(turns: list[tuple[Spent, Spent]]) -> list[str]:
    """Markdown: what the runs took, how much more than in memory, and where they waited."""

    def line(name: str, cell: Callable[[str], str]) -> str:
        return f"| {name} | " + " | ".join(cell(way) for way in WAYS) + " |"

    def waited(part: str, way: str) -> str:
        shares = [wall[way, part] / wall[way, "all"] for wall, _ in turns]
        return f"{statistics.median(shares):.2%}" if any(shares) else ""

    def more(which: int, way: str) -> str:
        shares = [t[which][way, "all"] / t[which][WAYS[0], "all"] - 1.0 for t in turns]
        return shown(shares) if way != WAYS[0] else ""

    def seconds(which: int, way: str) -> str:
        return f"{statistics.median(t[which][way, 'all'] for t in turns):.2f}"

    for wall, _ in turns:
        for way in WAYS[1:]:
            wall[way, "waited"] = sum(wall[way, part] for part, *_ in PARTS)
    return [
        line(f"{len(turns)} turns", str),
        "| --- |" + " ---: |" * len(WAYS),
        line("seconds", lambda way: seconds(0, way)),
        line("processor seconds", lambda way: seconds(1, way)),
        line("more seconds", lambda way: more(0, way)),
        line("more processor seconds", lambda way: more(1, way)),
        line("waited for the store and the display", lambda way: waited("waited", way)),
        *(line(f"… {p}", lambda way, p=p: waited(p, way)) for p, *_ in PARTS),
    ]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--turns", type=int, default=5)
    arguments.add_argument("--out", type=Path, default=Path())
    told = arguments.parse_args()
    os.environ["FORCE_COLOR"] = "1"  # a terminal, as far as the display knows
    parts: Counter[str] = Counter()
    for part, owner, names in PARTS:
        watch(part, owner, names, parts)
    demo(told.out, parts)
    starts, demos, turns = [], [], []
    for _ in range(told.turns):
        starts.append(start())
        demos.append(demo(told.out, parts))
        turns.append(turn(told.out, parts))
    seconds = statistics.median(seconds for seconds, _ in demos)
    print(f"`make demo`: {seconds:.2f} s, after {statistics.median(starts):.2f} s of imports.")
    print("What it waited for, as a share of the former:")
    named = [part for part, *_ in PARTS]
    for some in (*([part] for part in named), TOLD, SAFE, named):
        shares = [sum(waited[part] for part in some) / seconds for seconds, waited in demos]
        print(f"- {'all' if some is named else ', '.join(some)}: {shown(shares)}")
    print("", *table(turns), sep="\n")


if __name__ == "__main__":
    main()

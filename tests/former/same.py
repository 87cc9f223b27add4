"""Whether a former commit and the present code give the same bytes, run side by side.

    python tests/former/same.py               the whole grid: a few minutes
    python tests/former/same.py --first 20    so many runs of it
    python tests/former/same.py --commit REF  against another commit than history.COMMIT

One line is printed for each difference. Status 1: there is one; 2: the commit is not at hand.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import grid
import history
import side
from folders import differences, met
from pairs import Run

PRESENT = history.ROOT / "src"
MEMORIES = ("ram", "bfloat16", "file")
# What the whole grid must have met: without it the comparison would say too little. A device with
# no power left at all is not among it: that takes an energy which is used up to the last digit.
WANTED = {
    *("scheduled", "not-invited", "needs-too-much-power", "energy-does-not-fit"),
    *("no-usable-channel", "update-not-finite", "dropped-by-scheduler", "an idle round"),
    *(f"ended by {why}" for why in ("rounds", "budget", "target", "converged", "stalled")),
    "ended by diverged",
}

OLDER = "does not tell settings and backend, as older versions"

Outcome = dict[str, Any]  # name, error and warnings of a run


@dataclass(frozen=True)
class Task:
    """A run of one side, and the folder that it goes into."""

    label: str
    table: grid.Table
    folder: str
    do: str = "run"  # or stop, or resume


@dataclass(frozen=True)
class Findings:
    """What differs, a line each; what the runs have met; checkpoints that were refused."""

    lines: list[str]
    met: set[str]
    refused: int


Pair = tuple[Task, Outcome, Task, Outcome]  # the former's and the present's


class Side:
    """A process that carries tasks out with the airfeel of one source."""

    def __init__(self, source: Path, tasks: Sequence[Task], plan: Path) -> None:
        self._results, self._said = (plan.with_suffix(end) for end in (".results", ".said"))
        items = [{"do": t.do, "table": t.table, "folder": t.folder} for t in tasks]
        plan.write_text(json.dumps(items), "utf-8")
        command = [sys.executable, side.__file__, str(source), str(plan), str(self._results)]
        env = os.environ | {"PYTHONPATH": str(source)}
        with self._said.open("w") as said:
            self._process = subprocess.Popen(command, env=env, stdout=said, stderr=said)

    def __enter__(self) -> "Side":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def outcomes(self) -> dict[str, Outcome]:
        """What came of the tasks, by their folders."""
        if status := self._process.wait():
            raise RuntimeError(f"a side ended with status {status}:\n{self._said.read_text()}")
        return json.loads(self._results.read_text("utf-8"))


def check(
    runs: Sequence[Run], former: Path, present: Path, memories: Sequence[str] = MEMORIES
) -> Findings:
    """Carry the runs out with both sources, and let `present` resume what `former` left."""
    with tempfile.TemporaryDirectory(prefix="airfeel-same-") as name:
        scratch = Path(name)
        grid.write_traces(scratch)
        tables = [(grid.name(run), grid.table(run, scratch)) for run in runs]
        lasting = [_lasting(scheme, memory) for memory in memories for scheme in grid.SCHEMES]
        cut = _tasks(lasting, scratch / "cut", "stop")
        old = _tasks(tables, scratch / "old") + _tasks(lasting, scratch / "whole")
        new = _tasks(tables, scratch / "new") + [replace(task, do="resume") for task in cut]
        with (
            Side(former, cut + old, scratch / "former") as first,
            Side(present, new, scratch / "present") as second,
        ):
            theirs, ours = first.outcomes(), second.outcomes()
        faults = [line for task in cut + old for line in _faults(task, theirs[task.folder])]
        if faults:
            return Findings(faults, set(), 0)
        return _compared(
            [(a, theirs[a.folder], b, ours[b.folder]) for a, b in zip(old, new, strict=True)]
        )


def _compared(pairs: Sequence[Pair]) -> Findings:
    lines = [f"{pair[0].label}: {line}" for pair in pairs for line in _differences(*pair)]
    seen = [met(Path(a.folder)) for a, *_ in pairs]
    return Findings(lines, set().union(*seen), sum(_refused(b, ours) for *_, b, ours in pairs))


def _faults(task: Task, found: Outcome) -> list[str]:
    """Why a run of the former commit cannot be compared with anything."""
    if found["error"]:
        return [f"{task.label}: the former commit cannot {task.do} it: {found['error']}"]
    if task.do == "run" and "a round" not in met(Path(task.folder)):
        return [f"{task.label}: plays no round"]
    return []


def _differences(a: Task, former: Outcome, b: Task, present: Outcome) -> list[str]:
    """What came of a task on both sides, compared."""
    if _refused(b, present):
        return []
    if present["error"]:
        return [f"fails with {present['error']}"]
    said = present | {"warnings": [w for w in present["warnings"] if not _of_old(b, w)]}
    keys = [key for key in ("name", "warnings") if former[key] != said[key]]
    changed = [f"{key}: {former[key]} became {said[key]}" for key in keys]
    return changed + differences(Path(a.folder), Path(b.folder))


def _refused(task: Task, found: Outcome) -> bool:
    """Whether a checkpoint was refused in one line, which is allowed."""
    error = found["error"] or ""
    return task.do == "resume" and error.startswith("BadInput: ") and "\n" not in error


def _of_old(task: Task, warning: str) -> bool:
    """Whether it is said of the former commit's checkpoint that it knows less than ours do."""
    return task.do == "resume" and OLDER in warning


def _lasting(scheme: str, memory: str) -> tuple[str, grid.Table]:
    """Settings of a run that keeps checkpoints and has much to remember."""
    run = {"scheme": scheme, "memory": memory, "scheduler": "proportional-fair", "budget": "slots"}
    table = grid.table(run, Path())
    table["run"]["checkpoint_every"] = side.CHECKPOINT_EVERY
    return f"resumed: {grid.name(run)}", table


def _tasks(tables: Sequence[tuple[str, grid.Table]], folder: Path, do: str = "run") -> list[Task]:
    return [Task(label, t, str(folder / str(i)), do) for i, (label, t) in enumerate(tables)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--first", type=int, help="only so many runs")
    parser.add_argument("--commit", default=history.COMMIT, help="what to compare with")
    args = parser.parse_args()
    clock = time.monotonic()
    runs = [*grid.covering(), *grid.corners()][: args.first]
    with tempfile.TemporaryDirectory(prefix="airfeel-former-") as folder:
        try:
            former = history.source(Path(folder), args.commit)
        except history.Missing as missing:
            print(f"nothing to compare with: {missing}", file=sys.stderr)
            return 2
        found = check(runs, former, PRESENT)
    unmet = [] if args.first else sorted(WANTED - found.met)
    lines = found.lines + [f"the grid: no run has met this: {thing}" for thing in unmet]
    print(*lines, sep="\n", end="\n" if lines else "")
    resumed = len(MEMORIES) * len(grid.SCHEMES)
    print(
        f"{len(runs)} runs and {resumed} resumed ones ({found.refused} refused) against "
        f"{args.commit}: {len(lines) or 'no'} difference{'' if len(lines) == 1 else 's'}, "
        f"{time.monotonic() - clock:.0f} s"
    )
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

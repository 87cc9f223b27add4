"""Kills runs at random moments, again and again: python tests/storage/soak.py [KILLS] [SEED].

Each is resumed until it is done; its files must then be those of a run that nobody has killed.
"""

import csv
import io
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from cuts import lasting  # noqa: E402
from killed import context, go_on  # noqa: E402
from recorder import read_tree  # noqa: E402

from airfeel.catalogue import Table  # noqa: E402
from small import small  # noqa: E402

ROUNDS = 40
_LONGEST = 0.6  # seconds that a process is given before it is killed
_STEPS = 60  # file operations before one at which it is killed
CASES = (
    {"tcs-h": {}},
    {"tcs-d": {"memory": "bfloat16"}},
    {"top-k": {"memory": "file"}, "fedavg": {"checkpoint_every": 7}},
)


@dataclass
class Tally:
    """What has happened so far."""

    kills: int = 0
    inside: int = 0  # of them at a file operation
    finished: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.kills} kills ({self.inside} at a file operation), "
            f"{self.finished} commands finished, {len(self.faults)} differences"
        )


def soak(kills: int, folder: Path, seed: int, tell: Callable[[Tally], None]) -> Tally:
    """Kill so often, case by case; what differs in the end is a fault."""
    dice, tally = random.Random(seed), Tally()
    whole = []
    for number, case in enumerate(CASES):
        go_on(str(folder / f"whole-{number}"), tables(case))
        whole.append(content(folder / f"whole-{number}"))
    for case, wanted in cycle(zip(CASES, whole, strict=True)):
        if tally.kills >= kills:
            return tally
        for code in _until_done(folder / "killed", tables(case), dice, tally, kills):
            if code not in (0, -signal.SIGKILL):
                tally.faults.append(f"after {tally.kills} kills: {list(case)} ended with {code}")
                return tally
            tell(tally)
        found = content(folder / "killed")
        other = [path for path in wanted | found if wanted.get(path, 0) != found.get(path, 0)]
        if other:
            tally.faults.append(f"after {tally.kills} kills: other bytes in {', '.join(other)}")
            tell(tally)
        tally.finished += 1
        shutil.rmtree(folder / "killed")
    return tally


def _until_done(
    folder: Path, runs: dict[str, Table], dice: random.Random, tally: Tally, kills: int
) -> Iterator[int | None]:
    """Start the command and kill it, half of the times at one of its own steps, until it ends.

    The last one is left alone: on a busy machine it might never get far enough between two kills.
    """
    while True:
        enough = tally.kills >= kills
        inside = enough or dice.random() < 0.5
        die_at = dice.randint(1, _STEPS) if inside and not enough else 0
        process = context().Process(target=go_on, args=(str(folder), runs, die_at))
        process.start()
        process.join(None if inside else dice.uniform(0.0, _LONGEST))
        process.kill()
        process.join()
        killed = process.exitcode == -signal.SIGKILL
        tally.kills += killed
        tally.inside += killed and inside
        yield process.exitcode
        if not killed:
            return


def tables(case: dict[str, Table]) -> dict[str, Table]:
    """The settings of a case's runs, by label."""
    run = {"checkpoint_every": 1, "record_every": 10, "eval_every": 3, "eval_every_blocks": 200}
    training = {"rounds": ROUNDS, "dtype": "float32"}
    scheme = {"scheduler": "proportional-fair"}
    experiments = {
        name: small(name, training=training, scheme=scheme, run=run | more)
        for name, more in case.items()
    }
    return {k: e.model_dump(mode="json", exclude_none=True) for k, e in experiments.items()}


def content(folder: Path) -> dict[str, object]:
    """Everything that runs leave but for their timings."""
    found: dict[str, object] = {}
    for path, data in lasting(read_tree(folder)).items():
        if path.endswith("rounds.csv"):
            rows = csv.DictReader(io.StringIO((data or b"").decode()))
            found[path] = [{k: v for k, v in row.items() if k != "seconds"} for row in rows]
        elif not path.endswith("summary.json"):
            found[path] = data
    return found


def main(kills: int = 1000, seed: int = 0) -> None:
    """Soak in a folder of its own, and tell how it goes."""
    begin = time.monotonic()

    def tell(tally: Tally) -> None:
        if tally.faults or (tally.kills and tally.kills % 50 == 0):
            print(f"{time.monotonic() - begin:6.0f} s  {tally}", *tally.faults[-1:], flush=True)

    with tempfile.TemporaryDirectory(prefix="airfeel-soak-") as folder:
        tally = soak(kills, Path(folder), seed, tell)
    for fault in tally.faults:
        print(fault)
    print(f"seed {seed}: {tally}, in {time.monotonic() - begin:.0f} s")
    sys.exit(bool(tally.faults))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

"""Whether a round has become slower: a former commit and the present code, round against round.

    python benchmarks/former.py                      all problems, 15 pairs each: minutes
    python benchmarks/former.py --only cnn1,digits   some of cnn10, cnn1, digits
    python benchmarks/former.py --pairs 31 --out F   more pairs; writes the table to F as well

Each version is a process that plays whole TCS-H rounds when it is asked to, in the order ABBA, so
that whatever else the machine does hits both. What counts is the ratio within a pair.
"""

import argparse
import contextlib
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "peers"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "former"))
import history
from contender import Contender, Spread, ratio
from turns import Turns

HEAD = (
    "| problem | data | pairs | former [ms] | present [ms] | present / former |",
    "| --- | --- | --- | --- | --- | --- |",
)
CNN: dict[str, dict[str, Any]] = {
    "data": {"dataset": "cifar10"},
    "model": {"name": "paper-cnn"},
    "training": {"devices": 20, "batch_size": 64},
}
DIGITS: dict[str, dict[str, Any]] = {
    "data": {"dataset": "digits"},
    "model": {"name": "mlp", "hidden": 64},
    "training": {"devices": 200, "batch_size": 64},
}
PROBLEMS = {  # settings, H, rounds per turn
    "cnn10": (CNN, 10, 1),
    "cnn1": (CNN, 1, 5),
    "digits": (DIGITS, 5, 20),
}


class Over(Exception):
    """Nobody asks for more rounds."""


class Gate:
    """A watcher that holds a run between two rounds until it is asked for more."""

    def __init__(self, turns: Turns, data: str) -> None:
        self._turns, self._data = turns, data

    def begin(self, experiment: Any, world: object) -> None:
        self._devices = experiment.training.devices

    def row(self, row: dict[str, Any]) -> None:
        assert row["round"] == 0 or row["scheduled"] == self._devices
        if not self._turns.next(data=self._data):
            raise Over

    def end(self, summary: dict[str, Any]) -> None:
        raise AssertionError(f"the run ended by itself: {summary['reason']}")


def play(source: str, problem: str) -> None:
    """A version's side: play rounds of a problem with the airfeel in `source`."""
    sys.path.insert(0, source)
    import airfeel
    from airfeel.settings.load import experiment

    assert Path(str(airfeel.__file__)).is_relative_to(source), f"{airfeel.__file__} was imported"
    turns = Turns()
    for table in tables(problem):
        name = table["data"]["dataset"]
        try:
            airfeel.run(experiment(table), watchers=[Gate(turns, name)])
        except Over:
            return
        except airfeel.BadInput as error:  # such as that there is no CIFAR-10
            print(f"{name} is left: {error}", file=sys.stderr)
    raise SystemExit(1)


def tables(problem: str) -> Iterator[dict[str, dict[str, Any]]]:
    """The settings of a problem; noise of their shape stands in for photographs."""
    parts, steps, _ = PROBLEMS[problem]
    table = parts | {
        "training": parts["training"] | {"local_steps": steps, "rounds": 10**9},
        "radio": {"power": 1e6, "noise": 1e-12},  # enough for every device: the most work
        "run": {"eval_every": 10**9},
    }
    yield table
    if parts is CNN:
        yield table | {"data": {"dataset": "synthetic", "shape": [3, 32, 32]}}


def measure(problem: str, pairs: int, sources: dict[str, Path]) -> str:
    """A line of the table: milliseconds per round of both versions, and their ratio."""
    rounds = PROBLEMS[problem][2]
    times: dict[str, list[float]] = {side: [] for side in sources}
    with contextlib.ExitStack() as stack:
        found = {}
        for side, source in sources.items():
            command = [sys.executable, __file__, "play", str(source), problem]
            found[side] = Contender(side, command, sys.stderr)
            stack.callback(found[side].close)
        for contender in found.values():
            contender.turn(rounds)  # to warm up
        for pair in range(pairs):
            for side in list(found)[:: -1 if pair % 2 else 1]:
                times[side].append(found[side].turn(rounds))
        data = {contender.told["data"] for contender in found.values()}
    assert len(data) == 1, f"the two versions were trained on {data}"
    ms = [Spread([1e3 * t for t in several]).show() for several in times.values()]
    cells = [problem, *data, str(pairs), *ms, ratio(times, "present", "former").show(3)]
    return f"| {' | '.join(cells)} |"


def about() -> str:
    """What is compared, and on what machine."""
    git = ["git", "-C", str(history.ROOT), "describe", "--always", "--dirty"]
    commit = subprocess.run(git, capture_output=True, text=True).stdout.strip() or "unknown"
    return (
        f"Commit {commit} against {history.COMMIT}, {os.cpu_count()} cores, {platform.system()} "
        f"{platform.machine()}; ms per round, median (least–greatest) of the pairs."
    )


def compare(problems: list[str], pairs: int) -> Iterator[str]:
    """The lines of the table."""
    with tempfile.TemporaryDirectory(prefix="airfeel-former-") as folder:
        sources = {"former": history.source(Path(folder)), "present": history.ROOT / "src"}
        yield from (about(), "", *HEAD)
        for problem in problems:
            yield measure(problem, pairs, sources)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default=",".join(PROBLEMS), help="problems, with commas")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--out", type=Path, help="file for the table (Markdown)")
    args = parser.parse_args()
    problems, lines = args.only.split(","), []
    if unknown := [problem for problem in problems if problem not in PROBLEMS]:
        parser.error(f"--only {unknown[0]}: must be some of {', '.join(PROBLEMS)}")
    try:
        for line in compare(problems, args.pairs):
            print(line, flush=True)
            lines.append(line)
    except history.Missing as missing:
        raise SystemExit(f"nothing to compare with: {missing}") from None
    if args.out:
        args.out.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["play"]:
        play(*sys.argv[2:])
    else:
        main()

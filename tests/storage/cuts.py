"""Cuts the power of a run, a comparison or a sweep after every file operation, and goes on.

A scenario is carried out once, and its file operations are recorded. For every operation, the
folder is built as a power cut after it may leave it, and the same command is given again: the
result must have the bytes of the uninterrupted one, or the refusal must be one line, and none of
what a checkpoint had promised may be lost.
"""

import hashlib
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from disk import Disk, Operation, Promise, Tree
from quick import quick
from recorder import Recorder, read_tree, recording, write_tree

import airfeel
from airfeel.engines.base import Keeper
from airfeel.experiment.loop import Loop
from airfeel.experiment.store import Store
from airfeel.types import State

DONE = 1_000_000  # the round that a complete run has promised
_PASSING = ("checkpoint", ".lock")  # names that may differ in the end

Told = dict[str, int]  # the round that each run went on from, by folder
Command = Callable[[Path], None]  # what a user types, into a folder, again and again


@dataclass(frozen=True)
class Scenario:
    """A command, and what lies in its folder before."""

    command: Command
    before: Tree = field(default_factory=dict)


@dataclass
class Verdict:
    """What came of all cuts."""

    operations: int = 0
    cuts: int = 0
    resumed: int = 0
    refused: int = 0
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


@contextmanager
def telling(root: Path, told: Told) -> Iterator[None]:
    """Note from which round runs go on."""
    first = Loop.first

    def noted(self: Loop, engine: Keeper) -> State:
        state = first(self, engine)
        told[str(self.store.folder.relative_to(root))] = state.round
        return state

    with mock.patch.object(Loop, "first", noted):
        yield


@contextmanager
def promising(recorder: Recorder) -> Iterator[None]:
    """A checkpoint that has been saved is a promise, and so is a finished run."""
    save, finish = Store.save, Store.finish

    def saved(self: Store, state: State, *more: object, **named: object) -> None:
        save(self, state, *more, **named)
        recorder.promise(self.folder, state.round)

    def finished(self: Store, *more: object, **named: object) -> None:
        finish(self, *more, **named)
        recorder.promise(self.folder, DONE)

    with mock.patch.object(Store, "save", saved), mock.patch.object(Store, "finish", finished):
        yield


def record(scenario: Scenario, root: Path) -> tuple[list[Operation], int, Tree]:
    """The log of a scenario, where it begins, and the result."""
    root.mkdir()
    write_tree(root, scenario.before)
    with quick(), recording(root) as recorder, promising(recorder):
        begin = len(recorder.log)
        scenario.command(root)
    result = read_tree(root)
    shutil.rmtree(root)
    return recorder.log, begin, lasting(result)


def lasting(tree: Tree) -> Tree:
    """What is the same in the end, wherever a run was cut."""
    return {
        path: content
        for path, content in tree.items()
        if not path.endswith(".part") and not Path(path).name.startswith(_PASSING)
    }


def storm(
    scenario: Scenario,
    folder: Path,
    spoil: Callable[[Sequence[Operation]], list[Operation]] = list,
    share: float = 1.0,
) -> Verdict:
    """Cut after every operation, in all ways or a share of them; equal survivors are met once."""
    log, begin, wanted = record(scenario, folder / "disk")
    log = spoil(log)
    clock, verdict = time.monotonic(), Verdict(len(log) - begin)
    met: set[str] = set()
    for cut in range(begin, len(log) + 1):
        promised = {op.folder: op.round for op in log[:cut] if isinstance(op, Promise)}
        dice = random.Random(cut)
        for name, tree in Disk(log[:cut]).survivors(dice):
            if dice.random() >= share:
                continue
            verdict.cuts += 1
            key = hashlib.sha256(repr((sorted(tree.items()), promised)).encode()).hexdigest()
            if key in met:
                continue
            met.add(key)
            fault = _go_on(scenario, folder / "disk", tree, wanted, promised, verdict)
            if fault:
                after = log[cut - 1] if cut else None
                verdict.faults.append(f"cut {cut - begin}, {name}, after {after!r:.90}: {fault}")
    verdict.seconds = time.monotonic() - clock
    return verdict


def _go_on(
    scenario: Scenario, root: Path, tree: Tree, wanted: Tree, promised: Told, verdict: Verdict
) -> str | None:
    """Give the command again after a cut; what was wrong with the answer, if anything."""
    root.mkdir()
    write_tree(root, tree)
    told: Told = {}
    try:
        with quick(), telling(root, told):
            scenario.command(root)
    except airfeel.BadInput as refusal:
        verdict.refused += 1
        return _illegal(str(refusal), promised)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    else:
        verdict.resumed += 1
        return _difference(lasting(read_tree(root)), wanted) or _forgotten(told, promised)
    finally:
        shutil.rmtree(root)


def _illegal(refusal: str, promised: Told) -> str | None:
    """A refusal is one line, and comes only before the first checkpoint."""
    if len(refusal.splitlines()) != 1 or any(promised.values()):
        return f"refused after {promised}: {refusal}"
    return None


def _difference(found: Tree, wanted: Tree) -> str | None:
    if found == wanted:
        return None
    other = [path for path in sorted(found.keys() | wanted) if found.get(path) != wanted.get(path)]
    return f"other bytes in {', '.join(other)}"


def _forgotten(told: Told, promised: Told) -> str | None:
    """A run goes on from the last promised checkpoint or a later one; a complete one not at all."""
    for folder, first in told.items():
        if first < promised.get(folder, 0):
            return f"{folder} went on from round {first}, though {promised[folder]} was saved"
    return None

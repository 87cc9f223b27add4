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
from airfeel.runs.loop import Loop
from airfeel.storage.store import Store
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
    saved: Told = field(default_factory=dict)  # what the checkpoints in it have got to


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
        scenario.command(root)
    result = read_tree(root)
    shutil.rmtree(root)
    return recorder.log, recorder.begin, lasting(result)


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
    most: int = 20,
) -> Verdict:
    """Cut after every operation, in all ways or a share of them; equal survivors are met once.

    It ends early once it has found the most faults that anybody reads.
    """
    clock, root = time.monotonic(), folder / "disk"
    log, begin, wanted = record(scenario, root)
    log[begin:] = spoil(log[begin:])
    verdict, answers = Verdict(len(log) - begin), {}
    for cut in range(begin, len(log) + 1):
        saved = {op.folder: op.round for op in log[:cut] if isinstance(op, Promise)}
        for name, tree in survivors(log[:cut], share):
            key = digest(tree)
            if key not in answers:
                answers[key] = go_on(scenario, root, tree, wanted)
            fault = answers[key].fault(scenario.saved | saved)
            if fault and len(verdict.faults) < most:
                after = f"{log[cut - 1]!r:.90}"
                verdict.faults.append(f"cut {cut - begin}, {name}, after {after}: {fault}")
            verdict.cuts += 1
        if len(verdict.faults) == most:
            break
    verdict.refused = sum(answer.refusal is not None for answer in answers.values())
    verdict.resumed = len(answers) - verdict.refused
    verdict.seconds = time.monotonic() - clock
    return verdict


def survivors(log: Sequence[Operation], share: float = 1.0) -> Iterator[tuple[str, Tree]]:
    """A share of all that may be found after a log, the same each time."""
    dice = random.Random(len(log))
    for name, tree in Disk(log).survivors(dice):
        if dice.random() < share:
            yield name, tree


def digest(tree: Tree) -> bytes:
    """Equal for equal folders."""
    total = hashlib.sha256()
    for path, content in sorted(tree.items()):
        total.update(repr((path, content if content is None else len(content))).encode())
        total.update(content or b"")
    return total.digest()


@dataclass
class Answer:
    """What the command said after a cut."""

    told: Told  # from which rounds it went on
    refusal: str | None = None
    wrong: str | None = None  # an error that is no refusal, or other bytes

    def fault(self, promised: Told) -> str | None:
        """What is wrong with it, if anything, given what had been saved before the cut.

        A refusal is one line, and comes only before the first checkpoint. A run goes on from the
        last saved checkpoint or a later one, a complete one not at all.
        """
        if self.refusal is not None:
            legal = len(self.refusal.splitlines()) == 1 and not promised
            return None if legal else f"refused after {promised}: {self.refusal}"
        for folder, first in self.told.items():
            if first < promised.get(folder, 0):
                return f"{folder} went on from round {first}, though {promised[folder]} was saved"
        return self.wrong


def go_on(scenario: Scenario, root: Path, tree: Tree, wanted: Tree) -> Answer:
    """Give the command again in a folder as a cut has left it."""
    root.mkdir()
    write_tree(root, tree)
    answer = Answer({})
    try:
        with quick(), telling(root, answer.told):
            scenario.command(root)
        found = lasting(read_tree(root))
        paths = sorted(found.keys() | wanted)
        other = [path for path in paths if found.get(path, 0) != wanted.get(path, 0)]
        answer.wrong = f"other bytes in {', '.join(other)}" if other else None
    except airfeel.BadInput as refusal:
        answer.refusal = str(refusal)
    except Exception as error:
        answer.wrong = f"{type(error).__name__}: {error}"
    finally:
        shutil.rmtree(root)
    return answer

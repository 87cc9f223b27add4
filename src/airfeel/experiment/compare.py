"""Several schemes, the same seeds and the same sky: who is ahead at equal resource blocks."""

import math
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from airfeel.experiment.config import Experiment
from airfeel.experiment.load import load_stored
from airfeel.experiment.readings import accuracy_at, mean_and_spread
from airfeel.experiment.runner import Run, Watcher, resume, run
from airfeel.experiment.signals import Signals
from airfeel.experiment.store import fingerprint
from airfeel.experiment.stored import check_same, open_run
from airfeel.types import BadInput


@dataclass(frozen=True)
class Line:
    """One scheme over all seeds. Spreads are sample standard deviations, NaN for one seed."""

    label: str
    seeds: int
    free: bool  # a reference that uses no resource blocks
    accuracy: float  # at the shared number of resource blocks
    accuracy_spread: float
    final: float
    final_spread: float
    rounds: float
    blocks: float
    blocks_per_round: float
    scheduled: float


def run_all(
    experiments: Sequence[tuple[str, Experiment]],
    out: Path,
    watch: Callable[[str, Experiment], Iterable[Watcher]] = lambda *_: (),
    fresh: bool = False,
    signals: Signals | None = None,
) -> dict[str, list[Run]]:
    """Carry out what is missing, and reuse the rest."""
    groups: dict[str, list[Run]] = {}
    for label, e in experiments:
        groups.setdefault(label, []).append(
            run_missing(e, folder_of(out, label, e), watch(label, e), signals, fresh)
        )
    return groups


def folder_of(out: Path, label: str, e: Experiment) -> Path:
    """Where a run of these settings belongs: named by label, seed and fingerprint."""
    return out / f"{label.replace('/', '_')}-seed{e.run.seed}-{fingerprint(e)}"


def run_missing(
    e: Experiment,
    folder: Path,
    watchers: Iterable[Watcher] = (),
    signals: Signals | None = None,
    fresh: bool = False,
) -> Run:
    """A finished run is read, an unfinished one resumed, a missing one carried out."""
    if fresh and (folder / "config.toml").is_file():
        shutil.rmtree(folder)
    if (folder / "summary.json").is_file():
        return read_run(folder, e)
    if (folder / "config.toml").is_file():
        check_same(load_stored(folder), e, folder)
        return resume(folder, watchers, signals=signals)
    return run(e, folder, watchers, signals=signals)


def read_run(folder: Path, e: Experiment | None = None) -> Run:
    """A finished run from its folder; refused where it is not of the experiment asked for."""
    found = open_run(folder)
    if not found.summary:
        raise BadInput(f"{folder}: is no finished run, it has no summary.json")
    if e is not None:
        check_same(found.experiment, e, folder)
    return found


def shared_blocks(groups: dict[str, list[Run]]) -> float:
    """The most resource blocks that every run reached, free ones aside; NaN if all are free."""
    reached = [r.columns["resource_blocks"][-1] for runs in groups.values() for r in runs]
    return float(min((b for b in reached if b > 0), default=math.nan))


def lines(groups: dict[str, list[Run]]) -> list[Line]:
    """The table, best first, free references last."""
    blocks = shared_blocks(groups)
    made = [_line(label, runs, blocks) for label, runs in groups.items()]
    return sorted(made, key=lambda line: (line.free, -line.accuracy))


def _line(label: str, runs: list[Run], blocks: float) -> Line:
    used = np.array([r.columns["resource_blocks"][-1] for r in runs], dtype=float)
    rounds = np.array([r.columns["round"][-1] for r in runs], dtype=float)
    at = [accuracy_at(r.columns, blocks if blocks == blocks else math.inf) for r in runs]
    accuracy, accuracy_spread = mean_and_spread(at)
    final, final_spread = mean_and_spread([accuracy_at(r.columns) for r in runs])
    heard = [r.columns["scheduled"][1:].sum() / max(r.columns["round"][-1], 1) for r in runs]
    share = [h / r.experiment.training.devices for h, r in zip(heard, runs, strict=True)]
    return Line(
        label=label,
        seeds=len(runs),
        free=not used.any(),
        accuracy=accuracy,
        accuracy_spread=accuracy_spread,
        final=final,
        final_spread=final_spread,
        rounds=float(rounds.mean()),
        blocks=float(used.mean()),
        blocks_per_round=float((used / np.maximum(rounds, 1)).mean()),
        scheduled=float(np.mean(share)),
    )


def verdict(table: Sequence[Line], blocks: float) -> str:
    """Who wins at an equal number of resource blocks, and by how much, in plain words."""
    paid = [line for line in table if not line.free]
    if not paid:
        return "No scheme used any resource blocks, so there is nothing to compare at equal cost."
    first, *others = paid
    words = [
        f"At {blocks:,.0f} resource blocks, the most that every run reached, "
        f"{first.label} has {percent(first.accuracy, first.accuracy_spread)} % test accuracy"
        + (f" (mean ± standard deviation over {first.seeds} seeds)" if first.seeds > 1 else "")
    ]
    words += [_behind(first, line) for line in others]
    for line in table:
        if line.free:
            gap = 100 * (line.accuracy - first.accuracy)
            side = "above" if gap >= 0 else "below"
            words.append(
                f"{line.label}, which is free and noiseless, ends {abs(gap):.1f} points {side}"
            )
    return "; ".join(words) + "."


def _behind(first: Line, line: Line) -> str:
    lead = 100 * (first.accuracy - line.accuracy)
    spread = 100 * math.hypot(first.accuracy_spread, line.accuracy_spread)
    doubt = ", which is within the spread" if lead <= spread else ""
    return f"{line.label} is {lead:.1f} points behind{doubt}"


def percent(mean: float, spread: float) -> str:
    """A share and its spread in percent, without the sign."""
    return f"{100 * mean:.1f}" + ("" if math.isnan(spread) else f" ± {100 * spread:.1f}")

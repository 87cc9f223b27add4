"""Several settings, the same seeds and the same sky: carried out where missing, read where done."""

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from airfeel.experiment import groups
from airfeel.experiment.config import Experiment
from airfeel.experiment.groups import Groups
from airfeel.experiment.load import load
from airfeel.experiment.rows import read_columns
from airfeel.experiment.runner import Run, Watcher, resume, run
from airfeel.experiment.signals import Signals
from airfeel.experiment.store import fingerprint
from airfeel.types import BadInput


def run_all(
    experiments: Sequence[tuple[str, Experiment]],
    out: Path,
    watch: Callable[[str, Experiment], Iterable[Watcher]] = lambda *_: (),
    fresh: bool = False,
    signals: Signals | None = None,
) -> Groups:
    """Carry out what is missing, and reuse the rest."""
    groups.check(experiments)
    found: Groups = {}
    for label, e in experiments:
        found.setdefault(label, []).append(
            run_missing(e, folder_of(out, label, e), watch(label, e), signals, fresh)
        )
    return found


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
        return read_run(folder)
    if (folder / "config.toml").is_file():
        return resume(folder, watchers, signals=signals)
    return run(e, folder, watchers, signals=signals)


def read_run(folder: Path) -> Run:
    """A finished run from its folder."""
    try:
        summary = json.loads((folder / "summary.json").read_text("utf-8"))
        columns = read_columns(folder / "rounds.csv")
    except (OSError, ValueError, StopIteration) as error:
        raise BadInput(f"{folder}: is no finished run ({error})") from error
    return Run(load(folder / "config.toml"), columns, summary, folder=folder)

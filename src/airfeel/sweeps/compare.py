"""Several settings, the same seeds and the same sky: carried out where missing, read where done."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from airfeel.analysis import groups
from airfeel.analysis.criterion import Judge
from airfeel.analysis.groups import Groups
from airfeel.runs.runner import Watcher, go_on, run
from airfeel.runs.signals import Signals
from airfeel.settings.config import Experiment
from airfeel.storage.checksums import check_complete
from airfeel.storage.reader import check_same, open_run, settings
from airfeel.storage.run import Run
from airfeel.storage.store import fingerprint
from airfeel.sweeps.expand import as_folder
from airfeel.types import BadInput


def run_all(
    experiments: Sequence[tuple[str, Experiment]],
    out: Path,
    watch: Callable[[str, Experiment], Iterable[Watcher]] = lambda *_: (),
    fresh: bool = False,
    signals: Signals | None = None,
    judge: Judge | None = None,
) -> Groups:
    """Carry out what is missing, evaluated where `judge` compares, and reuse the rest."""
    groups.check(experiments)
    found: Groups = {}
    for label, e in experiments:
        own, folder = evaluated_at(judge, e, partial(folder_of, out, label), fresh)
        done = run_missing(own, folder, watch(label, own), signals, fresh)
        found.setdefault(label, []).append(done)
    return groups.by_name(found)


def evaluated_at(
    judge: Judge | None,
    e: Experiment,
    place: Callable[[Experiment], Path],
    fresh: bool = False,
) -> tuple[Experiment, Path]:
    """A run's settings with an evaluation at the judge's resource blocks, and its folder.

    A run that was begun without that evaluation is taken as it is, unless it is `fresh`.
    """
    blocks = judge.blocks if judge else None
    if blocks is None or e.run.eval_every == 1 or blocks in e.run.eval_at_blocks:
        return e, place(e)
    run = e.run.model_copy(update={"eval_at_blocks": (*e.run.eval_at_blocks, blocks)})
    asked = e.model_copy(update={"run": run})
    begun = (place(e) / "config.toml").is_file() and not (place(asked) / "config.toml").is_file()
    return (e, place(e)) if begun and not fresh else (asked, place(asked))


def folder_of(out: Path, label: str, e: Experiment) -> Path:
    """Where a run of these settings belongs: named by label, seed and fingerprint."""
    return out / f"{as_folder(label)}-seed{e.run.seed}-{fingerprint(e)}"


def run_missing(
    e: Experiment,
    folder: Path,
    watchers: Iterable[Watcher] = (),
    signals: Signals | None = None,
    fresh: bool = False,
) -> Run:
    """A finished run is read, an unfinished one resumed, a missing one carried out.

    With `fresh`, one that is there is deleted and carried out again.
    """
    if fresh and (folder / "config.toml").is_file():
        return run(e, folder, watchers, signals=signals, fresh=True)
    if (folder / "summary.json").is_file():
        return read_run(folder, e)
    if (folder / "config.toml").is_file():
        check_same(settings(folder), e, folder)  # nothing that it names is imported
        return go_on(e, folder, watchers, signals)
    return run(e, folder, watchers, signals=signals)


def read_run(folder: Path, e: Experiment | None = None) -> Run:
    """A finished run from its folder; refused where it is not of the experiment asked for."""
    found = open_run(folder)
    if not found.summary:
        raise BadInput(f"{folder}: is no finished run, it has no summary.json")
    check_complete(folder, found.summary)
    if e is not None:
        check_same(found.experiment, e, folder)
    return found

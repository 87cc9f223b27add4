"""Many runs at a time, on the terminal: a table that is kept up to date, or a line for each."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from airfeel import regular
from airfeel.analysis import groups
from airfeel.analysis.criterion import Judge
from airfeel.analysis.groups import Groups
from airfeel.cli.options import LOUDNESS
from airfeel.cli.run import displays
from airfeel.runs.signals import Signals
from airfeel.settings.config import Experiment
from airfeel.sweeps.following import Following
from airfeel.sweeps.pool import STOPPED, Trial
from airfeel.sweeps.sweep import Sweep, trials_of


def play(work: Sweep, signals: Signals, *also: Callable[[Sweep], None]) -> None:
    """Carry a sweep out, and show how far it is, as loud as it was asked for.

    also: what else is called now and then.
    """
    loud, console = LOUDNESS.get(), Console()
    looks = [follower(work.trials), *also]

    def show(now: Sweep) -> None:
        for look in looks:
            look(now)

    with ExitStack() as stack:
        if console.is_terminal and not (loud.quiet or loud.verbose):
            live = stack.enter_context(Live(_table(work), console=console, refresh_per_second=4))
            looks.append(lambda now: live.update(_table(now)))
        elif not (loud.quiet or loud.verbose):
            announced: set[Path] = set()
            looks.append(lambda now: _tell(now, announced))
        work.play(signals, show)


def follower(trials: Sequence[Trial]) -> Callable[[Sweep], None]:
    """What tells each round of runs that go on elsewhere: with -v here, and in the log file."""
    loud = LOUDNESS.get()
    if not loud.verbose and not loud.log:
        return lambda _: None
    shown = slice(None) if loud.verbose else slice(1, None)  # without the terminal's
    follow = Following(trials, lambda name, e: displays(f"{name} seed {e.run.seed}")[shown])
    return follow.look


def complain(work: Sweep) -> None:
    """Name the runs that failed; then the command has failed too."""
    for folder, fault in work.faults.items():
        typer.echo(f"airfeel: {folder} failed: {fault}", err=True)
    if work.faults:
        raise typer.Exit(1)


def at_a_time(
    experiments: list[tuple[str, Experiment]],
    out: Path,
    workers: int,
    fresh: bool,
    signals: Signals,
    judge: Judge | None = None,
) -> Groups:
    """A comparison's runs, some at a time; all of them must come to an end."""
    groups.check(experiments)
    work = Sweep(trials_of(experiments, out, fresh, judge), workers)
    play(work, signals)
    complain(work)
    return work.runs()


def _state(work: Sweep, trial: Trial) -> str:
    if trial.folder in work.faults:
        return STOPPED if work.faults[trial.folder] == STOPPED else "failed"
    if trial.done:
        return "done"
    if trial.folder in work.running:
        rounds = trial.folder / "rounds.csv"
        played = regular.data(rounds).count(b"\n") - 2 if rounds.is_file() else 0
        return f"round {max(played, 0)}"
    return "waiting"


def _table(work: Sweep) -> Table:
    shown = Table(box=None, pad_edge=False)
    for name in ("settings", "seed", "state"):
        shown.add_column(name, overflow="fold")
    for trial in work.trials:
        shown.add_row(trial.label, str(trial.experiment.run.seed), _state(work, trial))
    return shown


def _tell(work: Sweep, announced: set[Path]) -> None:
    """A line for each trial that has ended since the last call."""
    for trial in work.trials:
        ended = trial.done or trial.folder in work.faults
        if ended and trial.folder not in announced:
            announced.add(trial.folder)
            seed = trial.experiment.run.seed
            typer.echo(f"{trial.label} seed {seed}: {_state(work, trial)}")

"""airfeel run."""

import logging
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, cast

import typer

from airfeel.cli.options import LOUDNESS, DataDir, Set, Source, overrides
from airfeel.runs.signals import Interrupted, Signals
from airfeel.settings.load import load
from airfeel.sweeps.expand import run_name

if TYPE_CHECKING:
    from airfeel.runs.progress import Display
    from airfeel.runs.runner import Watcher


def run(
    source: Source,
    set_: Set = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all random numbers.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; runs/NAME-seedS if left out.")
    ] = None,
    data_dir: DataDir = None,
    tensorboard: Annotated[
        bool, typer.Option(help="Also write event files for TensorBoard into the folder.")
    ] = False,
) -> None:
    """Run one experiment."""
    experiment = load(source, set_ or (), **overrides(seed, data_dir))
    from airfeel.runs import runner
    from airfeel.runs.loggers import TensorBoard

    folder = out or _free(
        Path("runs") / f"{run_name(source, experiment)}-seed{experiment.run.seed}"
    )
    with stopping(f"airfeel resume {shlex.quote(str(folder))}") as signals, _backend_shown():
        watchers: list[Watcher] = [*displays()]
        if tensorboard:
            watchers.append(TensorBoard(folder / "tensorboard"))
        runner.run(experiment, folder, watchers, signals=signals)
    typer.echo(f"results in {folder}")


def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of an unfinished run.")],
    allow_other_backend: Annotated[
        bool,
        typer.Option(
            "--allow-other-backend",
            help="Go on although another backend, kernel or CPU computed the rounds before: last "
            "digits change, and summary.json says so.",
        ),
    ] = False,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust",
            help="Import module:factory although it is not known that you began this run with "
            "the files that are here.",
        ),
    ] = False,
) -> None:
    """Go on with a run that was stopped, killed or cut off.

    The result is the very one that the run would have had uninterrupted.
    """
    from airfeel.runs import runner

    with stopping(f"airfeel resume {shlex.quote(str(folder))}") as signals, _backend_shown():
        runner.resume(
            folder,
            displays(),
            signals=signals,
            allow_other_backend=allow_other_backend,
            trust=trust,
        )
    typer.echo(f"results in {folder}")


@contextmanager
def _backend_shown() -> Iterator[None]:
    """The display of one run says which backend trains: no second notice of that."""
    notices = logging.getLogger("airfeel.backend")
    notices.disabled = True
    try:
        yield
    finally:
        notices.disabled = False


@contextmanager
def stopping(command: str) -> Iterator[Signals]:
    """Ctrl-C, SIGTERM or SIGHUP ends a run after its round, saved, and says how to go on."""
    with Signals() as signals:
        try:
            yield signals
        except Interrupted as stop:
            typer.echo(f"stopped by {stop} and saved; go on with: {command}", err=True)
            raise typer.Exit(128 + stop.number) from None
        except OSError as error:
            typer.echo(f"airfeel: stopped, {error}; go on with: {command}", err=True)
            raise typer.Exit(1) from None


def displays(label: str = "", *, live: bool | None = None) -> "list[Display]":
    """What shows a run as it goes by: on the terminal, and in the log file if there is one.

    live: False for plain lines on a terminal, too.
    """
    from rich.console import Console

    from airfeel.runs.progress import Display

    loud = LOUDNESS.get()
    plain = False if loud.verbose else live  # a line for each round is no live line
    console = Console(quiet=loud.quiet, force_terminal=plain)
    shown = [Display(console, label, each_round=loud.verbose)]
    if loud.log:
        log = Console(file=cast(IO[str], loud), width=200)
        shown.append(Display(log, label, each_round=True))
    return shown


def _free(folder: Path) -> Path:
    """The folder, or the first of folder-2, folder-3, … that does not exist yet."""
    number, free = 1, folder
    while free.exists():
        number += 1
        free = folder.with_name(f"{folder.name}-{number}")
    return free

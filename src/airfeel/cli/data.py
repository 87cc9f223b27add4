"""`airfeel data`: fetch, add and list data sets."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Bars

from airfeel.cli.options import Set, Source, overrides
from airfeel.data import files
from airfeel.data.download import Progress
from airfeel.data.sources import SOURCES
from airfeel.errors import BadInput, reason

app = typer.Typer(
    help="Get and inspect data sets.",
    epilog="Sets are looked for in --data-dir, then $AIRFEEL_DATA, then ~/.cache/airfeel/data.",
    no_args_is_help=True,
)

_Name = Annotated[
    str,
    typer.Argument(help=f"Data set: {' or '.join(SOURCES)}.", autocompletion=lambda: list(SOURCES)),
]
_DataDir = Annotated[
    Path | None,
    typer.Option(help="Folder of data sets (else $AIRFEEL_DATA, else the cache)."),
]


@app.command()
def fetch(name: _Name, data_dir: _DataDir = None) -> None:
    """Download a data set from its official address, and verify it.

    A set that is already there is left alone. A broken download resumes when you run this again.
    """
    with _bars() as progress:
        folder = files.fetch(name, data_dir, progress=progress)
    typer.echo(f"{name}: verified, in {folder}")


@app.command()
def add(
    name: _Name,
    path: Annotated[Path, typer.Argument(help="Folder or tar archive that holds its files.")],
    data_dir: _DataDir = None,
) -> None:
    """Copy a data set from local files, and verify it.

    CIFAR-10: cifar-10-binary.tar.gz, cifar-10-python.tar.gz, or what one of them extracts to.

    Fashion-MNIST: a folder with the four files, gzipped or not.
    """
    typer.echo(f"{name}: verified, in {files.add(name, path, data_dir)}")


@app.command()
def show(
    source: Source,
    set_: Set = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the partition.")] = None,
    data_dir: _DataDir = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the classes of each device (.png, .pdf, .svg).")
    ] = None,
) -> None:
    """Show which classes each device holds, as a run of these settings deals them."""
    from airfeel.settings.load import load

    e = load(source, set_ or (), **overrides(seed, data_dir))
    from airfeel.analysis.tables import Sheet
    from airfeel.analysis.tables import show as print_sheet
    from airfeel.cli.shares_shown import class_counts, draw

    counts = class_counts(e)
    head = ["device", *(f"class {label}" for label in range(counts.shape[1])), "all"]
    rows = [[str(n), *map(str, row), str(row.sum())] for n, row in enumerate(counts)]
    print_sheet(Console(), Sheet(head, rows))
    if plot:
        try:
            draw(counts, plot)
        except (OSError, ValueError) as error:
            raise BadInput(f"--plot {plot}: cannot be written ({reason(error)})") from error
        typer.echo(f"picture in {plot}")


@app.command("list")
def list_(data_dir: _DataDir = None) -> None:
    """List the data sets, and verify those that are found."""
    rows = files.status(data_dir)
    line = "{:14}{:10}{:>8}{:>10}  {}"
    typer.echo(line.format("name", "state", "samples", "size", "where"))
    typer.echo(line.format("digits", "found", 1797, "", "built in"))
    typer.echo(line.format("synthetic", "found", "any", "", "built in"))
    for row in rows:
        size = f"{row.size / 1e6:.1f} MB" if row.where else ""
        where = row.where or f"get it with: airfeel data fetch {row.name}"
        typer.echo(line.format(row.name, row.state, row.samples, size, str(where)))
    for row in rows:
        if row.note:
            typer.echo(row.note, err=True)


@contextmanager
def _bars() -> Iterator[Progress]:
    """A progress bar for each file on a terminal; elsewhere a line as each begins."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Bars(*columns, console=console, disable=not console.is_terminal) as bars:

        def progress(file: str, have: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = bars.add_task(file, total=total)
                if not console.is_terminal:
                    size = f"{total / 1e6:.1f} MB" if total else "size unknown"
                    typer.echo(f"downloading {file} ({size})", err=True)
            bars.update(tasks[file], completed=have, total=total)

        yield progress

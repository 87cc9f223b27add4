"""airfeel report."""

from pathlib import Path
from typing import Annotated

import typer

from airfeel.experiment.report.runs import load
from airfeel.experiment.report.summary import markdown
from airfeel.experiment.report.write import beside, write


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or folders that hold some.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the report; next to the runs if left out.")
    ] = None,
    format: Annotated[
        list[str] | None,
        typer.Option(help="html (a page), or pdf, svg, png, pgf (figures); may be repeated."),
    ] = None,
    open: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Report on runs from their stored rows: a page, figures for a paper, and tables."""
    groups, spare = load(runs)
    formats = [name for text in format or ["html"] for name in text.split(",")]
    paths = write(groups, out or beside(runs), formats, spare)
    typer.echo(markdown(groups))
    for run in spare:
        typer.echo(f"left out, since another run has the same settings and seed: {run.folder}")
    for path in paths:
        typer.echo(f"wrote {path}")
    if open and "html" in formats:
        typer.launch(str(paths[0].absolute()))

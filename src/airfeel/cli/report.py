"""airfeel report."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from airfeel.analysis.criterion import parse_judge
from airfeel.cli.options import JUDGES, Color, Label, X, Y
from airfeel.cli.outcome import chosen, draw, names, renamed, tell
from airfeel.reports.maps import resolved
from airfeel.reports.runs import load
from airfeel.reports.summary import markdown
from airfeel.reports.write import beside, write


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or folders that hold some.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the report; next to the runs if left out.")
    ] = None,
    format: Annotated[
        list[str] | None,
        typer.Option(help="html (a page), or pdf, svg, png, pgf (figures); may be repeated."),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT", help=f"{JUDGES} Left out: blocks; final with --x, as in a sweep."
        ),
    ] = None,
    label: Label = None,
    x: X = None,
    y: Y = None,
    color: Color = None,
    open: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Report on runs from their stored rows: a page, figures for a paper, and tables."""
    by = parse_judge(judge or ("blocks" if x is None else "final"))
    labels, console = names(label), Console()
    axis = chosen(x, y, color, labels)
    groups, spare = load(runs)
    groups = renamed(groups, labels)
    if axis is not None:
        resolved(axis, [own[0].experiment for own in groups.values()])  # before anything is written
    formats = [name for text in format or ["html"] for name in text.split(",")]
    paths = write(groups, out or beside(runs), formats, spare, by)
    if console.is_terminal:
        tell(groups, by)
    else:
        typer.echo(markdown(groups, by))
    for run in spare:
        typer.echo(f"left out, since another run has the same settings and seed: {run.folder}")
    for path in paths:
        typer.echo(f"wrote {path}")
    draw(groups, by, axis, out or beside(runs), formats)
    if open and "html" in formats:
        typer.launch(str(paths[0].absolute()))

"""airfeel watch."""

from pathlib import Path
from typing import Annotated

import typer

from airfeel.cli.options import JudgeBy
from airfeel.errors import BadInput


def watch(
    places: Annotated[list[Path], typer.Argument(help="Folders of runs, or that will hold some.")],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on this machine; 0 for any that is free.")
    ] = 0,
    judge: JudgeBy = "blocks",
    open: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Show runs in a browser while they go on: the report page, kept up to date.

    It is served to this machine alone, at an address that nobody can guess. Runs are only read.
    """
    for place in places:
        if not place.is_dir():
            raise BadInput(f"{place}: must be a folder")
    from airfeel.analysis.criterion import parse_judge
    from airfeel.reports.live import Watched
    from airfeel.reports.serve import Server

    try:
        server = Server(Watched(places, parse_judge(judge)), port)
    except OSError as error:
        raise BadInput(f"--port {port}: cannot be used ({error.strerror or error})") from error
    typer.echo(f"watching at {server.address} (Ctrl-C ends)")
    if open:
        typer.launch(server.address)
    try:
        server.serve()
    except KeyboardInterrupt:
        typer.echo("no longer watching; the runs go on")

"""The command line: thin, over the library."""

import sys
import warnings
from io import TextIOWrapper
from typing import NoReturn

import typer

from airfeel.cli import (
    allocate,
    compare,
    config,
    data,
    league,
    listing,
    report,
    reproduce,
    run,
    sweep,
    theory,
)
from airfeel.errors import QUOTED, BadInput, reason
from airfeel.experiment.store import VERSION

app = typer.Typer(
    name="airfeel",
    help="Over-the-air federated edge learning: train, compare and account for every slot.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    add_completion=False,
)
app.command("run")(run.run)
app.command("resume")(run.resume)
app.command("compare")(compare.compare)
app.command("report")(report.report)
app.command("sweep")(sweep.sweep)
app.command("league")(league.league)
app.command("allocate")(allocate.allocate)
app.command("theory")(theory.theory)
app.command("list")(listing.listing)
app.add_typer(config.app, name="config")
app.add_typer(data.app, name="data")
app.add_typer(reproduce.app, name="reproduce")


def _version(asked: bool) -> bool:
    if asked:
        typer.echo(f"airfeel {VERSION}")
        raise typer.Exit
    return asked


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_version, is_eager=True
    ),
) -> None:
    pass


def _say(message: Warning | str, *_: object, **__: object) -> None:
    print(f"airfeel: warning: {message}", file=sys.stderr)


def _fail(message: str) -> NoReturn:
    print(f"airfeel: {message}", file=sys.stderr)
    sys.exit(2)


def main() -> None:
    """Entry point: bad input is one line on stderr and exit code 2."""
    sys.path.insert(0, "")  # a user's module:factory may lie in the current folder
    warnings.showwarning = _say
    for stream in (sys.stdout, sys.stderr):  # names of files need not be UTF-8
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except BadInput as error:
        _fail(str(error))
    except MemoryError as error:
        _fail(f"more memory is needed than there is ({reason(error)})")
    except OSError as error:
        _fail(reason(error, 2 * QUOTED))
    except KeyboardInterrupt:
        print("airfeel: interrupted", file=sys.stderr)
        sys.exit(130)

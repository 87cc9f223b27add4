"""The command line: thin, over the library; a command's own imports wait until it is called."""

import importlib
import sys
import traceback
import warnings
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from airfeel.cli.options import LOUDNESS, Loudness
from airfeel.errors import QUOTED, BadInput, ComponentError, reason

# Where each command lies, as module:name in this folder, and the line that --help has of it.
COMMANDS = {
    "run": ("run:run", "Run one experiment."),
    "resume": ("run:resume", "Go on with a run that was stopped, killed or cut off."),
    "compare": (
        "compare:compare",
        "Compare schemes under the same seeds and sky, at equal resource blocks or as --judge "
        "says.",
    ),
    "report": (
        "report:report",
        "Report on runs from their stored rows: a page, figures for a paper, and tables.",
    ),
    "watch": (
        "watch:watch",
        "Show runs in a browser while they go on: the report page, kept up to date.",
    ),
    "sweep": ("sweep:sweep", "Run every combination of some settings and seeds, and compare."),
    "league": (
        "league:league",
        "Let many schemes play on the same sky, with the same slots and power, and rank them.",
    ),
    "allocate": (
        "allocate:allocate",
        "Share the sub-channels of one sky among its devices, by several allocators.",
    ),
    "theory": (
        "theory:theory",
        "Print Lemma 1's γ and Theorem 1's bound, and how they move with K, q, σ0 and N.",
    ),
    "waveform": (
        "waveform:waveform",
        "Send the air as OFDM samples and judge the symbol-level model by them, W1 to W8.",
    ),
    "list": ("listing:listing", "List every part that settings can name, and the presets."),
    "config": ("config:app", "Show settings."),
    "data": ("data:app", "Get and inspect data sets."),
    "reproduce": (
        "reproduce:app",
        "The paper's experiments: its claims judged, its costs computed, its figures made.",
    ),
}


class _Settable(TyperCommand):
    """A command that knows settings: one that is given as an option is told how to be given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As ever; click's error for an unknown option names it."""
        try:
            return super().parse_args(ctx, args)
        except Exception as error:
            option = getattr(error, "option_name", "")
            keys = _settings(option.lstrip("-").replace("-", "_")) if self._sets() else []
            if not keys:
                raise
            ways = " or ".join(f"--set {key}=…" for key in keys)
            raise BadInput(f"{option}: is a setting, not an option; must be {ways}") from None

    def _sets(self) -> bool:
        return any("--set" in param.opts for param in self.params)


def _settings(name: str) -> list[str]:
    """All settings of that name, with their sections."""
    from airfeel.settings.config import Experiment

    sections = Experiment.model_fields.items()
    return [f"{s}.{name}" for s, f in sections if name in type(f.default).model_fields]


class _Late(TyperGroup):
    """Commands by their names and lines; one that is called is imported then."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        for name, (_, about) in COMMANDS.items():
            self.add_command(TyperCommand(name, help=about))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Contexts and commands are click's, which newer versions of typer bring as their own."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, find(name) if name in COMMANDS else command, rest


def find(name: str) -> Any:
    """A command of this table, with its options."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    found = getattr(importlib.import_module(f"airfeel.cli.{module}"), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(name, cls=_Settable)(found)
        found = alone
    command = typer.main.get_command(found)
    command.name = name
    return command


app = typer.Typer(
    name="airfeel",
    cls=_Late,
    help="Over-the-air federated edge learning: train, compare and account for every slot.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    add_completion=True,
)


def _version(asked: bool) -> bool:
    if asked:
        from airfeel.version import VERSION

        typer.echo(f"airfeel {VERSION}")
        raise typer.Exit
    return asked


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_version, is_eager=True
    ),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="No progress of runs; results only."),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="A line for each round of a run."),
    log_file: Annotated[
        Path | None, typer.Option(help="Append a line for each round and each warning to a file.")
    ] = None,
) -> None:
    if log_file:
        try:
            log_file.open("a", encoding="utf-8").close()
        except OSError as error:
            raise BadInput(f"--log-file {log_file}: cannot be written ({reason(error)})") from None
    LOUDNESS.set(Loudness(quiet, verbose, log_file))


def _say(message: Warning | str, *_: object, **__: object) -> None:
    print(f"airfeel: warning: {message}", file=sys.stderr)
    LOUDNESS.get().write(f"warning: {message}\n")


def _fail(message: str) -> NoReturn:
    print(f"airfeel: {message}", file=sys.stderr)
    sys.exit(2)


def main() -> None:
    """Entry point: bad input is one line on stderr and exit code 2."""
    warnings.showwarning = _say
    for stream in (sys.stdout, sys.stderr):  # names of files need not be UTF-8
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except BadInput as error:
        if isinstance(error, ComponentError) and LOUDNESS.get().verbose:
            traceback.print_exception(error.__cause__)
        _fail(str(error))
    except MemoryError as error:
        _fail(f"more memory is needed than there is ({reason(error)})")
    except OSError as error:
        _fail(reason(error, 2 * QUOTED))
    except KeyboardInterrupt:
        print("airfeel: interrupted", file=sys.stderr)
        sys.exit(130)

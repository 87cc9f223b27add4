"""airfeel league."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from airfeel.cli.compare import parse_seeds
from airfeel.cli.options import LOUDNESS
from airfeel.cli.run import stopping
from airfeel.cli.trials import follower
from airfeel.sweeps.benchmark.equal import elsewhere
from airfeel.sweeps.benchmark.play import play
from airfeel.sweeps.benchmark.rules import names, read_league
from airfeel.sweeps.benchmark.standings import Place, percent, standings, words
from airfeel.sweeps.benchmark.tuned import read_tuning, told_how
from airfeel.sweeps.benchmark.write import behind, write
from airfeel.sweeps.sweep import Sweep
from airfeel.types import BadInput


def league(
    source: Annotated[str, typer.Argument(help=f"A league ({', '.join(names())}) or a TOML file.")],
    schemes: Annotated[
        str | None, typer.Option(help="Only these contenders, by their labels: backlog,TCS-H.")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="In place of the file's: 0..4 or 0,3,7.")
    ] = None,
    slots: Annotated[
        str | None, typer.Option(help="Budgets in place of the file's: 10000,30000.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for all of it; runs/league-NAME if left out.")
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Runs at a time; 0 for one per core.")] = 0,
    tuned: Annotated[
        Path | None,
        typer.Option(help="A tuning.csv of this league: play with what it chose, tune nothing."),
    ] = None,
) -> None:
    """Let many schemes play on the same sky, with the same slots and power, and rank them.

    Each contender first tries the settings that the file lists, at most as many as any other may,
    on other seeds and on training samples that are held out; then all seeds of the table are run
    with the best of them, on all training samples, and evaluated on the test set.

    Finished runs are reused: a league that was stopped goes on where it was.
    """
    console = Console()
    rules = read_league(source).narrowed(
        schemes.split(",") if schemes else None,
        parse_seeds(seeds) if seeds else None,
        _budgets(slots),
    )
    known = read_tuning(rules, tuned) if tuned else None
    target = out or Path("runs") / f"league-{rules.name}"
    told = _Told()
    with stopping("the same command") as signals:
        tried, played = play(rules, target, signals, told, workers, known)
    table = standings(played)
    for budget, places in table.items():
        console.print(_shown(budget, places))
    for sentence in (*words(table), *elsewhere(played), told_how(tried)):
        console.print(sentence, highlight=False, soft_wrap=True)
    try:
        write(rules, tried, played, target)
    except BadInput as error:  # no figure without matplotlib; all else is written
        typer.echo(f"no figure: {error}")
    typer.echo(f"table, runs and tuning in {target}")


def _budgets(text: str | None) -> list[int] | None:
    if text is None:
        return None
    parts = text.split(",")
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise BadInput(f"--slots {text!r}: must be whole numbers such as 10000,30000")
    return [int(part) for part in parts]


class _Told:
    """A line whenever a tenth of the runs has been done; with -v, and in a log file, each round."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._console = Console(quiet=LOUDNESS.get().quiet)
        self._said: tuple[str, int] = ("", -1)
        self._each: dict[str, Callable[[Sweep], None]] = {}
        self._begun: dict[str, tuple[float, int]] = {}  # when, and with how many runs done before

    def __call__(self, what: str, sweep: Sweep) -> None:
        total = len(sweep.trials)
        self._each.setdefault(what, follower(sweep.trials))(sweep)
        done = sum(trial.done for trial in sweep.trials)
        step = 10 * done // max(total, 1)
        if total and (what, step) != self._said:
            self._said = (what, step)
            text = f"{what}: {done} of {total} runs{self._to_go(what, done, total)}"
            self._console.print(text, highlight=False)

    def _to_go(self, what: str, done: int, total: int) -> str:
        """How long the rest would take at the pace so far, where that is some minutes."""
        now = self._clock()
        begun, before = self._begun.setdefault(what, (now, done))
        minutes = (now - begun) / 60 / max(done - before, 1) * (total - done)
        return f", about {minutes:.0f} min to go" if minutes >= 1 else ""


def _shown(slots: int, places: list[Place]) -> Table:
    shown = Table(
        title=f"{slots:,} slots", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
    )
    shown.add_column("contender", no_wrap=True)
    for name in ("accuracy %", "behind [points]", "p", "rounds", "joules"):
        shown.add_column(name, justify="right", no_wrap=True)
    for place in places:
        shown.add_row(
            place.label,
            percent(place),
            behind(place),
            "" if place.p != place.p else f"{place.p:.2g}",
            f"{place.rounds:.0f}",
            f"{place.joules:.3g}",
        )
    return shown

"""airfeel compare."""

import math
import re
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from airfeel.cli.run import DataDir, Set, overrides, stopping
from airfeel.experiment.compare import (
    Line,
    lines,
    percent,
    run_all,
    shared_blocks,
    starving,
    verdict,
)
from airfeel.experiment.config import Experiment
from airfeel.experiment.load import load
from airfeel.experiment.progress import Display
from airfeel.experiment.report.write import write
from airfeel.experiment.runner import Run
from airfeel.types import BadInput

_DEFAULT = "digits-tcs-h"


def compare(
    sources: Annotated[
        list[str] | None, typer.Argument(help=f"Presets or TOML files; {_DEFAULT} if left out.")
    ] = None,
    schemes: Annotated[
        str | None,
        typer.Option(help="Schemes to put into each source, such as tcs-h,tcs-d,top-k,fedavg."),
    ] = None,
    seeds: Annotated[str, typer.Option(help="Such as 0..4 (five seeds) or 0,3,7.")] = "0",
    set_: Set = None,
    out: Annotated[Path, typer.Option(help="Folder for the runs.")] = Path("runs/compare"),
    fresh: Annotated[bool, typer.Option(help="Delete what is there and run again.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Compare schemes under the same seeds and sky, at equal resource blocks.

    Finished runs with the same settings are reused, unfinished ones resumed.
    """
    console = Console()
    names: list[str | None] = [s for s in (schemes or "").split(",") if s]
    experiments = [
        (_label(source, name, sources), _load(source, name, seed, set_, data_dir))
        for source in sources or [_DEFAULT]
        for name in names or [None]
        for seed in parse_seeds(seeds)
    ]
    with stopping("the same command") as signals:
        groups = run_all(
            experiments,
            out,
            lambda label, e: [Display(console, f"{label} seed {e.run.seed}")],
            fresh,
            signals,
        )
    blocks = shared_blocks(groups)
    table = lines(groups)
    console.print(render(table, blocks))
    console.print(" ".join([verdict(table, blocks), *starving(groups)]), highlight=False)
    page(groups, out)


def page(groups: dict[str, list[Run]], out: Path) -> None:
    """Write the report beside the runs, where what it needs is installed."""
    try:
        paths = write(groups, out)
    except BadInput as error:
        typer.echo(f"no report page: {error}")
    else:
        typer.echo(f"report in {paths[0]}")


def _load(
    source: str, scheme: str | None, seed: int, set_: list[str] | None, data_dir: Path | None
) -> Experiment:
    more = overrides(seed, data_dir) | ({"scheme__name": scheme} if scheme else {})
    return load(source, set_ or (), **more)


def _label(source: str, scheme: str | None, sources: list[str] | None) -> str:
    if scheme is None:
        return Path(source).stem
    return scheme if len(sources or [_DEFAULT]) == 1 else f"{Path(source).stem}/{scheme}"


def parse_seeds(text: str) -> list[int]:
    """`0..4` or `0,3,7` as a list of different seeds."""
    if span := re.fullmatch(r"(\d+)\.\.(\d+)", text):
        seeds = list(range(int(span[1]), int(span[2]) + 1))
    elif re.fullmatch(r"\d+(,\d+)*", text):
        seeds = [int(part) for part in text.split(",")]
    else:
        seeds = []
    if not seeds or len(set(seeds)) < len(seeds):
        raise BadInput(f"--seeds {text!r}: must be a range such as 0..4 or a list such as 0,3,7")
    return seeds


def render(table: list[Line], blocks: float) -> Table:
    """The lines as a table for the terminal."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    shown.add_column("scheme", no_wrap=True)
    at = "accuracy %" if math.isnan(blocks) else f"accuracy %\nat {blocks:,.0f}\nblocks"
    for name in (at, "final\naccuracy %", "rounds", "blocks\nused", "blocks\nper round"):
        shown.add_column(name, justify="right", no_wrap=True)
    shown.add_column("devices\nheard", justify="right", no_wrap=True)
    for line in table:
        shown.add_row(
            line.label + (" (free)" if line.free else ""),
            percent(line.accuracy, line.accuracy_spread),
            percent(line.final, line.final_spread),
            f"{line.rounds:.0f}",
            f"{line.blocks:,.0f}",
            f"{line.blocks_per_round:,.0f}",
            f"{line.scheduled:.0%}",
        )
    return shown

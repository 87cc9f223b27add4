"""airfeel sweep."""

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from airfeel.cli.outcome import (
    Color,
    JudgeBy,
    Label,
    X,
    Y,
    chosen,
    draw,
    names,
    page,
    renamed,
    tell,
)
from airfeel.cli.run import stopping
from airfeel.experiment.judge import parse_judge
from airfeel.experiment.pool import Trial
from airfeel.experiment.sweep import Sweep, read_sweep
from airfeel.experiment.sweep_ray import nodes


class Where(StrEnum):
    """Where a sweep's runs are carried out."""

    local = "local"
    ray = "ray"


def sweep(
    file: Annotated[Path, typer.Argument(help="A sweep: base, seeds, grid and list in TOML.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the runs; runs/NAME if left out.")
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Runs at a time; 0 for one per core.")] = 0,
    engine: Annotated[Where, typer.Option(help="This machine, or a Ray cluster.")] = Where.local,
    address: Annotated[
        str | None,
        typer.Option(help="Ray cluster: auto, host:port or ray://…; left out, one starts here."),
    ] = None,
    num_cpus: Annotated[float, typer.Option(min=0.0, help="CPUs of a run on Ray.")] = 1.0,
    num_gpus: Annotated[float, typer.Option(min=0.0, help="GPUs of a run on Ray.")] = 0.0,
    judge: JudgeBy = "final",
    label: Label = None,
    x: X = None,
    y: Y = None,
    color: Color = None,
) -> None:
    """Run every combination of some settings and seeds, and compare.

    Finished runs are reused, unfinished ones resumed; one that fails does not stop the others.
    """
    console = Console()
    by, labels = parse_judge(judge), names(label)
    axis = chosen(x, y, color, labels)
    target = out or Path("runs") / file.stem
    trials = read_sweep(file, target)
    work = Sweep(trials, workers)
    with stopping("the same command") as signals, ExitStack() as stack:
        if engine is Where.ray:
            cluster = stack.enter_context(nodes(address, num_cpus, num_gpus))
            work = Sweep(trials, workers or cluster.room, cluster.start)
        if console.is_terminal:
            with Live(_table(work), console=console, refresh_per_second=4) as live:
                work.play(signals, lambda s: live.update(_table(s)))
        else:
            announced: set[Path] = set()
            work.play(signals, lambda s: _tell(s, announced))
    groups = work.runs()
    if groups:
        groups = renamed(groups, labels)
        tell(groups, by, console)
        page(groups, target, by)
        draw(groups, by, axis, target, ())
    for folder, fault in work.faults.items():
        typer.echo(f"airfeel: {folder} failed: {fault}", err=True)
    if work.faults:
        raise typer.Exit(1)


def _state(work: Sweep, trial: Trial) -> str:
    if trial.folder in work.faults:
        return "failed"
    if trial.done:
        return "done"
    if trial.folder in work.running:
        rounds = trial.folder / "rounds.csv"
        played = rounds.read_bytes().count(b"\n") - 2 if rounds.exists() else 0
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

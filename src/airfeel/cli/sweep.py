"""airfeel sweep."""

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from airfeel.cli.options import Color, JudgeBy, Label, X, Y
from airfeel.cli.run import stopping
from airfeel.sweeps.forks import warm


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
    if engine is Where.local:
        warm()
    from airfeel.analysis.criterion import parse_judge
    from airfeel.cli.outcome import check, chosen, draw, names, page, renamed, tell
    from airfeel.cli.trials import complain, play
    from airfeel.sweeps.sweep import Sweep, read_sweep
    from airfeel.sweeps.sweep_ray import nodes

    by, labels = parse_judge(judge), names(label)
    axis = chosen(x, y, color, labels)
    target = out or Path("runs") / file.stem
    trials = read_sweep(file, target, by)
    check([(trial.label, trial.experiment) for trial in trials], labels, axis)
    work = Sweep(trials, workers)
    with stopping("the same command") as signals, ExitStack() as stack:
        if engine is Where.ray:
            cluster = stack.enter_context(nodes(address, num_cpus, num_gpus))
            work = Sweep(trials, workers or cluster.room, cluster.start)
        play(work, signals)
    groups = work.runs()
    if groups:
        groups = renamed(groups, labels)
        tell(groups, by)
        page(groups, target, by)
        draw(groups, by, axis, target, ())
    complain(work)

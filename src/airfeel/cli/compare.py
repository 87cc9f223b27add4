"""airfeel compare."""

import re
from pathlib import Path
from typing import Annotated

import typer

from airfeel.cli.options import DataDir, JudgeBy, Label, Set, overrides
from airfeel.cli.run import displays, stopping
from airfeel.errors import BadInput, quote
from airfeel.sweeps.expand import DEFAULT, asked
from airfeel.sweeps.forks import warm

_MOST_SEEDS = 10_000


def compare(
    sources: Annotated[
        list[str] | None, typer.Argument(help=f"Presets or TOML files; {DEFAULT} if left out.")
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
    judge: JudgeBy = "blocks",
    label: Label = None,
    workers: Annotated[
        int, typer.Option(min=0, help="Runs at a time, a core each; 0 for one per core.")
    ] = 1,
) -> None:
    """Compare schemes under the same seeds and sky, at equal resource blocks or as --judge says.

    Finished runs with the same settings are reused, unfinished ones resumed.
    """
    for text in set_ or ():
        if text.partition("=")[0].strip() == "run.seed":
            raise BadInput(f"--set {text}: every run has the seeds of --seeds; name them there")
    experiments = asked(
        sources or (),
        [name for each in (schemes or "").split(",") if (name := each.strip())],
        parse_seeds(seeds),
        set_ or (),
        **overrides(None, data_dir),
    )
    if workers != 1:
        warm()
    from airfeel.analysis.criterion import parse_judge
    from airfeel.cli import outcome, trials  # PyTorch: only once the settings are legal
    from airfeel.sweeps.compare import run_all

    by, labels = parse_judge(judge), outcome.names(label)
    outcome.check(experiments, labels)
    with stopping("the same command") as signals:
        if workers == 1:
            groups = run_all(
                experiments,
                out,
                lambda label, e: displays(f"{label} seed {e.run.seed}"),
                fresh,
                signals,
                by,
            )
        else:
            groups = trials.at_a_time(experiments, out, workers, fresh, signals, by)
    groups = outcome.renamed(groups, labels)
    outcome.tell(groups, by)
    outcome.page(groups, out, by)


def parse_seeds(text: str) -> list[int]:
    """`0..4`, `0,3,7` or both, such as `0..4,9`, as a list of different seeds."""
    seeds: list[int] = []
    for part in text.split(","):
        span = re.fullmatch(r"(\d{1,18})(?:\.\.(\d{1,18}))?", part)
        first, last = (int(span[1]), int(span[2] or span[1])) if span else (1, 0)
        if last < first:
            legal = "a range such as 0..4 or a list such as 0,3,7"
            raise BadInput(f"--seeds {quote(text)}: must be {legal}")
        if last - first >= _MOST_SEEDS:
            raise BadInput(f"--seeds {part}: at most {_MOST_SEEDS:,} seeds at a time")
        seeds += range(first, last + 1)
    for seed in seeds:
        if seeds.count(seed) > 1:
            raise BadInput(f"--seeds {quote(text)}: holds {seed} twice; name each seed once")
    return seeds

"""airfeel compare."""

import re
from pathlib import Path
from typing import Annotated

import typer

from airfeel.cli.options import DataDir, JudgeBy, Label, Set, overrides
from airfeel.cli.run import display, stopping
from airfeel.errors import BadInput, quote
from airfeel.experiment.config import Experiment
from airfeel.experiment.forks import warm
from airfeel.experiment.load import load

_DEFAULT = "digits-tcs-h"
_MOST_SEEDS = 10_000


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
    wanted: list[str | None] = [s for s in (schemes or "").split(",") if s]
    experiments = [
        (_label(source, name, sources), _load(source, name, seed, set_, data_dir))
        for source in sources or [_DEFAULT]
        for name in wanted or [None]
        for seed in parse_seeds(seeds)
    ]
    if workers != 1:
        warm()
    from airfeel.cli import outcome, trials  # PyTorch: only once the settings are legal
    from airfeel.experiment.compare import run_all
    from airfeel.experiment.judge import parse_judge

    by, labels = parse_judge(judge), outcome.names(label)
    with stopping("the same command") as signals:
        if workers == 1:
            groups = run_all(
                experiments,
                out,
                lambda label, e: [display(f"{label} seed {e.run.seed}")],
                fresh,
                signals,
            )
        else:
            groups = trials.at_a_time(experiments, out, workers, fresh, signals)
    groups = outcome.renamed(groups, labels)
    outcome.tell(groups, by)
    outcome.page(groups, out, by)


def _load(
    source: str, scheme: str | None, seed: int, set_: list[str] | None, data_dir: Path | None
) -> Experiment:
    more = overrides(seed, data_dir) | ({"scheme__name": scheme} if scheme else {})
    return load(source, set_ or (), **more)


def _label(source: str, scheme: str | None, sources: list[str] | None) -> str:
    """The source and the scheme, as far as needed; files of one name by their paths."""
    every = sources or [_DEFAULT]
    stem = Path(source).stem
    alike = {other for other in every if Path(other).stem == stem}
    name = stem if len(alike) == 1 else source
    if scheme is None:
        return name
    return scheme if len(every) == 1 else f"{name}/{scheme}"


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

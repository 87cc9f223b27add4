"""airfeel run."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from airfeel.experiment import runner
from airfeel.experiment.load import load
from airfeel.experiment.progress import Display

Source = Annotated[str, typer.Argument(help="A preset (see airfeel list) or a TOML file.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a setting: section.key=value."),
]
DataDir = Annotated[Path | None, typer.Option(help="Folder of the data sets.")]


def run(
    source: Source,
    set_: Set = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all random numbers.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the results; runs/NAME-seedS if left out.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Run one experiment."""
    experiment = load(source, set_ or (), **overrides(seed, data_dir))
    folder = out or _free(Path("runs") / f"{Path(source).stem}-seed{experiment.run.seed}")
    console = Console()
    runner.run(experiment, folder, [Display(console)])
    console.print(f"results in {folder}", highlight=False, soft_wrap=True)


def overrides(seed: int | None, data_dir: Path | None) -> dict[str, int | str]:
    """The settings behind --seed and --data-dir."""
    given: dict[str, int | str | None] = {
        "run__seed": seed,
        "data__dir": str(data_dir) if data_dir else None,
    }
    return {key: value for key, value in given.items() if value is not None}


def _free(folder: Path) -> Path:
    """The folder, or the first of folder-2, folder-3, … that does not exist yet."""
    number, free = 1, folder
    while free.exists():
        number += 1
        free = folder.with_name(f"{folder.name}-{number}")
    return free

"""Options that several commands share; nothing heavy is imported for them."""

from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

JUDGES = (
    "What decides: final (accuracy at the end of each run), blocks, joules or rounds (accuracy at "
    "the most that every run reached), blocks=B, joules=E, rounds=T (accuracy there), or "
    "target=0.9 (resource blocks until that accuracy)."
)
Source = Annotated[str, typer.Argument(help="A preset (see airfeel list) or a TOML file.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a setting: section.key=value."),
]
DataDir = Annotated[Path | None, typer.Option(help="Folder of the data sets.")]
JudgeBy = Annotated[str, typer.Option("--judge", metavar="WHAT", help=JUDGES)]
Label = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OLD=NEW",
        help="Another name for a group or a setting in tables and figures; may be repeated.",
    ),
]
X = Annotated[
    str | None, typer.Option("--x", metavar="SETTING", help="Draw the results over this setting.")
]
Y = Annotated[
    str | None, typer.Option("--y", metavar="SETTING", help="With --x: a heat map over both.")
]
Color = Annotated[
    str | None, typer.Option("--color", metavar="SETTING", help="With --x: a line for each value.")
]


@dataclass(frozen=True)
class Loudness:
    """How much is said while runs go on."""

    quiet: bool = False
    verbose: bool = False
    log: Path | None = None

    def write(self, text: str) -> int:
        """Append to the log file, if there is one; it is open no longer than that."""
        if self.log:
            with self.log.open("a", encoding="utf-8") as file:
                file.write(text)
        return len(text)

    def flush(self) -> None:
        """Nothing waits."""


_USUAL = Loudness()
LOUDNESS: ContextVar[Loudness] = ContextVar("loudness", default=_USUAL)  # of this command


def overrides(seed: int | None, data_dir: Path | None) -> dict[str, int | str]:
    """The settings behind --seed and --data-dir."""
    given: dict[str, int | str | None] = {
        "run__seed": seed,
        "data__dir": str(data_dir) if data_dir else None,
    }
    return {key: value for key, value in given.items() if value is not None}

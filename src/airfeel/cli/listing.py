"""airfeel list."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from airfeel.experiment.load import presets
from airfeel.learn.datasets import DATASETS
from airfeel.learn.models import MODELS
from airfeel.schemes import SCHEMES


def listing() -> None:
    """List schemes, data sets, models and presets."""
    console = Console()
    about = {
        "schemes": {name: _first_line(part) for name, part in SCHEMES.items()},
        "data sets": DATASETS,
        "models": {name: _first_line(part) for name, part in MODELS.items()},
        "presets": _presets(),
    }
    for title, entries in about.items():
        table = Table(title=title, title_justify="left", box=None, show_header=False)
        for name, text in entries.items():
            table.add_row(escape(name), escape(text))
        console.print(table)
        console.print()


def _first_line(part: object) -> str:
    return (part.__doc__ or "").strip().splitlines()[0]


def _presets() -> dict[str, str]:
    """Presets that differ in the scheme only, on one row."""
    rows: dict[str, list[str]] = {}
    for name, text in presets().items():
        rows.setdefault(text, []).append(name)
    return {"\n".join(names): text for text, names in rows.items()}

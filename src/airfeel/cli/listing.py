"""airfeel list."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from airfeel.catalogues import ALLOCATORS, MODELS, SCHEMES
from airfeel.experiment.load import presets
from airfeel.data.datasets import DATASETS

_SCHEDULERS = {
    "power": "everyone trains; who can afford the air is scheduled (tcs-h)",
    "random": "scheme.scheduled devices at random (tcs-d, top-k)",
    "round-robin": "scheme.scheduled devices in turn",
    "best-channel": "the scheme.scheduled devices that could send most",
    "proportional-fair": "the same over the share of late rounds in which they were heard",
    "thrifty": "the scheme's own, less slow devices while more are heard per slot",
    "all": "everyone, whatever the air costs (for theory)",
}


def listing() -> None:
    """List schemes, schedulers, allocators, data sets, models and presets."""
    console = Console()
    about = {
        "schemes": {name: e.about for name, e in SCHEMES.items()},
        "schedulers": _SCHEDULERS,
        "allocators": {name: e.about for name, e in ALLOCATORS.items()},
        "data sets": DATASETS,
        "models": {name: e.about for name, e in MODELS.items()},
        "presets": _presets(),
    }
    for title, entries in about.items():
        table = Table(title=title, title_justify="left", box=None, show_header=False)
        for name, text in entries.items():
            table.add_row(escape(name), escape(text))
        console.print(table)
        console.print()


def _presets() -> dict[str, str]:
    """Presets that differ in the scheme only, on one row."""
    rows: dict[str, list[str]] = {}
    for name, text in presets().items():
        rows.setdefault(text, []).append(name)
    return {"\n".join(names): text for text, names in rows.items()}

"""airfeel list."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from airfeel.catalogues import CATALOGUES, SCHEDULES
from airfeel.settings.preset_names import presets


def listing() -> None:
    """List every part that settings can name, and the presets."""
    console = Console()
    for title, entries in _sections().items():
        table = Table(title=title, title_justify="left", box=None, show_header=False)
        for name, text in entries.items():
            table.add_row(escape(name), escape(text))
        console.print(table)
        console.print()


def _sections() -> dict[str, dict[str, str]]:
    """What there is, by kind and the setting that names it."""
    parts = {
        f"{each.kind} · {each.key}": {name: entry.about for name, entry in each.items()}
        for each in CATALOGUES
    }
    return parts | {"schedules (who speaks) · scheme.schedule": SCHEDULES, "presets": _presets()}


def _presets() -> dict[str, str]:
    """Presets that differ in the scheme only, on one row."""
    rows: dict[str, list[str]] = {}
    for name, text in presets().items():
        rows.setdefault(text, []).append(name)
    return {"\n".join(names): text for text, names in rows.items()}

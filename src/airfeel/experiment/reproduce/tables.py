"""A table for the terminal, as Markdown and as CSV."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.markup import escape
from rich.table import Table

from airfeel.experiment import atomic
from airfeel.types import BadInput


@dataclass(frozen=True)
class Sheet:
    """Text in rows and columns, and notes below."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def rich(self) -> Table:
        """For the terminal: long cells are folded."""
        shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
        for name in self.head:
            shown.add_column(escape(name), overflow="fold")
        for row in self.rows:
            shown.add_row(*map(escape, row))
        return shown

    def markdown(self) -> str:
        """A table of pipes, and the notes as a list."""
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        table = [f"| {' | '.join(c.replace('|', chr(92) + '|') for c in row)} |" for row in lines]
        notes = [f"- {note}" for note in self.notes]
        return "\n".join([*table, *([""] if notes else []), *notes]) + "\n"

    def csv(self) -> str:
        """The rows alone."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.head, *self.rows])
        return text.getvalue()


def write(sheets: dict[str, Sheet], out: Path, title: str, name: str) -> list[Path]:
    """All sheets as one name.md under a title, and each as a CSV file of its own."""
    parts = [f"# {title}\n"]
    for heading, sheet in sheets.items():
        parts.append((f"## {heading}\n\n" if heading else "") + sheet.markdown())
    texts = {f"{name}.md": "\n".join(parts)}
    for i, sheet in enumerate(sheets.values()):
        texts[f"{name}{f'-{i + 1}' if i else ''}.csv"] = sheet.csv()
    try:
        out.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            atomic.write(out / file, text.encode())
    except OSError as error:
        raise BadInput(f"--out {out}: cannot be written ({error.strerror or error})") from error
    return [out / file for file in texts]

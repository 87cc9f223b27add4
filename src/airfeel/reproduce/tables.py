"""Sheets as files: one page of Markdown, and a CSV file of each."""

from pathlib import Path

from airfeel.analysis.tables import Sheet
from airfeel.storage import atomic
from airfeel.types import BadInput


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

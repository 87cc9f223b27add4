"""Writing a report into a folder."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from airfeel.analysis.criterion import Judge
from airfeel.analysis.groups import Groups
from airfeel.reports.data import comparison
from airfeel.reports.figures import FORMATS, save_figures
from airfeel.reports.page import page
from airfeel.reports.summary import latex, markdown
from airfeel.reports.tidy import tidy
from airfeel.storage import atomic
from airfeel.storage.run import Run
from airfeel.types import BadInput


def write(
    groups: Groups,
    out: Path,
    formats: Sequence[str] = ("html",),
    spare: Sequence[Run] = (),
    judge: Judge | None = None,
) -> list[Path]:
    """Write report.html, or figures and table.tex; and summary.json, summary.md and runs.csv.

    Args:
        groups: runs by label, such as `airfeel.reports.runs.load` or `run_all` give.
        out: the folder to write into; it is made if it is not there.
        formats: html for the page; pdf, svg, png or pgf for figures.
        spare: runs that were left out, to be named.
        judge: what decides who is ahead; left out, accuracy at equally many resource blocks.
    """
    for name in formats:
        if name not in ("html", *FORMATS):
            raise BadInput(f"--format {name}: must be html, {', '.join(FORMATS)}")
    if (out / "rounds.csv").exists():
        raise BadInput(f"--out {out}: is a run's own folder; name another one")
    texts = {
        "summary.json": json.dumps(comparison(groups, spare, judge), indent=2, allow_nan=False)
        + "\n",
        "summary.md": markdown(groups, judge),
        "runs.csv": tidy(groups, judge),
    }
    figures = [name for name in formats if name != "html"]
    if figures:
        texts["table.tex"] = latex(groups, judge)
    if "html" in formats:
        texts["report.html"] = page(groups, spare, judge)
    try:
        out.mkdir(parents=True, exist_ok=True)
        paths = [
            atomic.write(out / name, text.encode(errors="backslashreplace"), durable=False)
            for name, text in texts.items()  # names of folders need not be UTF-8
        ]
        return paths[::-1] + save_figures(groups, out, figures, judge)
    except OSError as error:
        raise BadInput(f"--out {out}: cannot be written ({error.strerror or error})") from error


def beside(places: Sequence[Path]) -> Path:
    """Where a report of some folders goes by default: next to the runs, not into a run."""
    if len(places) == 1:
        return places[0] / "report" if (places[0] / "rounds.csv").exists() else places[0]
    common = Path(os.path.commonpath([place.absolute() for place in places]))
    return common / "report" if (common / "rounds.csv").exists() else common

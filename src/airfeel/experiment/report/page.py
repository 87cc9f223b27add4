"""One HTML file that needs nothing else: styles, scripts, Plotly and the data are in it."""

import html
import json
from collections.abc import Iterable, Sequence
from importlib import resources
from string import Template

from airfeel.experiment.groups import Groups
from airfeel.experiment.judge import Judge
from airfeel.experiment.optional import needed
from airfeel.experiment.report import Json
from airfeel.experiment.report.arithmetic import computed_by
from airfeel.experiment.report.data import page_data, run_facts
from airfeel.experiment.report.runs import lacks
from airfeel.experiment.report.summary import said, whole_sheet
from airfeel.experiment.runner import Run
from airfeel.experiment.standing import Line, lines

_SCRIPTS = ("charts.js", "budget.js", "inspector.js")


def page(groups: Groups, spare: Sequence[Run] = (), judge: Judge | None = None) -> str:
    """The report of some groups of runs as an HTML document."""
    folder = resources.files("airfeel.experiment.report") / "assets"
    order = lines(groups, judge)
    sheet = whole_sheet(groups, judge)
    notes = [*computed_by(groups), *lacks(groups)]
    count = sum(len(runs) for runs in groups.values())
    return Template((folder / "page.html").read_text("utf-8")).substitute(
        title=html.escape(", ".join(_schemes(groups, order))),
        verdict=html.escape(said(groups, judge)),
        lacks="".join(f'<p class="note">{html.escape(each)}</p>' for each in notes),
        about=f"{count} run{'s' * (count != 1)} in {len(order)} group{'s' * (len(order) != 1)}",
        summary=table(sheet.head, sheet.rows),
        runs=table(*_run_rows(groups, spare)),
        css=(folder / "page.css").read_text("utf-8"),
        plotly=needed("plotly.offline").get_plotlyjs(),
        data=embed(page_data(groups, judge)),
        script="\n".join((folder / name).read_text("utf-8") for name in _SCRIPTS),
    )


def embed(data: Json) -> str:
    r"""JSON that may stand inside a script element, whatever its texts hold.

    >>> embed("</script>")
    '"\\u003c/script>"'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _schemes(groups: Groups, table: Sequence[Line]) -> list[str]:
    """The schemes' names, each once, best first."""
    return list(dict.fromkeys(groups[line.label][0].experiment.scheme.name for line in table))


def _run_rows(groups: Groups, spare: Sequence[Run]) -> tuple[list[str], list[list[str]]]:
    head = [
        "group",
        "seed",
        "rounds",
        "blocks",
        "accuracy %",
        "stopped by",
        "computed by",
        "folder",
    ]
    named = [(label, run) for label, runs in groups.items() for run in runs]
    named += [("left out: same settings and seed as another", run) for run in spare]
    rows = []
    for label, run in named:
        f = run_facts(run)
        numbers = [f"{f.seed}", f"{f.rounds:,}", f"{f.resource_blocks:,}"]
        rows.append(
            [label, *numbers, f"{100 * f.test_accuracy:.1f}", f.stopped, f.backend, f.folder]
        )
    return head, rows


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """An HTML table; the first column names the row."""
    top = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in head)
    body = "".join(
        "<tr>"
        + f'<th scope="row">{html.escape(first)}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"

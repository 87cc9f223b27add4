"""One HTML file that needs nothing else: styles, scripts, Plotly and the data are in it."""

import html
import json
from collections.abc import Iterable, Sequence
from importlib import resources
from string import Template

from airfeel.analysis.criterion import Judge
from airfeel.analysis.groups import Groups
from airfeel.analysis.ranking import Line, lines
from airfeel.optional import needed
from airfeel.reports import Json
from airfeel.reports.arithmetic import computed_by
from airfeel.reports.data import page_data, run_facts
from airfeel.reports.ran import Ran, what_was_run
from airfeel.reports.runs import lacks
from airfeel.reports.summary import said, whole_sheet
from airfeel.storage.run import Run

_SCRIPTS = ("tables.js", "charts.js", "axes.js", "budget.js", "inspector.js", "begin.js")


def page(
    groups: Groups, spare: Sequence[Run] = (), judge: Judge | None = None, live: int | None = None
) -> str:
    """The report of some groups of runs as an HTML document.

    live: the number of this state where the page asks its server for later ones.
    """
    scripts = (*_SCRIPTS, *(["live.js"] if live is not None else []))
    folder = resources.files("airfeel.reports") / "assets"
    return Template((folder / "page.html").read_text("utf-8")).substitute(
        **told(groups, spare, judge),
        css=(folder / "page.css").read_text("utf-8"),
        plotly=needed("plotly.offline").get_plotlyjs(),
        data=embed(page_data(groups, judge)),
        script="\n".join((folder / name).read_text("utf-8") for name in scripts),
        connect="" if live is None else "connect-src 'self'; ",
        live="" if live is None else live,
    )


def told(groups: Groups, spare: Sequence[Run] = (), judge: Judge | None = None) -> dict[str, str]:
    """The texts and tables of the page, as HTML, by their places in it."""
    order = lines(groups, judge)
    sheet = whole_sheet(groups, judge)
    notes = [*computed_by(groups), *lacks(groups)]
    count = sum(len(runs) for runs in groups.values())
    ordered = {line.label: groups[line.label] for line in order}
    return {
        "title": html.escape(", ".join(_schemes(groups, order))),
        "verdict": html.escape(said(groups, judge)),
        "lacks": "".join(f'<p class="note">{html.escape(each)}</p>' for each in notes),
        "about": f"{count} run{'s' * (count != 1)} in {len(order)} group{'s' * (len(order) != 1)}",
        "summary": table(sheet.head, sheet.rows),
        "ran": _ran(what_was_run(ordered, judge)),
        "runs": table(*_run_rows(ordered, spare)),
    }


def _ran(ran: Ran) -> str:
    """What was run: shared settings as a list, differences as a table, the rest folded away."""
    parts = [f'<dl class="facts">{_list(ran.shared)}</dl>']
    if ran.differing:
        rows = [[label, *values] for label, values in ran.by_group.items()]
        shown = table(["group", *ran.differing], rows)
        parts.append(f'<h3>Differences</h3><div class="scroll" tabindex="0">{shown}</div>')
    parts.append(f'<h3>Where</h3><dl class="facts wide">{_list(ran.where)}</dl>')
    if ran.commands:
        text = html.escape("\n".join(ran.commands))
        parts.append(f'<h3>To repeat it</h3><pre class="command">{text}</pre>')
    rest = f'<dl class="facts">{_list(ran.rest)}</dl>'
    parts.append(f"<details><summary>All other settings</summary>{rest}</details>")
    return "".join(parts)


def _list(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(
        f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd></div>"
        for name, value in pairs
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
    return list(dict.fromkeys(groups[line.label][0].name for line in table))


def _run_rows(groups: Groups, spare: Sequence[Run]) -> tuple[list[str], list[list[str]]]:
    ran = what_was_run(groups)
    head = [
        "group",
        "seed",
        *ran.differing,
        "rounds",
        "blocks",
        "joules",
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
        settings = ran.by_group.get(label, [""] * len(ran.differing))
        numbers = [f"{f.rounds:,}", f"{f.resource_blocks:,}", f"{f.joules:.4g}"]
        ending = [f"{100 * f.test_accuracy:.1f}", f.stopped, f.backend, f.folder]
        rows.append([label, f"{f.seed}", *settings, *numbers, *ending])
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

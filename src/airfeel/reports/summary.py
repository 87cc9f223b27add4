"""The comparison as tables: for the terminal, for a page, as Markdown and for a paper."""

import math
from collections.abc import Sequence

from airfeel.analysis.criterion import Judge
from airfeel.analysis.groups import Groups
from airfeel.analysis.ranking import Line, lines, number, starving, unlike, untuned, verdict
from airfeel.analysis.series import mean_and_spread, round_mean
from airfeel.analysis.tables import Sheet
from airfeel.reports.arithmetic import computed_by
from airfeel.reports.runs import extra_columns
from airfeel.storage.run import Run

_METHOD = "mean ± standard deviation over seeds"
_PAIRED = (
    "differences to the first are paired by seed, with 95 % intervals (Student t; bootstrap: BCa); "
    "p-values of no difference by Holm for all comparisons with the first"
)


def standing_sheet(groups: Groups, table: Sequence[Line], judge: Judge) -> Sheet:
    """A row for each group, best first, free references last."""
    more, early = extra_columns(groups), any(line.early for line in table)
    final = [] if judge.by == "final" else ["final accuracy %"]
    aged = any(line.age > 0.0 for line in table)
    head = ["scheme", judge.head, *["evaluation age"] * aged, *final]
    head += ["rounds", "blocks", "blocks per round", "heard"]
    head += ["ended early"] * early + [f"{name} per round" for name in more]
    rows = [
        [
            line.label + (" (free)" if line.free else ""),
            _score(line, judge),
            *[f"{line.age:.1%}"] * aged,
            *(Judge("final").show(line.final, line.final_spread) for _ in final),
            f"{line.rounds:,.0f}",
            f"{line.blocks:,.0f}",
            f"{line.blocks_per_round:,.0f}",
            f"{line.scheduled:.0%}",
            *([line.early] * early),
            *(_per_round(groups[line.label], name) for name in more),
        ]
        for line in table
    ]
    return Sheet(head, rows, [])


def paired_sheet(table: Sequence[Line], judge: Judge) -> Sheet | None:
    """Each group's difference to the first, seed by seed; None where there is nothing to pair."""
    if all(math.isnan(line.p_holm) for line in table):
        return None
    boot = any(
        line.difference and line.difference.boot_low == line.difference.boot_low for line in table
    )
    unit = "blocks" if judge.by == "target" else "points"
    head = [
        "scheme",
        f"{unit} to the first [95 %]",
        *["bootstrap 95 %"] * boot,
        "p (Holm)",
        "pairs",
    ]
    rows = []
    for line in table:
        d = line.difference
        known = d is not None and not math.isnan(d.low)
        cells = [""] * (len(head) - 1)
        if d is not None and known:
            interval = f"{number(d.mean, judge)} {_span(d.low, d.high, judge)}"
            resampled = [_span(d.boot_low, d.boot_high, judge)] * boot
            cells = [interval, *resampled, _probability(line.p_holm), str(d.n)]
        rows.append([line.label, *cells])
    return Sheet(head, rows, [])


def _score(line: Line, judge: Judge) -> str:
    if not line.there:
        return "stale" if line.stale else "not reached"
    some = f" ({line.there} of {line.seeds})" if line.there < line.seeds else ""
    return judge.show(line.score, line.score_spread) + some


def _span(low: float, high: float, judge: Judge) -> str:
    return "" if math.isnan(low) else f"[{number(low, judge)}, {number(high, judge)}]"


def _probability(p: float) -> str:
    return "" if math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


def _per_round(runs: Sequence[Run], name: str) -> str:
    mean, spread = mean_and_spread([round_mean(run, name) for run in runs])
    if math.isnan(mean):
        return "–"
    return f"{mean:.4g}" + ("" if math.isnan(spread) else f" ± {spread:.2g}")


def whole_sheet(groups: Groups, judge: Judge | None = None) -> Sheet:
    """Both in one table."""
    by = (judge or Judge()).settled(groups)
    table = lines(groups, by)
    standing, paired = standing_sheet(groups, table, by), paired_sheet(table, by)
    return standing if paired is None else standing.beside(paired)


def said(groups: Groups, judge: Judge | None = None) -> str:
    """The verdict, what it is not worth, and who starved."""
    by = (judge or Judge()).settled(groups)
    notes = *unlike(groups), *untuned(groups), *starving(groups)
    return " ".join([verdict(lines(groups, by), by), *notes])


def markdown(groups: Groups, judge: Judge | None = None) -> str:
    """The comparison, its verdict, and what computed the runs, as Markdown."""
    sheet = whole_sheet(groups, judge)
    return (
        "\n\n".join([sheet.markdown().rstrip(), said(groups, judge), *computed_by(groups)]) + "\n"
    )


def latex(groups: Groups, judge: Judge | None = None) -> str:
    """The comparison as a LaTeX tabular; needs the package booktabs."""
    sheet = whole_sheet(groups, judge)
    paired = [_PAIRED] if "p (Holm)" in sheet.head else []
    notes = [rf"\usepackage{{booktabs}}; {_METHOD}", *paired]
    return Sheet(sheet.head, sheet.rows, notes).latex()

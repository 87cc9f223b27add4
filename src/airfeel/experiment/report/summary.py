"""The comparison as a table: for the terminal (Markdown) and for a paper (LaTeX, booktabs)."""

import math
import re
from collections.abc import Sequence

from airfeel.experiment.compare import lines, percent, shared_blocks, starving, verdict
from airfeel.experiment.readings import mean_and_spread, round_mean
from airfeel.experiment.report.runs import Groups, extra_columns
from airfeel.experiment.runner import Run

_FEW = 5


def summary_rows(groups: Groups) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the comparison, best first, free references last."""
    blocks = shared_blocks(groups)
    at = "accuracy %" + (f" at {blocks:,.0f} blocks" if blocks == blocks else "")
    more = extra_columns(groups)
    head = ["scheme", at, "final accuracy %", "rounds", "blocks", "blocks per round", "heard"]
    head += [f"{name} per round" for name in more]
    rows = [
        [
            line.label + (" (free)" if line.free else ""),
            percent(line.accuracy, line.accuracy_spread),
            percent(line.final, line.final_spread),
            f"{line.rounds:,.0f}",
            f"{line.blocks:,.0f}",
            f"{line.blocks_per_round:,.0f}",
            f"{line.scheduled:.0%}",
            *(_per_round(groups[line.label], name) for name in more),
        ]
        for line in lines(groups)
    ]
    return head, rows


def _per_round(runs: Sequence[Run], name: str) -> str:
    mean, spread = mean_and_spread([round_mean(run, name) for run in runs])
    if math.isnan(mean):
        return "–"
    return f"{mean:.4g}" + ("" if math.isnan(spread) else f" ± {spread:.2g}")


def said(groups: Groups) -> str:
    """The verdict, of many groups only on the best few; and who starved."""
    table = lines(groups)
    paid = [line for line in table if not line.free]
    few = paid[:_FEW] + [line for line in table if line.free]
    more = f" {len(paid) - _FEW} more are in the table." if len(paid) > _FEW else ""
    return " ".join([verdict(few, shared_blocks(groups)) + more, *starving(groups)])


def markdown(groups: Groups) -> str:
    """The comparison and its verdict as Markdown, aligned for a terminal."""
    head, rows = summary_rows(groups)
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    rule = ["-" * widths[0], *("-" * (w - 1) + ":" for w in widths[1:])]
    top, *body = [
        [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        for row in cells
    ]
    table = "\n".join(f"| {' | '.join(row)} |" for row in (top, rule, *body))
    return f"{table}\n\n{said(groups)}\n"


def latex(groups: Groups) -> str:
    """The comparison as a LaTeX tabular; needs the package booktabs."""
    head, rows = summary_rows(groups)
    texts = [[tex(cell) for cell in row] for row in (head, *rows)]
    top, *body = [" & ".join(row) + r" \\" for row in texts]
    return "\n".join(
        [
            r"% \usepackage{booktabs}; mean ± standard deviation over seeds",
            rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
            r"\toprule",
            top,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_TEX |= {c: f"\\{c}" for c in "&%$#_{}"} | {"±": r"$\pm$", "…": r"\dots{}", "<": r"\textless{}"}
_TEX |= {">": r"\textgreater{}", "\n": " ", "\r": " "}


def tex(text: str) -> str:
    r"""Text that LaTeX sets as it is; the comma of thousands gets no space after it.

    >>> print(tex("bits_8 (50%)"), tex("712,250"))
    bits\_8 (50\%) 712{,}250
    """
    escaped = "".join(_TEX.get(c, c) for c in text)
    return re.sub(r"(?<=\d),(?=\d{3})", "{,}", escaped)

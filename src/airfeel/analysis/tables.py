"""Tables of text: for the terminal, as Markdown, LaTeX and CSV. Digits are never cut off."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich import box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table

_NARROW = 26  # a column of shorter cells keeps them on one line
_ALIGNED = 40  # wider columns are not filled up in Markdown
_NUMBER = re.compile(r"[<≥±+−–-]?\s*[\d–\[]|not reached|$")


@dataclass(frozen=True)
class Sheet:
    """Text in rows and columns, and notes below."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def beside(self, other: "Sheet") -> "Sheet":
        """With the columns of another sheet of as many rows, its first one aside."""
        pairs = zip(self.rows, other.rows, strict=True)
        rows = [[*mine, *theirs[1:]] for mine, theirs in pairs]
        return Sheet([*self.head, *other.head[1:]], rows, [*self.notes, *other.notes])

    def fitted(self, console: Console) -> RenderableType:
        """For the terminal: texts are folded between words; too many columns are stacked."""
        if not console.is_terminal:  # a file or a pipe has no edge
            console.width = max(console.width, self.least)
        if self.least <= console.width:
            return self.rich(console.width)
        return Group(*(line for row in self.rows for line in self._stacked(row, console.width)))

    @property
    def least(self) -> int:
        """The width below which a number or a word would be cut."""
        return sum(_least(*column) for column in self._columns()) + 2 * len(self.head) - 1

    def rich(self, width: int) -> Table:
        """A table of at most so many letters; what short columns leave, the others share."""
        shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
        for i, ((name, *cells), wide) in enumerate(
            zip(self._columns(), self._widths(width), strict=True)
        ):
            number = i > 0 and all(map(_NUMBER.match, cells))
            justify: Literal["left", "right"] = "right" if number else "left"
            shown.add_column(escape(name), width=wide, overflow="fold", justify=justify)
        for row in self.rows:
            shown.add_row(*(escape(_breakable(cell)) for cell in row))
        return shown

    def _widths(self, width: int) -> list[int]:
        """The least widths, and of what is left each column's share of what it lacks."""
        least = [_least(*column) for column in self._columns()]
        whole = [max(map(len, map(_breakable, cells)), default=0) for _, *cells in self._columns()]
        lack = [max(w - n, 0) for w, n in zip(whole, least, strict=True)]
        share = min((width - self.least) / max(sum(lack), 1), 1.0)
        return [n + int(share * more) for n, more in zip(least, lack, strict=True)]

    def _columns(self) -> list[tuple[str, ...]]:
        return list(zip(self.head, *self.rows, strict=True))

    def _stacked(self, row: Sequence[str], width: int) -> list[str]:
        """A row as lines of its own; a cell that does not fit beside its name goes below it."""
        lines = [f"[bold]{escape(_breakable(row[0]))}[/]"]
        for name, cell in zip(self.head[1:], row[1:], strict=True):
            apart = " " if len(name) + len(cell) + 4 <= width else "\n    "
            lines += [escape(f"  {name}:{apart}{cell}")] if cell else []
        return lines

    def markdown(self) -> str:
        """A table of pipes, aligned, and the notes as a list."""
        cells = [[cell.replace("|", "\\|") for cell in row] for row in (self.head, *self.rows)]
        widths = [min(max(map(len, column)), _ALIGNED) for column in zip(*cells, strict=True)]
        numbers = [all(map(_NUMBER.match, column[1:])) for column in self._columns()]
        numbers[0] = False
        rule = ["-" * (w - n) + ":" * n for w, n in zip(widths, numbers, strict=True)]
        filled = [
            [c.rjust(w) if n else c.ljust(w) for c, w, n in zip(row, widths, numbers, strict=True)]
            for row in cells
        ]
        table = [f"| {' | '.join(row)} |" for row in (filled[0], rule, *filled[1:])]
        notes = [f"- {note}" for note in self.notes]
        return "\n".join([*table, *([""] if notes else []), *notes]) + "\n"

    def latex(self) -> str:
        """A LaTeX tabular, which needs the package booktabs, with the notes as comments."""
        texts = [" & ".join(map(tex, row)) + r" \\" for row in (self.head, *self.rows)]
        return "\n".join(
            [
                *(f"% {note}" for note in self.notes),
                rf"\begin{{tabular}}{{l{'r' * (len(self.head) - 1)}}}",
                r"\toprule",
                texts[0],
                r"\midrule",
                *texts[1:],
                r"\bottomrule",
                r"\end{tabular}",
                "",
            ]
        )

    def csv(self) -> str:
        """The rows alone."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.head, *self.rows])
        return text.getvalue()


def show(console: Console, sheet: Sheet) -> None:
    """Print a sheet and its notes."""
    console.print(sheet.fitted(console), highlight=False)
    for note in sheet.notes:
        console.print(note, highlight=False, markup=False)


def _short(cells: Sequence[str]) -> bool:
    return max(map(len, cells), default=0) <= _NARROW


def _least(name: str, *cells: str) -> int:
    """The width of what may not be broken: words of the head and of long cells, short cells."""
    whole = cells if _short(cells) else [word for c in cells for word in _breakable(c).split()]
    return max(map(len, [*name.split(), *whole]))


def _breakable(cell: str) -> str:
    """Long lists without a space, such as the settings of a label, may be broken at a comma."""
    return re.sub(r",(?=[^\s\d])", ", ", cell) if len(cell) > _NARROW else cell


_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_TEX |= {c: f"\\{c}" for c in "&%$#_{}"} | {"±": r"$\pm$", "…": r"\dots{}", "<": r"\textless{}"}
_TEX |= {">": r"\textgreater{}", "\n": " ", "\r": " ", "−": "$-$", "–": "--"}


def tex(text: str) -> str:
    r"""Text that LaTeX sets as it is; the comma of thousands gets no space after it.

    >>> print(tex("bits_8 (50%)"), tex("712,250"))
    bits\_8 (50\%) 712{,}250
    """
    escaped = "".join(_TEX.get(c, c) for c in text)
    return re.sub(r"(?<=\d),(?=\d{3})", "{,}", escaped)

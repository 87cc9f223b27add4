"""Tables never cut a digit, however narrow the terminal."""

import io
import re

import pytest
from rich.console import Console

from airfeel.analysis.tables import Sheet, show

LABEL = "global_sparsity=0.2,local_sparsity=0.002,power_scalar=12.5"
SHEET = Sheet(
    ["scheme", "accuracy % at 712,250 blocks", *(f"final {i}" for i in range(6)), "remark"],
    [
        [
            "tcs-h (free)",
            "95.0 ± 0.7",
            *["123,456.7 ± 1.2"] * 6,
            "1 of 3 stalled after 1,234 days",
        ],
        [LABEL, "9.0 ± 0.7", *["7.5"] * 6, ""],
    ],
    ["A note [of 95 %]."],
)
SMALL = Sheet(["scheme", "accuracy %", "p"], [["a", "95.0 ± 0.7", "<0.001"], [LABEL, "–", ""]])


def printed(sheet, width, terminal):
    file = io.StringIO()
    show(Console(file=file, width=width, force_terminal=terminal, color_system=None), sheet)
    return file.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("width", [30, 60, 80, 200])
@pytest.mark.parametrize("sheet", [SHEET, SMALL])
def test_every_number_stays_whole(sheet, width, terminal):
    text = printed(sheet, width, terminal)
    assert "…" not in text
    for row in sheet.rows:
        for cell in row[1:]:
            if len(cell) <= 26:
                assert cell in text
        for number in re.findall(r"[\w]+=[\d.]+|\d[\d,.]*\d", " ".join(row)):
            assert number in text
    if terminal:
        assert max(map(len, text.splitlines())) <= width


def test_a_narrow_terminal_stacks_what_a_pipe_writes_side_by_side():
    assert "  accuracy % at 712,250 blocks: 95.0 ± 0.7\n" in printed(SHEET, 50, True)
    piped = [line for line in printed(SHEET, 40, False).splitlines() if "tcs-h (free)" in line]
    assert [line.count("123,456.7 ± 1.2") for line in piped] == [6]


def test_markdown_keeps_pipes_apart_and_csv_every_cell():
    assert Sheet(["a|b"], [["c"]]).markdown() == "| a\\|b |\n| ---- |\n| c    |\n"
    assert SMALL.csv().splitlines()[1] == "a,95.0 ± 0.7,<0.001"


def test_sheets_side_by_side_share_their_first_column():
    both = Sheet(["x", "a"], [["1", "2"]]).beside(Sheet(["x", "b"], [["1", "3"]]))
    assert (both.head, both.rows) == (["x", "a", "b"], [["1", "2", "3"]])

"""Progress, loggers, plots and notebooks."""

import io
import itertools
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

import airfeel
from airfeel.build.setup import build
from airfeel.runs import progress
from airfeel.runs.loggers import TensorBoard
from airfeel.runs.progress import Display
from small import small

EXAMPLES = Path(__file__).parents[2] / "examples"


def displayed(monkeypatch, terminal, seconds):
    """What a display shows of rounds 0 to 6 with so many seconds between them."""
    clock = itertools.count(100.0, seconds)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
    display = Display(console)
    e = small()
    display.begin(e, build(e).world)
    row = {"test_accuracy": 0.5, "resource_blocks": 8, "scheduled": 3, "slots": 1}
    for number in range(7):
        display.row(row | {"round": number})
    numbers = {"rounds": 6, "resource_blocks": 8, "seconds": 1.0, "reason": "rounds"}
    display.end({"test_accuracy": 0.5} | numbers)
    return console.file.getvalue()


@pytest.mark.parametrize(("seconds", "told"), [(1.0, []), (4.0, [2, 5]), (60.0, range(7))])
def test_plain_lines_come_at_most_every_ten_seconds(monkeypatch, seconds, told):
    lines = displayed(monkeypatch, False, seconds).splitlines()
    assert [int(re.search(r"round (\d+)", line)[1]) for line in lines[:-1]] == list(told)
    assert "after 6 rounds" in lines[-1]


@pytest.mark.parametrize(("seconds", "told"), [(0.01, []), (0.3, [1, 3, 5]), (60.0, range(7))])
def test_the_live_line_is_drawn_at_most_twice_a_second(monkeypatch, seconds, told):
    text = displayed(monkeypatch, True, seconds)
    rounds = dict.fromkeys(int(n) for n in re.findall(r"round (\d+)", text))
    assert list(rounds) == list(told)
    assert "starting" in text
    assert text.rstrip().endswith("(stopped by: rounds)")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_event_files(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = airfeel.run(small(training={"rounds": 3}), watchers=[TensorBoard(tmp_path)])
    events = EventAccumulator(str(tmp_path)).Reload()
    found = [(e.step, e.value) for e in events.Scalars("test_accuracy")]
    assert found == [(i, pytest.approx(a)) for i, a in enumerate(run.columns["test_accuracy"])]
    assert [e.step for e in events.Scalars("mask_overlap")] == [2, 3]


def test_a_run_plots_itself():
    plt = pytest.importorskip("matplotlib.pyplot")
    one, two = (airfeel.run(small(s, training={"rounds": 3})) for s in ("tcs-h", "top-k"))
    axes = two.plot(one.plot())
    assert [line.get_label() for line in axes[1].lines] == ["tcs-h", "top-k"]
    assert axes[0].lines[0].get_xdata().tolist() == [0, 1, 2, 3]
    plt.close("all")


def test_a_run_shows_itself_in_a_notebook():
    shown = airfeel.run(small(training={"rounds": 3}))._repr_html_()
    assert "<caption>tcs-h</caption>" in shown
    assert "<td>rounds</td>" in shown


def test_the_logger_example(capsys):
    runpy.run_path(str(EXAMPLES / "own_logger.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert out.startswith("tcs-h on 20 devices, 4810 parameters\nround 0: accuracy 0.")
    assert "ended by rounds" in out


def test_the_plain_example(capsys):
    runpy.run_path(str(EXAMPLES / "tcs_h_plain.py"), run_name="__main__")
    assert "tcs-h" in capsys.readouterr().out.lower()


@pytest.mark.filterwarnings("ignore")
def test_the_quickstart_notebook_runs():
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    book = nbformat.read(EXAMPLES / "quickstart.ipynb", as_version=4)
    client.NotebookClient(book, timeout=300, kernel_name="python3").execute()
    kinds = {key for c in book.cells for o in c.get("outputs", []) for key in o.get("data", {})}
    assert {"text/html", "image/png"} <= kinds


@pytest.mark.parametrize("label", ["", "top-k seed 3"])
def test_a_run_alone_shows_which_backend_trains(label):
    console = Console(file=io.StringIO(), width=120)
    airfeel.run(small(training={"rounds": 1}), watchers=[Display(console, label)])
    lines = console.file.getvalue().splitlines()
    told = "tcs-h: training with backend torch, not the native kernel: it computes in float32"
    assert lines[0].startswith(told) == (not label)
    assert len(lines) == 2 - bool(label)

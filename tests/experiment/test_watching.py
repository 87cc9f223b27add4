"""Loggers, plots and notebooks."""

import runpy
from pathlib import Path

import pytest

import airfeel
from airfeel.experiment.loggers import TensorBoard
from small import small

EXAMPLES = Path(__file__).parents[2] / "examples"


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

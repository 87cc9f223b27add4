"""What the command line does, from Python."""

import numpy as np
import pytest

import airfeel

SHORT = ["training.rounds=3", "training.local_steps=1"]


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    found = airfeel.compare(
        schemes=["tcs-h", "fedavg"], seeds=range(2), overrides=SHORT, out=out / "a"
    )
    return out, found


def test_a_comparison_has_its_runs_a_verdict_a_table_and_a_report(compared):
    out, found = compared
    assert {label: len(runs) for label, runs in found.groups.items()} == {"tcs-h": 2, "fedavg": 2}
    assert "tcs-h has" in found.verdict
    assert "| fedavg (free)" in found.markdown()
    assert "<table>" in found._repr_html_()
    page, *_ = found.report(out / "page")
    assert page.name == "report.html"
    assert airfeel.report(out / "a", out / "again")[0].read_text() == page.read_text()


def test_a_stored_run_is_opened_with_its_rounds_and_drawn_under_a_name(compared):
    out, found = compared
    run = found.groups["tcs-h"][0]
    again = airfeel.open(str(run.folder))
    assert again.summary == run.summary | {k: again.summary[k] for k in again.summary}
    for name, values in run.rounds.items():
        np.testing.assert_array_equal(again.rounds[name], values)
    pytest.importorskip("matplotlib")
    axes = again.plot(label="mine")
    again.plot(axes)
    assert [line.get_label() for line in axes[0].lines] == ["mine", "tcs-h"]
    with pytest.raises(airfeel.BadInput):
        airfeel.open(out)


def test_frames_have_a_row_per_round_and_per_run(compared):
    pytest.importorskip("pandas")
    _, found = compared
    assert len(found.groups["tcs-h"][0].frame()) == 4
    assert list(found.frame()["group"]) == ["tcs-h"] * 2 + ["fedavg"] * 2


def test_a_sweep_and_a_comparison_on_workers_give_the_same_runs(compared, tmp_path):
    _, found = compared
    (tmp_path / "s.toml").write_text(
        "base = 'digits-tcs-h'\nseeds = [0, 1]\n[grid]\nscheme.name = ['tcs-h']\n"
        "training.rounds = [3]\ntraining.local_steps = [1]\n"
    )
    swept = airfeel.sweep(tmp_path / "s.toml", tmp_path / "s", workers=2)
    (runs,) = swept.groups.values()
    for one, other in zip(runs, found.groups["tcs-h"], strict=True):
        np.testing.assert_array_equal(one.rounds["test_accuracy"], other.rounds["test_accuracy"])


def test_what_is_wrong_is_named_before_anything_runs(tmp_path):
    with pytest.raises(airfeel.BadInput, match="--judge"):
        airfeel.compare(judge="beauty", out=tmp_path)
    with pytest.raises(airfeel.BadInput, match="tcs-x"):
        airfeel.compare(schemes=["tcs-x"], out=tmp_path)
    with pytest.raises(airfeel.BadInput, match="holds no run"):
        airfeel.report(tmp_path)
    assert list(tmp_path.iterdir()) == []

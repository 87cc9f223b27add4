"""The figure of a league tells its leaders apart, however many play."""

import numpy as np
import pytest

from airfeel.storage.run import Run
from airfeel.sweeps.benchmark import picture
from airfeel.sweeps.benchmark.play import Played
from small import small


def played(label: str, final: float | None):
    columns = {
        "round": np.arange(4),
        "resource_blocks": 25 * np.arange(4),
        "scheduled": np.full(4, 2),
        "energy_mean": np.full(4, 1e-6),
        "test_accuracy": np.array([0.1, 0.2, 0.3, 0.4]),
    }
    return Played(label, 10, {}, Run(small(), columns, {"test_accuracy": final}))


@pytest.fixture
def legend(tmp_path, monkeypatch):
    """What the legend of a league's figure says."""
    figures = []
    kept = picture.save

    def save(figure, path, dpi):
        figures.append(figure)
        return kept(figure, path, dpi)

    monkeypatch.setattr(picture, "save", save)

    def told(runs):
        picture.draw(runs, tmp_path / "league.png")
        return [text.get_text() for text in figures[-1].legends[0].get_texts()]

    return told


@pytest.mark.parametrize("contenders", [2, 8])
def test_a_few_contenders_all_have_a_look_of_their_own(contenders, legend):
    names = [f"s{i}" for i in range(contenders)]
    assert legend([played(name, 0.5) for name in names]) == names


def test_of_many_contenders_those_that_end_best_are_told_apart(legend):
    reached = [0.1, 0.9, 0.2, None, *[0.5] * 7]  # the fourth has diverged
    runs = [played(f"s{i}", accuracy) for i, accuracy in enumerate(reached)]
    assert legend(runs) == ["the other 3", "s1", *[f"s{i}" for i in range(4, 11)]]

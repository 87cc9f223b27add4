"""A run as Python sees it: its settings, its rows and how it ended."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from airfeel.catalogues import SCHEMES
from airfeel.errors import shorten
from airfeel.settings.config import Experiment
from airfeel.storage import evaluations, notebook, provenance

if TYPE_CHECKING:
    from pandas import DataFrame

    from airfeel.plotting import Panels

Facts = dict[str, Any]  # what summary.json says


@dataclass(frozen=True, repr=False)
class Run:
    """A finished run."""

    experiment: Experiment
    columns: dict[str, np.ndarray]
    summary: Facts
    theta: Tensor | None = None
    folder: Path | None = None

    def __repr__(self) -> str:
        end = "unfinished" if not self.summary else f"ended by {self.summary.get('reason')}"
        played, where = len(self.columns.get("round", ())) - 1, f", {str(self.folder)!r}"
        return f"Run({self.name!r}, {max(played, 0)} rounds, {end}{where * bool(self.folder)})"

    @property
    def name(self) -> str:
        """The scheme's name; an own one's as its `Scheme` has it, where that is on record."""
        given = self.experiment.scheme.name
        if ":" not in given:
            return given
        facts = self.summary or (provenance.stored_facts(self.folder) if self.folder else {})
        told = shorten(str(facts.get("scheme") or given))
        return f"{told} ({given})" if told in SCHEMES else told

    @property
    def accuracy(self) -> np.ndarray:
        """Test accuracy after each round, NaN where it was not evaluated.

        Unlike the column of that name it has evaluations at budgets (`run.eval_at_blocks`) and at
        the end of the run, too.
        """
        return evaluations.accuracies(self.columns, self.summary.get("test_accuracy"))

    @property
    def rounds(self) -> dict[str, np.ndarray]:
        """The columns of rounds.csv, one value per round."""
        return self.columns

    def frame(self) -> "DataFrame":
        """The same as a pandas DataFrame, one row per round."""
        return notebook.frame(self.columns)

    def plot(self, axes: "Panels | None" = None, label: str | None = None) -> "Panels":
        """Accuracy against rounds and resource blocks; hand the axes on to draw another run.

        label: in the legend; the scheme's name if left out.
        """
        return notebook.plot(self.columns, label or self.name, axes)

    def _repr_html_(self) -> str:
        return notebook.as_html(self.summary)

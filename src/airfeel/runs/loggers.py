"""Watchers that write a run elsewhere."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from airfeel.catalogue import Value
from airfeel.ranges import about
from airfeel.settings.config import Experiment
from airfeel.storage.rows import Row
from airfeel.types import BadInput, World


class TensorBoard:
    """Event files for TensorBoard: every number of a row, by round."""

    def __init__(self, folder: Annotated[Path, about("where event files go")]) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise BadInput('--tensorboard needs pip install "airfeel[tensorboard]"') from error
        self._make = SummaryWriter
        self._folder = folder

    def begin(self, experiment: Experiment, world: World) -> None:
        self._writer = self._make(str(self._folder))

    def row(self, row: Row) -> None:
        for name, value in row.items():
            if name != "round" and not math.isnan(float(value)):
                self._writer.add_scalar(name, float(value), int(row["round"]))

    def end(self, summary: Mapping[str, Value]) -> None:
        self._writer.close()

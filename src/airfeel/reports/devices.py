"""What each device spent and how often it was heard, from devices.csv, read row by row."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from airfeel import regular
from airfeel.analysis.series import column
from airfeel.storage.run import Run
from airfeel.types import BadInput, Reason

Array = np.ndarray


@dataclass(frozen=True)
class Devices:
    """The devices of a run, or the mean over some runs."""

    spent: Float[Array, "N"]  # energy [J]
    allowed: Float[Array, "N"]  # energy [J]: average power × slots of the budget, or slots used
    reasons: Float[Array, "N R"]  # share of the rounds, in the order of Reason

    @property
    def heard(self) -> Float[Array, "N"]:
        """Share of the rounds in which each device was heard."""
        return self.reasons[:, list(Reason).index(Reason.SCHEDULED)]


def devices(runs: Sequence[Run]) -> Devices | None:
    """The mean over runs of one group; None where one of them has no devices.csv."""
    if not all((Path(run.folder or ".") / "devices.csv").exists() for run in runs):
        return None
    each = [_of_run(run) for run in runs]
    return Devices(
        *(np.mean([getattr(d, f) for d in each], axis=0) for f in ("spent", "allowed", "reasons"))
    )


def _of_run(run: Run) -> Devices:
    e = run.experiment
    energy, count = _totals(Path(run.folder or "."), e.training.devices)
    used = float(column(run, "slots").sum())
    slots = used if np.isinf(e.slots) else e.slots
    second = e.radio.symbol_seconds
    power = np.broadcast_to(np.asarray(e.radio.power, dtype=float), energy.shape)
    rounds = np.maximum(count.sum(axis=1, keepdims=True), 1)
    return Devices(energy * second, power * slots * second, count / rounds)


def _totals(folder: Path, devices: int) -> tuple[Float[Array, "N"], Int[Array, "N R"]]:
    """Energy [W·slots] and number of rounds by reason of each device."""
    place = {reason.value: i for i, reason in enumerate(Reason)}
    energy, count = [0.0] * devices, [[0] * len(place) for _ in range(devices)]
    path = folder / "devices.csv"
    try:
        with io.TextIOWrapper(regular.opened(path), encoding="utf-8", newline="") as file:
            reader = csv.reader(file)
            head = next(reader)
            d, r, e = (head.index(name) for name in ("device", "reason", "energy"))
            for row in reader:
                device = int(row[d])
                energy[device] += float(row[e])
                count[device][place[row[r]]] += 1
    except (OSError, UnicodeDecodeError, ValueError, LookupError, StopIteration) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from error
    return np.array(energy), np.array(count)

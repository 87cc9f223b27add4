"""Rows of rounds.csv and devices.csv, and columns of them."""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from airfeel import regular
from airfeel.radio.impairments.packets import attempts
from airfeel.settings.columns import ROUND_COLUMNS
from airfeel.types import BadInput, Reason, Report, State

Row = dict[str, int | float | str]

REAL_COLUMNS = ["lost", "tries"]  # of devices under a real radio, after the usual ones
DEVICE_COLUMNS = ["round", "device", "scheduled", "reason", "needed", "budget", "rate", "energy"]
_DEVICE_LINE = "%d,%d,%d,%s,%.12g,%.12g,%.12g,%.12g\n"  # none of our words needs quotes
_DROPS = (Reason.NOT_FINITE, Reason.NO_CHANNEL, Reason.NO_ENERGY, Reason.DROPPED)
_NAN = float("nan")
_NOT_AT_START = (  # what only a played round can have
    *("energy_mean", "energy_max", "energy_total", "needed_median", "budget_median"),
    *("feedback_scheduled", "feedback_unscheduled"),
    *("update_norm", "distortion", "mask_overlap", "train_loss"),
)


def first_row(accuracy: float, loss: float, seconds: float, more: Iterable[str] = ()) -> Row:
    """Row 0: the model w_0 that every scheme starts from, at no cost; `more` columns are NaN."""
    row: Row = dict.fromkeys(ROUND_COLUMNS, 0)
    row |= dict.fromkeys(_NOT_AT_START, _NAN)
    row |= {"test_accuracy": accuracy, "test_loss": loss, "seconds": seconds}
    return row | dict.fromkeys(more, _NAN)


def round_row(
    report: Report, after: State, subchannels: int, accuracy: float, loss: float, seconds: float
) -> Row:
    """One round; what does not apply or was not measured is NaN, an empty cell in the file."""
    plan, costs = report.plan, report.costs
    spent = costs.energy[plan.active]
    asked = ~np.isnan(plan.needed)
    return {
        "round": report.round,
        "scheduled": int(plan.active.sum()),
        "slots_air": costs.slots_air,
        "slots_digital": costs.slots_digital,
        "slots": costs.slots,
        "resource_blocks": after.slots * subchannels,
        "bits": costs.bits,
        "energy_mean": float(spent.mean()) if len(spent) else 0.0,
        "energy_max": float(spent.max()) if len(spent) else 0.0,
        "energy_total": float(costs.energy.sum()),
        "needed_median": _median(plan.needed[asked]),
        "budget_median": _median(plan.budget[asked]),
        "feedback_scheduled": report.feedback_scheduled,
        "feedback_unscheduled": report.feedback_unscheduled,
        "update_norm": report.update_norm,
        "distortion": report.distortion,
        "mask_overlap": report.mask_overlap,
        "dropped": sum(r in _DROPS for r in plan.reason),
        "train_loss": report.train_loss,
        "test_accuracy": accuracy,
        "test_loss": loss,
        "seconds": seconds,
        **report.columns,
    }


def device_rows(report: Report) -> Iterator[Row]:
    """One row for each device of a round."""
    for values in _device_values(report):
        yield dict(zip(DEVICE_COLUMNS, values, strict=True))


def cells(row: Row, columns: Iterable[str]) -> list[str]:
    """A row as text: numbers in the shortest form that reads back exactly, NaN as nothing."""
    return ["" if row[name] != row[name] else str(row[name]) for name in columns]


def round_line(row: Row, columns: Iterable[str] = ROUND_COLUMNS) -> str:
    """A round as a line of rounds.csv."""
    return ",".join(cells(row, columns)) + "\n"


def device_lines(report: Report, real: bool = False) -> str:
    """A round's devices as lines of devices.csv: numbers with 12 digits, NaN as nothing.

    real: with `REAL_COLUMNS`, what became of each device's packet.
    """
    lines: Iterable[str] = map(_DEVICE_LINE.__mod__, _device_values(report))
    if real:
        tries, lost = attempts(report.fading, report.plan)
        ends = zip(lost.tolist(), tries.tolist(), strict=True)
        lines = (f"{s[:-1]},{gone:d},{n}\n" for s, (gone, n) in zip(lines, ends, strict=True))
    return "".join(lines).replace(",nan", ",")


def read_columns(path: Path, *, growing: bool = False) -> dict[str, np.ndarray]:
    """The columns of a CSV file of ours; text stays text, an empty number is NaN.

    growing: somebody may be writing to it: a last line that has no end yet is left out.
    """
    try:
        text = regular.data(path).decode("utf-8")
        end = text.rfind("\n") + 1 if growing else len(text)
        names, *rows = list(csv.reader(io.StringIO(text[:end], newline="")))
    except (OSError, ValueError, csv.Error) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from error
    odd = next((i for i, row in enumerate(rows) if len(row) != len(names)), None)
    if odd is not None:
        cells = f"{len(rows[odd])} cells, not {len(names)}"
        raise BadInput(f"{path}: cannot be read (line {odd + 2} has {cells})")
    return {name: _column([row[i] for row in rows]) for i, name in enumerate(names)}


def read_rows(path: Path) -> list[Row]:
    """The rows of a CSV file of ours, as they were before they were written."""
    columns = read_columns(path)
    return [
        dict(zip(columns, values, strict=True))
        for values in zip(*(column.tolist() for column in columns.values()), strict=True)
    ]


def columns(rows: Iterable[Row], names: Iterable[str]) -> dict[str, np.ndarray]:
    """The columns of rows that were never written to a file."""
    rows = list(rows)
    return {name: np.array([row[name] for row in rows]) for name in names}


def _device_values(report: Report) -> Iterator[tuple[int | float | str, ...]]:
    """The values of DEVICE_COLUMNS for each device of a round."""
    plan, n = report.plan, len(report.plan.active)
    numbers = (plan.needed, plan.budget, plan.rate, report.costs.energy)
    reasons = [reason.value for reason in plan.reason]
    columns = (plan.active.astype(int).tolist(), reasons, *(x.tolist() for x in numbers))
    return zip([report.round] * n, range(n), *columns, strict=True)


def _median(values: np.ndarray) -> float:
    return float(np.median(values)) if len(values) else _NAN


def _column(texts: list[str]) -> np.ndarray:
    for number in (int, float):
        try:
            return np.array([number(t) if t or number is int else _NAN for t in texts])
        except ValueError:
            continue
    return np.array(texts)

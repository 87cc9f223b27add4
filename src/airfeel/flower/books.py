"""The books of a federation: the radio's costs, and the octets that really travelled."""

import csv
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from airfeel.flower.asking import Asking
from airfeel.flower.listen import Replies
from airfeel.settings.columns import ROUND_COLUMNS
from airfeel.storage import rows
from airfeel.storage.rows import DEVICE_COLUMNS, Row
from airfeel.types import Report, State

_NAN = float("nan")
_UNKNOWN = {"distortion", "test_accuracy", "test_loss"}  # nobody measures them here
TRAFFIC = [
    "silent",  # devices that took themselves out: too loud, or an update that is not finite
    "lost",  # devices that were asked and gave no answer that could be used
    "uplink_octets",  # of all replies, as Flower serialises them
    "uplink_payload",  # of them, payloads of airfeel.wire
    "uplink_formula",  # the same payloads by the paper's formula, 32 bits for an analog value
    "uplink_dense",  # what FedAvg's replies with whole models would have been
    "downlink_octets",
    "downlink_dense",
]
_USUAL = [name for name in ROUND_COLUMNS if name not in _UNKNOWN]
LOST = "reply-lost"  # a device's reason beside those of airfeel.types.Reason


@dataclass
class Books:
    """One row per round, and one for each device and round; round 0 is the uncompressed start.

    more: columns of the scheme's meters and codec.
    """

    more: tuple[str, ...] = ()
    written: list[Row] = field(default_factory=list)
    devices: list[Row] = field(default_factory=list)

    def enter(
        self, asking: Asking, heard: Replies, after: State, report: Report | None, subchannels: int
    ) -> Row:
        """A round that counted."""
        unseen = (_NAN, _NAN, time.perf_counter() - asking.began)
        lost = set(asking.asked.values()) - set(heard.silent) - set(heard.spoke)
        if report is None:
            row = rows.first_row(*unseen, self.more) | {"scheduled": len(heard.spoke)}
            each: Iterable[Row] = _start_rows(asking, heard)
        else:
            row = rows.round_row(report, after, subchannels, *unseen)
            each = rows.device_rows(report)
        why = dict.fromkeys(lost, LOST) | heard.refused
        self.devices += [
            {**r, "reason": why[n]} if (n := int(r["device"])) in why else r for r in each
        ]
        row |= {
            "silent": len(heard.silent),
            "lost": len(lost),
            "uplink_octets": heard.octets + asking.received,
            "uplink_payload": heard.payload_octets,
            "uplink_formula": heard.formula_octets,
            "uplink_dense": heard.dense_octets,
            "downlink_octets": asking.sent,
            "downlink_dense": asking.dense,
        }
        self.written.append({name: row[name] for name in self.names})
        return self.written[-1]

    @property
    def names(self) -> list[str]:
        """The columns of a round."""
        return [*_USUAL, *self.more, *TRAFFIC]

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """All rounds, by column."""
        return rows.columns(self.written, self.names)

    def share(self, way: str) -> float:
        """Octets `uplink` or `downlink` over those of dense FedAvg, without the start."""
        found = self.columns
        later = found["round"] > 0
        dense = float(found[f"{way}_dense"][later].sum())
        return float(found[f"{way}_octets"][later].sum()) / dense if dense else _NAN

    def write(self, folder: str | Path) -> None:
        """Into rounds.csv and devices.csv, an empty cell for what was not measured."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        _write(Path(folder) / "rounds.csv", self.names, self.written)
        _write(Path(folder) / "devices.csv", DEVICE_COLUMNS, self.devices)

    def told(self) -> str:
        """One line on what travelled."""
        return (
            f"uplink {self.share('uplink'):.1%} and downlink {self.share('downlink'):.1%} "
            f"of dense FedAvg's octets, over {max(len(self.written) - 1, 0)} rounds after the start"
        )


def _start_rows(asking: Asking, heard: Replies) -> Iterable[Row]:
    """Round 0: who was there."""
    blank: Row = dict.fromkeys(DEVICE_COLUMNS, _NAN)
    for n in range(len(asking.invited.who)):
        spoke = n in heard.spoke
        said = heard.silent[n].reason if n in heard.silent else "not-invited"
        reason = "scheduled" if spoke else said
        yield {**blank, "round": 0, "device": n, "scheduled": int(spoke), "reason": reason}


def _write(path: Path, columns: list[str], found: list[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows(rows.cells(row, columns) for row in found)

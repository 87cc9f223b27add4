"""Runs that are stopped in the middle, and what runs leave."""

import csv
import signal

import pytest

import airfeel
from airfeel.experiment.signals import Interrupted, Signals


class _Stop:
    """Interrupts a run after so many rows."""

    def __init__(self, signals, rows):
        self.signals, self.rows = signals, rows

    def begin(self, experiment, world):
        pass

    def row(self, row):
        self.rows -= 1
        if self.rows == 0:
            self.signals.received = signal.SIGINT

    def end(self, summary):
        pass


def left(folder):
    """All that a run leaves but for its timings and for where it was carried out."""
    with (folder / "rounds.csv").open(newline="") as file:
        table = list(csv.reader(file))
    time = table[0].index("seconds")
    rows = [row[:time] + row[time + 1 :] for row in table]
    return [rows] + [(folder / name).read_bytes() for name in ("devices.csv", "model.safetensors")]


def stopped_and_resumed(e, folder, rows=4):
    """What a run leaves that was stopped after some rows and taken up again."""
    signals = Signals()
    with pytest.raises(Interrupted):
        airfeel.run(e, folder, [_Stop(signals, rows)], signals=signals)
    assert not (folder / "summary.json").exists()
    airfeel.resume(folder)
    return left(folder)

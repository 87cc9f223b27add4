"""Runs that are interrupted, as Ctrl-C does, and what a run leaves."""

import csv
import signal

import pytest

import airfeel
from airfeel.runs.signals import Interrupted, Signals


class Stop:
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


def interrupted(folder, rows, e):
    """The folder of a run that was stopped after so many rows, and saved."""
    signals = Signals()
    with pytest.raises(Interrupted):
        airfeel.run(e, folder, [Stop(signals, rows)], signals=signals)
    return folder


def timeless(folder):
    """rounds.csv without its timings."""
    with (folder / "rounds.csv").open(newline="") as file:
        table = list(csv.reader(file))
    time = table[0].index("seconds")  # columns of parts come after it
    return [row[:time] + row[time + 1 :] for row in table]


def content(folder):
    """Everything a run leaves but for its timings."""
    rows = timeless(folder)
    others = ("devices.csv", "model.safetensors", "config.toml")
    return [rows] + [(folder / name).read_bytes() for name in others]

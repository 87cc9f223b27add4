"""Runs that are stopped in the middle, and what runs leave."""

import csv

import pytest

import airfeel
from airfeel.runs.signals import Interrupted, Signals
from stopping import Stop


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
        airfeel.run(e, folder, [Stop(signals, rows)], signals=signals)
    assert not (folder / "summary.json").exists()
    airfeel.resume(folder)
    return left(folder)

"""A run as it goes by: a live line on a terminal, plain lines elsewhere."""

import math
import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from airfeel.settings.config import Experiment
from airfeel.storage.rows import Row
from airfeel.storage.run import Facts
from airfeel.types import World

_LIVE_SECONDS = 0.5  # between two looks of the live line
_PLAIN_SECONDS = 10.0  # between two lines where there is no terminal


class Display:
    """Rounds, accuracy, slots, devices scheduled and time left."""

    def __init__(self, console: Console, label: str = "", *, each_round: bool = False) -> None:
        self._console = console
        self._each_round = each_round
        self._label = label
        self._bar: Progress | None = None

    def begin(self, experiment: Experiment, world: World | None = None) -> None:
        self._alone = not self._label
        self._label = self._label or experiment.scheme.name
        self._rounds, self._slots = experiment.training.rounds, experiment.slots
        self._blocks = self._slots * experiment.radio.subchannels
        self._devices = experiment.training.devices
        self._accuracy = math.nan
        self._pause = _LIVE_SECONDS if self._console.is_terminal else _PLAIN_SECONDS
        self._pause = 0.0 if self._each_round else self._pause
        self._due = time.monotonic() + self._pause
        if self._console.is_terminal:  # the bar's first look comes later: short runs have none
            self._console.print(f"{self._label}: starting", end="\r", highlight=False)

    def trained_by(self, text: str) -> None:
        """Show which backend trains, where one run alone is shown."""
        if self._alone:
            self._console.print(f"{self._label}: {text}", highlight=False, soft_wrap=True)

    def row(self, row: Row) -> None:
        if not math.isnan(float(row["test_accuracy"])):
            self._accuracy = float(row["test_accuracy"])
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + self._pause
        done, text = self._done(row), self._text(row)
        if self._console.is_terminal:
            self._bar = self._bar or self._start()
            self._bar.update(self._bar.task_ids[0], completed=done, text=text, refresh=True)
        else:
            line = f"{self._label}: {done:.0%}, {text}"
            self._console.print(line, highlight=False, soft_wrap=True)

    def end(self, summary: Facts) -> None:
        if self._bar:
            self._bar.stop()
        accuracy = summary["test_accuracy"]
        shown = f"loss {summary['test_loss']}" if accuracy is None else f"accuracy {accuracy:.2%}"
        self._console.print(
            f"{self._label}: {shown} after {summary['rounds']} rounds and "
            f"{summary['resource_blocks']:,} resource blocks, {summary['seconds']:.1f} s "
            f"(stopped by: {summary['reason']})",
            highlight=False,
            soft_wrap=True,
        )

    def _start(self) -> Progress:
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[text]}"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            auto_refresh=False,  # a thread that draws would take its time from the rounds
        )
        bar.add_task(self._label, total=1.0, text="")
        bar.start()
        return bar

    def _done(self, row: Row) -> float:
        """The share of whichever limit is nearer."""
        by_rounds = float(row["round"]) / self._rounds if self._rounds else 0.0
        return max(by_rounds, float(row["resource_blocks"]) / self._blocks)

    def _text(self, row: Row) -> str:
        accuracy = "" if math.isnan(self._accuracy) else f"accuracy {self._accuracy:.2%}, "
        return (
            f"round {row['round']}, {accuracy}{row['scheduled']}/{self._devices} devices, "
            f"{row['slots']:,} slots"
        )

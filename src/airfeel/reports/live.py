"""Runs that go on, as a page sees them: read again when their files change, however they end."""

import html
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from airfeel.analysis.criterion import Judge
from airfeel.analysis.groups import group
from airfeel.errors import BadInput
from airfeel.reports import Json
from airfeel.reports.data import page_data
from airfeel.reports.page import page, told
from airfeel.reports.runs import read
from airfeel.storage.run import Run

_FILES = ("rounds.csv", "summary.json", "config.toml")
Stamp = tuple[tuple[str, int, int], ...]
_WAITING = (
    '<!doctype html><html lang="en"><meta charset="utf-8">'
    '<meta http-equiv="refresh" content="2"><title>airfeel: waiting</title>'
    "<body style='font-family:system-ui;margin:3rem'><h1>Waiting for the first round</h1>"
    "<p>{places}</p><ul>{notes}</ul></body></html>"
)


@dataclass
class Watched:
    """The runs in some folders; each is read once for every state of its files.

    What cannot be read, such as a run that was deleted or holds no round yet, is told in a note;
    a run that was read before stays on the page as it was.
    """

    places: Sequence[Path]
    judge: Judge = field(default_factory=Judge)
    _seen: dict[Path, Stamp] = field(default_factory=dict)
    _runs: dict[Path, Run] = field(default_factory=dict)
    _notes: dict[Path, str] = field(default_factory=dict)
    _state: tuple[int, dict[str, Json]] = (0, {})
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def state(self) -> tuple[int, dict[str, Json]]:
        """How often something has changed, and what the page is to show; empty before any round."""
        with self._lock:
            if self._look():
                self._state = (self._state[0] + 1, self._shown())
            return self._state

    def whole_page(self) -> str:
        """The page as it is now."""
        number, shown = self.state()
        with self._lock:
            if not shown:
                notes = "".join(f"<li>{html.escape(note)}</li>" for note in self._notes.values())
                where = html.escape(", ".join(map(str, self.places)))
                return _WAITING.format(places=where, notes=notes)
            groups, spare = group(self._runs.values())
            return page(groups, spare, self.judge, live=number)

    def _look(self) -> bool:
        """Read what has changed since the last look; whether there was any."""
        changed = False
        for folder in sorted(
            {p.parent for place in self.places for p in place.rglob("rounds.csv")}
        ):
            stamp, note = _stamp(folder), self._notes.get(folder)
            if self._seen.get(folder) != stamp or note:  # what failed may have been half written
                self._read(folder)
                changed |= self._seen.get(folder) != stamp or self._notes.get(folder) != note
                self._seen[folder] = stamp
        return changed

    def _read(self, folder: Path) -> None:
        self._notes.pop(folder, None)
        try:
            self._runs[folder] = read(folder)
        except (BadInput, OSError) as error:
            self._notes[folder] = str(error)

    def _shown(self) -> dict[str, Json]:
        if not self._runs:
            return {}
        groups, spare = group(self._runs.values())
        texts = told(groups, spare, self.judge)
        notes = "".join(f'<p class="note">{html.escape(n)}</p>' for n in self._notes.values())
        return {
            "data": page_data(groups, self.judge),
            "told": texts | {"lacks": texts["lacks"] + notes},
        }


def _stamp(folder: Path) -> Stamp:
    """Sizes and times of a run's files; those that are not there are left out."""
    found = []
    for name in _FILES:
        try:
            status = (folder / name).stat()
        except OSError:
            continue
        found.append((name, status.st_size, status.st_mtime_ns))
    return tuple(found)

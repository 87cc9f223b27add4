"""What the command line does, from Python: open, compare, sweep, report."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from airfeel.analysis.criterion import parse_judge
from airfeel.analysis.groups import Groups, check
from airfeel.catalogue import Value
from airfeel.errors import BadInput, quote
from airfeel.optional import needed
from airfeel.reports.runs import load
from airfeel.reports.summary import markdown, said, whole_sheet
from airfeel.reports.tidy import tidy
from airfeel.reports.write import beside, write
from airfeel.runs.signals import Signals
from airfeel.storage.notebook import table_html
from airfeel.storage.reader import open_run
from airfeel.storage.run import Run
from airfeel.sweeps.compare import run_all
from airfeel.sweeps.expand import asked
from airfeel.sweeps.sweep import Sweep, read_sweep, trials_of

if TYPE_CHECKING:
    from pandas import DataFrame

Place = str | Path


@dataclass(frozen=True)
class Comparison:
    """Runs by label, those of one label differing in the seed alone; `judge` is as in --judge."""

    groups: Groups
    judge: str = "blocks"

    @property
    def verdict(self) -> str:
        """Who is ahead, by how much and how surely, in sentences."""
        return said(self.groups, parse_judge(self.judge))

    def markdown(self) -> str:
        """The table, the verdict and what computed the runs, as Markdown."""
        return markdown(self.groups, parse_judge(self.judge))

    def frame(self) -> "DataFrame":
        """One row per run, with the settings that vary and the results, as a pandas DataFrame."""
        needed("pandas", "pandas")
        from pandas import read_csv

        return read_csv(StringIO(tidy(self.groups, parse_judge(self.judge))))

    def report(self, out: Place, formats: Sequence[str] = ("html",)) -> list[Path]:
        """Write the page, figures and tables into a folder; the paths, the page's first."""
        return write(self.groups, Path(out), formats, judge=parse_judge(self.judge))

    def _repr_html_(self) -> str:
        sheet = whole_sheet(self.groups, parse_judge(self.judge))
        return table_html(sheet.head, sheet.rows, self.verdict)


def open(folder: Place) -> Run:
    """A stored run as far as it got, checked against its checksums; its summary may be empty.

    folder: of one run, such as runs/digits-tcs-h-seed1.
    """
    return open_run(Path(folder))


def compare(
    sources: Sequence[str] | str = (),
    *,
    schemes: Sequence[str] = (),
    seeds: Iterable[int] = (0,),
    overrides: Iterable[str] = (),
    out: Place = "runs/compare",
    workers: int = 1,
    fresh: bool = False,
    judge: str = "blocks",
    **more: Value,
) -> Comparison:
    """Schemes under the same seeds and sky: finished runs are read, the others carried out.

    sources: presets or TOML files; digits-tcs-h if left out. schemes: put into each of them.
    overrides: `section.key=value` for all; `more` are such keys with `__` for the dot.
    workers: runs at a time, 0 for one per core.
    fresh: delete what is there and run again. judge: what decides, as in `airfeel compare --judge`.
    """
    by = parse_judge(judge)
    if isinstance(seeds, int | str) or isinstance(schemes, str):
        word, value = ("schemes", schemes) if isinstance(schemes, str) else ("seeds", seeds)
        legal = '("tcs-h", "fedavg")' if word == "schemes" else "(0, 1, 2) or range(3)"
        raise BadInput(f"{word} = {quote(value)}: must be several, such as {legal}")
    named = asked(
        [sources] if isinstance(sources, str) else sources, schemes, [*seeds], overrides, **more
    )
    if workers == 1:
        return Comparison(run_all(named, Path(out), fresh=fresh, judge=by), judge)
    check(named)
    return _all(Sweep(trials_of(named, Path(out), fresh, by), workers), judge)


def sweep(
    file: Place, out: Place | None = None, *, workers: int = 0, judge: str = "final"
) -> Comparison:
    """Every combination of the settings and seeds in a TOML file, on all cores.

    file: base, seeds, grid and list. out: folder for the runs; runs/NAME if left out.
    """
    by = parse_judge(judge)
    target = Path("runs") / Path(file).stem if out is None else Path(out)
    return _all(Sweep(read_sweep(Path(file), target, by), workers), judge)


def report(
    places: Sequence[Place] | Place,
    out: Place | None = None,
    *,
    formats: Sequence[str] = ("html",),
    judge: str = "blocks",
) -> list[Path]:
    """Write a report on stored runs; the paths, the page's first.

    places: folders of runs, or folders that hold some. out: next to the runs if left out.
    formats: html for the page; pdf, svg, png or pgf for figures.
    """
    every = [Path(p) for p in ([places] if isinstance(places, str | Path) else places)]
    groups, spare = load(every)
    target = beside(every) if out is None else Path(out)
    return write(groups, target, formats, spare, parse_judge(judge))


def _all(work: Sweep, judge: str) -> Comparison:
    """All trials, carried out; one that fails is told once the others are done."""
    work.play(Signals(), lambda _: None)
    for folder, fault in work.faults.items():
        raise BadInput(f"{folder} failed: {fault}")
    return Comparison(work.runs(), judge)

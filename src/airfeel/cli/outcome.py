"""What compare, sweep and report share: what they tell and write."""

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from airfeel.analysis.criterion import Judge
from airfeel.analysis.groups import Groups, varied
from airfeel.analysis.ranking import lines, starving, unlike, untuned, verdict
from airfeel.analysis.tables import show
from airfeel.reports.arithmetic import computed_by
from airfeel.reports.maps import Axis, resolved, save_map
from airfeel.reports.summary import paired_sheet, standing_sheet
from airfeel.reports.write import write
from airfeel.settings.config import Experiment
from airfeel.types import BadInput


def tell(groups: Groups, judge: Judge) -> None:
    """The table, the differences seed by seed, and the verdict."""
    console = Console()
    by = judge.settled(groups)
    table = lines(groups, by)
    show(console, standing_sheet(groups, table, by))
    paired = paired_sheet(table, by)
    if paired:
        console.print()
        show(console, paired)
        console.print()
    for sentence in (
        *(verdict(table, by), *unlike(groups), *untuned(groups)),
        *(*starving(groups), *computed_by(groups)[1:]),
    ):
        console.print(sentence, highlight=False, markup=False)


def page(groups: Groups, out: Path, judge: Judge) -> None:
    """Write the report beside the runs, where what it needs is installed."""
    try:
        paths = write(groups, out, judge=judge)
    except BadInput as error:
        typer.echo(f"no report page: {error}")
    else:
        typer.echo(f"report in {paths[0]}")


_FIGURES = ("pdf", "svg", "png")


def chosen(x: str | None, y: str | None, color: str | None, labels: dict[str, str]) -> Axis | None:
    """The figure over settings that was asked for, if any."""
    if x is None and (y or color):
        raise BadInput(f"--{'y' if y else 'color'} {y or color}: needs --x too")
    return None if x is None else Axis(x, y, color, labels)


def draw(
    groups: Groups, judge: Judge, axis: Axis | None, out: Path, formats: Sequence[str]
) -> None:
    """Draw it into a folder, as PNG where no format of figures was asked for."""
    if axis is not None:
        kinds = [name for name in formats if name in _FIGURES] or ["png"]
        for path in save_map(groups, judge, axis, out, kinds):
            typer.echo(f"wrote {path}")


def names(labels: Sequence[str] | None) -> dict[str, str]:
    """OLD=NEW pairs; the last = parts them, since names of groups hold some."""
    pairs = {}
    for text in labels or ():
        old, equals, new = text.rpartition("=")
        if not equals or not old or not new:
            raise BadInput(f"--label {text!r:.200}: must be OLD=NEW")
        pairs[old] = new
    return pairs


def check(
    experiments: Sequence[tuple[str, Experiment]], labels: dict[str, str], axis: Axis | None = None
) -> None:
    """Refuse names and axes that nothing will have, before anything is run.

    experiments: with their labels. How an own scheme calls itself is known later.
    """
    every = [e for _, e in experiments]
    vary, own = varied(every), any(":" in e.scheme.name for e in every)
    known = [*dict.fromkeys(label for label, _ in experiments), *vary]
    for old in labels if not own else ():
        if old not in known and old not in {e.scheme.name for e in every}:
            raise BadInput(f"--label {old}: must be one of {', '.join(known):.200}")
    if axis is not None:
        resolved(axis, every)


def _called(label: str, labels: dict[str, str]) -> str:
    """A group's new name; that of a scheme, too, where settings stand behind it in brackets."""
    scheme, bracket, settings = label.partition(" (")
    return labels.get(label) or labels.get(scheme, scheme) + bracket + settings


def renamed(groups: Groups, labels: dict[str, str]) -> Groups:
    """The groups by their new names, refused where one is unknown or would fall on another."""
    firsts = [runs[0] for runs in groups.values()]
    vary = varied([run.experiment for run in firsts])
    given = {run.experiment.scheme.name: run.name for run in firsts}  # as settings and tables do
    labels = {given.get(old, old): new for old, new in labels.items()}
    for old in labels:
        if old not in groups and old not in vary and old not in given.values():
            known = ", ".join([*groups, *vary])
            raise BadInput(f"--label {old}: must be one of {known:.200}")
    found = {_called(label, labels): runs for label, runs in groups.items()}
    if len(found) < len(groups):
        raise BadInput("--label: two groups would have the same name")
    return found

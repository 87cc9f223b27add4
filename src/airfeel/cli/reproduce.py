"""airfeel reproduce."""

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from typer.core import TyperGroup

from airfeel.analysis.criterion import parse_judge
from airfeel.analysis.tables import Sheet, show
from airfeel.cli.compare import parse_seeds
from airfeel.cli.options import JUDGES, LOUDNESS, DataDir
from airfeel.cli.run import displays, stopping
from airfeel.cli.trials import play
from airfeel.reproduce import accounting as costs
from airfeel.reproduce import claims, results, studies, tables
from airfeel.reproduce import figures as drawings
from airfeel.reproduce.curves import SETS, Curve, curves, match, pick
from airfeel.reproduce.kept import outcome_sheet, runs_sheet
from airfeel.reproduce.running import (
    Shares,
    carry_out,
    seconds_of,
    shortened,
    trials,
)
from airfeel.reproduce.whereabouts import give_way, whereabouts
from airfeel.settings.preset_names import BARE
from airfeel.sweeps.pool import STOPPED
from airfeel.sweeps.sweep import Sweep
from airfeel.types import BadInput

_SPLITS = {"iid": ["iid"], "noniid": ["noniid"], "sparse": ["sparse"]}
_SPLITS |= {"bits": ["bits"], "all": ["iid", "noniid", "sparse"]}
_HELP = {
    "iid": "The i.i.d. curves of the paper, and FedAvg beside them.",
    "noniid": "The non-i.i.d. curves at (0.2, 0.05), and FedAvg beside them.",
    "sparse": "The non-i.i.d. curves read at (0.01, 0.0025).",
    "bits": "TCS-H with 4, 8 and 16 bits per value, where Lemma 1 allows.",
    "all": "Both readings of the non-i.i.d. curves and the i.i.d. ones; also without a command.",
}
_OUT = Path("runs/reproduce")

From = Annotated[
    list[Path] | None,
    typer.Option("--from", help="Runs to judge instead of running any; may be repeated."),
]


Bare = Annotated[
    bool, typer.Option("--bare", help="The paper's stated settings alone, no training recipe.")
]


class _AllByDefault(TyperGroup):
    """`airfeel reproduce --scale 0.1` is `airfeel reproduce all --scale 0.1`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] != "--help"):
            args = ["all", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    help="The paper's experiments: its claims judged, its costs computed, its figures made.",
    cls=_AllByDefault,
    rich_markup_mode=None,
)


def _command(which: str) -> Callable[..., None]:
    """The command that carries out and judges one set of curves."""

    def command(
        scale: Annotated[
            float, typer.Option(help="Share of the paper's rounds to run; changes nothing else.")
        ] = 1.0,
        budget_hours: Annotated[
            float | None, typer.Option(help="Time, shared evenly; the rest is not reached.")
        ] = None,
        seeds: Annotated[str, typer.Option(help="Such as 0..2 (three seeds) or 0,3,7.")] = "0",
        out: Annotated[Path, typer.Option(help="Folder for runs and tables.")] = _OUT,
        from_: From = None,
        bare: Bare = False,
        only: Annotated[
            str, typer.Option(help="Curves to run, such as iid-tcs-h,iid-top-k; else the set.")
        ] = "",
        data_dir: DataDir = None,
        eval_every: Annotated[
            int | None,
            typer.Option(
                min=1, help="Rounds between looks at the test set; 10 (iid), 50 if left out."
            ),
        ] = None,
        workers: Annotated[
            int,
            typer.Option(min=0, help="Curves at a time, a core each if not 1; 0 for one per core."),
        ] = 1,
        nice: Annotated[
            bool, typer.Option("--nice", help="Let everything else on the machine go first.")
        ] = False,
        status: Annotated[
            bool, typer.Option("--status", help="Only tell where each curve is; run nothing.")
        ] = False,
    ) -> None:
        wanted = pick(which, [name for name in only.split(",") if name], bare)
        if from_:
            _judge(which, bare, from_, out, [])
            return
        planned = trials(wanted, parse_seeds(seeds), scale, out, data_dir, eval_every)
        work = Sweep(planned, workers)
        _tell_where(work, budget_hours)
        if status:
            return
        if nice:
            give_way()
        notes = [text for text in [shortened(wanted, scale)] if text]
        for note in notes:
            typer.echo(note)
        carry = _carry_out if workers == 1 else _carry_out_at_a_time
        refused = carry(work, budget_hours)
        _tell_where(work, budget_hours)
        _judge(which, bare, [trial.folder for trial in planned if trial.begun], out, notes)
        if refused:
            raise typer.Exit(1)

    command.__doc__ = f"""{_HELP[which]}

    Finished runs are reused, unfinished ones resumed, and the paper's claims judged by their rows.
    The same command goes on after Ctrl-C, a kill or a restart of the machine.
    """
    return command


def _carry_out(work: Sweep, hours: float | None) -> list[str]:
    """Run and resume what is missing; what is said of the runs that cannot be resumed."""
    refused: list[str] = []

    def tell(line: str) -> None:
        refused.append(line)
        typer.echo(f"airfeel: {line}", err=True)

    # A live line cannot be handed from one run to the next when a share of time is over.
    live = False if hours else None
    with stopping("the same command") as signals:
        carry_out(
            work.trials,
            hours,
            lambda name, e: displays(f"{name} seed {e.run.seed}", live=live),
            signals,
            tell,
        )
    return refused


def _carry_out_at_a_time(work: Sweep, hours: float | None) -> list[str]:
    """The same with several curves beside each other, each on a core of its own."""
    end = seconds_of(hours) + time.monotonic()
    with stopping("the same command") as signals:
        play(work, signals, Shares(end))
    failed = {folder: fault for folder, fault in work.faults.items() if fault != STOPPED}
    for folder, fault in failed.items():
        typer.echo(f"airfeel: {folder}: {fault}", err=True)
    return [*failed.values()]


def _tell_where(work: Sweep, hours: float | None) -> None:
    for line in whereabouts(work.trials, datetime.now(), hours, work.at_a_time):
        typer.echo(line)


def _judge(which: str, bare: bool, places: list[Path], out: Path, notes: list[str]) -> None:
    paper = curves(bare)
    stored, _ = match(places, paper.values())
    if which == "bits":
        sheet = claims.bits_sheet(stored, paper, SETS["bits"], notes)
    else:
        sheet = claims.sheet(claims.judge_all(stored, paper, _SPLITS[which]), notes)
    sheets = {"": sheet}
    if stored:
        sheets["Runs"] = runs_sheet(stored, paper)
        sheets["What they came to"] = outcome_sheet(stored, paper)
    words = ", its stated settings alone" if bare else ""
    _show(sheets, out, f"The paper's claims: {which}{words}", f"claims-{which}{BARE * bare}")


for _which in SETS:
    app.command(_which, short_help=_HELP[_which])(_command(_which))


@app.command()
def accounting(
    draws: Annotated[int, typer.Option(help="Draws of the sky.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the tables.")] = _OUT,
) -> None:
    """The paper's costs from simulated slots, without any training: a minute or two."""
    if draws < 2:
        raise BadInput(f"--draws {draws}: must be at least 2")
    console = Console(quiet=LOUDNESS.get().quiet)
    steps = iter(track(range(draws), "drawing skies", console=console, transient=True))
    account = costs.account(draws, seed, lambda: next(steps, None))
    _show(account.sheets(), out, "The paper's costs, from simulated slots", "accounting")


@app.command()
def figures(
    from_: From = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the figures; FROM/figures if left out.")
    ] = None,
    format: Annotated[str, typer.Option(help="png, svg or pdf.")] = "png",
    bare: Bare = False,
) -> None:
    """The paper's figures, and the one on starvation, from stored rows."""
    places, known = from_ or [_kept(bare)], curves(bare)
    stored, _ = match(places, known.values())
    if not stored:
        raise BadInput(f"--from {places[0]}: holds no run of one of the paper's curves")
    if format not in ("png", "svg", "pdf"):
        raise BadInput(f"--format {format}: must be png, svg or pdf")
    for path in drawings.save_paper(stored, known, out or places[0] / "figures", format):
        typer.echo(f"wrote {path}")


@app.command()
def study(
    kind: Annotated[str, typer.Argument(help=f"{', '.join(studies.KINDS)}.")],
    from_: From = None,
    out: Annotated[
        Path | None, typer.Option(help="The figure; FROM/figures/KIND.png if left out.")
    ] = None,
    judge: Annotated[
        str | None, typer.Option(metavar="WHAT", help="Of a grid, instead of its budget: " + JUDGES)
    ] = None,
) -> None:
    """The figure and the numbers of a study, from the runs of its sweep."""
    studies.check_kind(kind)
    if not from_:
        raise BadInput("--from: name the folder of the sweep's runs")
    path = out or from_[0] / "figures" / f"{kind}.png"
    figure, sheet = studies.draw(kind, from_, path, parse_judge(judge) if judge else None)
    _show({"": sheet}, path.parent, f"Study: {kind}", path.stem)
    typer.echo(f"wrote {figure}")


@app.command()
def export(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or folders that hold some.")],
    to: Annotated[
        Path | None,
        typer.Option(help="Folder for the small copies; results, or results/bare with --bare."),
    ] = None,
    others: Annotated[
        bool, typer.Option("--others", help="Also runs that are no curve of the paper.")
    ] = False,
    bare: Bare = False,
) -> None:
    """Copy settings, rows and endings of runs, small enough to be kept beside the code."""
    copies, spare = results.export(runs, to or _kept(bare), curves(bare), others)
    for path in copies:
        typer.echo(f"wrote {path}")
    for run in spare:
        typer.echo(f"left out, no curve of the paper or not its longest run: {run.folder}")


@app.command("list")
def listing() -> None:
    """The curves by name, and where their settings are."""
    for curve in curves().values():
        typer.echo(f"{curve.name:22} {_about(curve)}")


def _kept(bare: bool) -> Path:
    """Where small copies of runs are kept."""
    return Path("results/bare") if bare else Path("results")


def _about(curve: Curve) -> str:
    sets = ", ".join(name for name, members in SETS.items() if curve.name in members)
    return f"{curve.label:26} {curve.rounds:>6,} rounds  {sets or 'by --only'}"


def _show(sheets: dict[str, Sheet], out: Path, title: str, name: str) -> None:
    """Print every sheet, and write them beside the runs."""
    console = Console()
    for heading, sheet in sheets.items():
        if heading:
            console.print(f"\n{heading}", style="bold", highlight=False, markup=False)
        show(console, sheet)
    for path in tables.write(sheets, out, title, name):
        typer.echo(f"wrote {path}")

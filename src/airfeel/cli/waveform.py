"""airfeel waveform."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from airfeel.streams import Streams
from airfeel.waveform.carry_out import carry_out, chosen
from airfeel.waveform.scene import Finding
from airfeel.waveform.write import sheet, verdict, write


def waveform(
    out: Annotated[Path, typer.Option(help="Folder for page, table, points and picture.")] = Path(
        "runs/waveform"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Decides every random number.")] = 0,
    only: Annotated[str | None, typer.Option(help="Some of them: W1,W3.")] = None,
) -> None:
    """Send the air as OFDM samples and judge the symbol-level model by them, W1 to W8.

    Ends with status 1 where an experiment fails. W8 needs the extra "airfeel\\[sionna]" and is not
    judged without it.
    """
    console = Console(highlight=False)

    def told(finding: Finding) -> None:
        console.print(f"{finding.key} {escape(finding.title)} …", style="dim")

    findings = carry_out(Streams(seed), chosen(only.split(",") if only else None), told)
    console.print(sheet(findings).fitted(console))
    paths = write(findings, out, seed)
    console.print(f"\n{verdict(findings)} {escape(str(paths[0]))}", soft_wrap=True)
    if any(each.passed is False for each in findings):
        raise typer.Exit(1)

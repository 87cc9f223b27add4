"""airfeel allocate."""

import math
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from airfeel.catalogues import ALLOCATORS
from airfeel.cli.allocation import Outcome, outcomes
from airfeel.cli.allocation_figure import draw
from airfeel.cli.gains import read_gains
from airfeel.errors import BadInput, quote
from airfeel.radio.channel.fading import rayleigh
from airfeel.streams import Streams
from airfeel.types import Fading

# Q[l] = K[l]·(log2 d + q) of the paper's experiment (section V).
_DIM, _K_LOCAL, _BITS_PER_VALUE = 258_898, 12_945, 16
_MOST = 1_000_000
_PAPERS_BITS = _K_LOCAL * (math.log2(_DIM) + _BITS_PER_VALUE)


def allocate(
    allocators: Annotated[
        str, typer.Option(help=f"Such as paper,exchange; all: {', '.join(ALLOCATORS)}.")
    ] = "paper,exchange,sum-rate,round-robin,equal-power",
    devices: Annotated[int, typer.Option(min=1, max=_MOST, help="Devices of a drawn sky.")] = 20,
    subchannels: Annotated[
        int, typer.Option(min=1, max=_MOST, help="Sub-channels of a drawn sky.")
    ] = 25,
    gains: Annotated[
        Path | None, typer.Option(help=".npy or .csv of |h|, a row per device, instead of a draw.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the Rayleigh draw.")] = 0,
    noise: Annotated[float, typer.Option(help="σ0² [W].")] = 1e-6,
    power: Annotated[float, typer.Option(help="Power of each device [W].")] = 5e-3,
    bits: Annotated[
        float, typer.Option(help="Bits that each device has to send; the paper's by default.")
    ] = _PAPERS_BITS,
    plot: Annotated[
        Path | None, typer.Option(help="Draw gains, owners and water levels (.png, .pdf, .svg).")
    ] = None,
) -> None:
    """Share the sub-channels of one sky among its devices, by several allocators."""
    for name, value in (("--noise", noise), ("--power", power), ("--bits", bits)):
        if not 1e-100 <= value <= 1e100:
            raise BadInput(f"{name} {value}: must be a number above 0, from 1e-100 to 1e100")
    if gains:
        gain = read_gains(gains)
    else:
        gain = rayleigh((devices, subchannels), rng=Streams(seed).rng("fading", 1))
    fading, limits = Fading(gain, noise), np.full(len(gain), power)
    names = [name for name in allocators.split(",") if name]
    if not names:
        raise BadInput(f"--allocators {quote(allocators)}: must name at least one")
    results = outcomes(names, fading, limits, bits)
    console = Console()
    console.print(_table(results))
    console.print(_about(results[0], fading), highlight=False)
    if plot:
        try:
            draw(plot, results, fading)
        except (OSError, ValueError) as error:
            raise BadInput(f"--plot {plot}: cannot be written ({error})") from error
        console.print(f"picture in {plot}", highlight=False, soft_wrap=True)


def _table(results: list[Outcome]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("allocator", no_wrap=True)
    for name in ("digital\nslots", "over proven\nbound", "smallest\nrate", "mean\nrate"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("fairness\n(Jain)", "devices\nserved", "time\n[ms]"):
        table.add_column(name, justify="right", no_wrap=True)
    for outcome in results:
        rate = outcome.rates
        table.add_row(
            outcome.allocator,
            f"{outcome.division.slots:,}",
            "unknown" if math.isnan(outcome.over) else f"{outcome.over:.2%}",
            f"{rate.min(initial=math.inf):.2f}" if len(rate) else "none",
            f"{rate.mean():.2f}" if len(rate) else "none",
            f"{outcome.fairness:.3f}",
            str(len(rate)),
            f"{1e3 * outcome.seconds:.1f}",
        )
    return table


def _about(outcome: Outcome, fading: Fading) -> str:
    n, m = fading.gain.shape
    batches = len(outcome.division.owner)
    turns = f", in {batches} batches" if batches > 1 else ""
    return f"{n} devices on {m} sub-channels{turns}; rates in bits per slot."

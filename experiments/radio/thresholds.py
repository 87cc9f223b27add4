"""Judge every row of the table of rates by coded blocks, and measure where one is wrong.

    python experiments/radio/thresholds.py --blocks 200 --out results/radio/thresholds.csv

Blocks of 2000 bits, 5G LDPC, QAM and AWGN, as in W8 of `airfeel waveform` (which judges every third
row); needs the extra "airfeel[sionna]". A row holds if at most a tenth of the blocks is lost 0.4 dB
above its threshold and more than a tenth 0.5 dB below. Where it does not, halving an interval finds
the signal-to-noise ratio of a tenth; points of a row share their bits and their noise, so that
errors fall as the ratio rises. 200 blocks leave a standard error of 0.02 of the block error, which
is some 0.03 dB.
"""

import argparse
import csv
from pathlib import Path

import torch

from airfeel.radio.impairments.mcs import ROWS_DB
from airfeel.streams import Streams
from airfeel.waveform.coded import block_error

FIRST = 2  # row of the table that stands first
ABOVE, BELOW = 0.4, -0.5  # dB about a threshold
WIDTH = 1.2  # dB, about the middle of the interval that is halved
CLOSE = 0.04  # dB, an interval that is small enough
MOST = 0.1  # block error
BATCH = 50  # blocks that are decoded at once


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--blocks", type=int, default=200)
    ask.add_argument("--rows", type=int, nargs="*", default=range(FIRST, FIRST + len(ROWS_DB)))
    ask.add_argument("--out", type=Path, default=Path("results/radio/thresholds.csv"))
    given = ask.parse_args()
    torch.set_num_threads(1)
    with given.out.open("w", newline="") as file:
        sheet = csv.writer(file, lineterminator="\n")
        sheet.writerow(["row", "efficiency", "table_db", "holds", "measured_db", "blocks"])
        for row in given.rows:
            efficiency, table = ROWS_DB[row - FIRST]
            good = not fails(row, table + ABOVE, given.blocks)
            bad = fails(row, table + BELOW, given.blocks)
            holds = good and bad
            found = "" if holds else f"{threshold(row, good, given.blocks):.2f}"
            sheet.writerow([row, efficiency, table, holds, found, given.blocks])
            file.flush()
            print(f"row {row}: {table} dB holds" if holds else f"row {row}: {found} dB", flush=True)


def threshold(row: int, high: bool, blocks: int) -> float:
    """The signal-to-noise ratio [dB] of a tenth of the blocks, below or above what was tried."""
    table = ROWS_DB[row - FIRST][1]
    low, top = (table + BELOW - WIDTH, table + BELOW) if high else (table + ABOVE, table + WIDTH)
    while top - low > CLOSE:
        middle = (low + top) / 2.0
        low, top = (middle, top) if fails(row, middle, blocks) else (low, middle)
    return (low + top) / 2.0


def fails(row: int, decibel: float, blocks: int) -> bool:
    """Whether more than a tenth of the blocks is lost; the rest is not sent once that is sure."""
    lost, efficiency = 0, ROWS_DB[row - FIRST][0]
    for batch in range(blocks // BATCH):
        rng = Streams(0).rng("waveform", 9000 + 100 * row + batch)
        share = block_error(row, efficiency, 10.0 ** (decibel / 10.0), BATCH, rng=rng)
        lost += round(share * BATCH)
        if lost > MOST * blocks:
            return True
    return False


if __name__ == "__main__":
    main()

"""W8: packets of 5G, LDPC codes on QAM, at the thresholds of the table of rates."""

import numpy as np
import torch
from jaxtyping import Complex128, Float64

from airfeel.radio.channel.gaussian import complex_normal
from airfeel.radio.channel.profiles import frequencies, taps
from airfeel.radio.channel.sionna import library
from airfeel.radio.channel.tdl import tdl_response
from airfeel.radio.impairments.mcs import ROWS_DB, mcs_table
from airfeel.types import BadInput, Dice, Link
from airfeel.waveform.scene import Finding, Point

_FIRST = 2  # the first row of the table, as TS 38.214 numbers them
_BITS = 2000  # of a code block
_ABOVE, _BELOW = 0.4, -0.5  # dB about a threshold at which block errors are judged
_MOST = 0.1  # block error at the threshold
_AT_ONCE = 50  # blocks that are decoded at once


def order(row: int) -> int:
    """Bits of a QAM symbol in a row of the 256-QAM table of TS 38.214.

    >>> [order(row) for row in (4, 5, 11, 20)]
    [2, 4, 6, 8]
    """
    return 2 if row <= 4 else 4 if row <= 10 else 6 if row <= 19 else 8


def coded(streams: Dice, blocks: int = 200, every: int = 3) -> Finding:
    """W8: block errors over AWGN at both sides of each threshold, and over TDL-A beside it."""
    rule = f"block error ≤ {_MOST} at the threshold + {_ABOVE} dB, > {_MOST} at {_BELOW} dB"
    title = "Packets at the thresholds of the table"
    try:
        library()
    except BadInput as error:
        return Finding("W8", title, rule, str(error), None)
    points = []
    for row in range(_FIRST, _FIRST + len(ROWS_DB), every):
        efficiency, threshold = ROWS_DB[row - _FIRST]
        for label, step in (("above", _ABOVE), ("below", _BELOW)):
            rng = streams.rng("waveform", 8000 + 10 * row + (step > 0.0))
            snr = 10.0 ** ((threshold + step) / 10.0)
            found = block_error(row, efficiency, snr, blocks, rng=rng)
            points.append(Point(float(row), found, _MOST, label))
    above, below = points[::2], points[1::2]
    faded = _faded(streams, blocks)
    return Finding(
        "W8",
        title,
        rule,
        f"rows {_FIRST} to {int(points[-1].x)}, {blocks} blocks each: at most "
        f"{max(p.measured for p in above):.3g} above, at least "
        f"{min(p.measured for p in below):.3g} below; recorded: {faded:.2g} of row 16 over TDL-A "
        f"at the threshold + {_ABOVE} dB in the mean",
        all(p.measured <= _MOST for p in above) and all(p.measured > _MOST for p in below),
        tuple(points),
        "row of the table",
        model="0.1, at the threshold",
        marks="blocks",
        unit="block error",
    )


def reached() -> Finding:
    """What the table offers of capacity against the signal-to-noise ratio: a curve, no verdict."""
    link, decibels = Link(table=mcs_table()), np.arange(-5.0, 45.5, 0.5)
    snr = 10.0 ** (decibels / 10.0)
    share = link.bits(snr) / np.log2(1.0 + snr)
    cap = np.minimum(1.0, ROWS_DB[-1][0] / np.log2(1.0 + snr))
    points = (Point(*each) for each in zip(decibels, share.tolist(), cap.tolist(), strict=True))
    return Finding(
        "rates",
        "Bits of the table over capacity",
        "",
        "",
        None,
        tuple(points),
        "signal-to-noise ratio [dB]",
        model="capacity, at most 7.4063 bits",
        marks="table, nine tenths of its bits",
        unit="rate over capacity",
    )


def _faded(streams: Dice, blocks: int, row: int = 16) -> float:
    """Block error where each block meets 25 sub-channels of TDL-A, known at the receiver."""
    efficiency, threshold = ROWS_DB[row - _FIRST]
    rng, snr = streams.rng("waveform", 8999), 10.0 ** ((threshold + _ABOVE) / 10.0)
    waves = complex_normal(rng.random((blocks, len(taps("A").delay), 2)))
    h = tdl_response(waves, np.zeros(blocks), "A", 1e-7, frequencies(25, 1e6))
    return block_error(row, efficiency, snr, blocks, h, rng=rng)


def block_error(
    row: int,
    efficiency: float,
    snr: float,
    blocks: int,
    h: Complex128[np.ndarray, "{blocks} M"] | None = None,
    *,
    rng: np.random.Generator,
) -> float:
    """The share of code blocks that are not decoded.

    Args:
        row: of the table, which tells the constellation.
        efficiency: bits per symbol.
        snr: of a symbol, linear; in the mean where there is fading.
        blocks: how many are sent.
        h: channel of each block, its symbols on the sub-channels in turn; None: 1.
        rng: dice of bits and noise.
    """
    phy, q = library(), order(row)
    symbols = round(_BITS / efficiency)
    exact = {"precision": "single", "device": "cpu"}
    encoder = phy.fec.ldpc.LDPC5GEncoder(_BITS, symbols * q, num_bits_per_symbol=q, **exact)
    decoder = phy.fec.ldpc.LDPC5GDecoder(encoder, num_iter=20, **exact)
    mapper = phy.mapping.Mapper("qam", q, **exact)
    demapper = phy.mapping.Demapper("app", "qam", q, **exact)
    bits = torch.from_numpy(rng.integers(0, 2, (blocks, _BITS)).astype(np.float32))
    sent = mapper(encoder(bits))
    noise = complex_normal(rng.random((blocks, symbols, 2))) / np.sqrt(snr)
    power = _spread(h, blocks, symbols)
    met = sent + torch.from_numpy(noise / np.sqrt(power)).to(sent)  # divided by h, which is known
    variance = torch.from_numpy(1.0 / (snr * power)).to(torch.float32)
    some = [slice(i, i + _AT_ONCE) for i in range(0, blocks, _AT_ONCE)]  # which stay in caches
    found = torch.cat([decoder(demapper(met[s], variance[s])) for s in some])
    return float((found != bits).any(dim=1).double().mean())


def _spread(
    h: Complex128[np.ndarray, "b M"] | None, blocks: int, symbols: int
) -> Float64[np.ndarray, "{blocks} {symbols}"]:
    """|h|² of every symbol."""
    if h is None:
        return np.ones((blocks, symbols))
    return np.abs(h[:, np.arange(symbols) % h.shape[1]]) ** 2

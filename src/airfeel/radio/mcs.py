"""Modulation and coding of 5G: what 256-QAM and LDPC codes reach instead of capacity."""

# Spectral efficiency [bits/symbol] of rows 2…27 of the 256-QAM table of 3GPP TS 38.214, and the
# signal-to-noise ratio [dB] of block error 0.1 (code blocks of 2000 bits, AWGN, 5G LDPC). They are
# interpolated from tables of block errors on a coarse grid, but for those that coded blocks did not
# bear out, 200 of each by `python experiments/radio/thresholds.py`: rows 5 (3.65 before), 8 (6.37)
# and 10 (8.09) lost 0.27, 0.54 and 0.35 of their blocks 0.4 dB above these, and were measured.
ROWS_DB = (
    *((0.6016, -1.64), (0.8770, 0.05), (1.1758, 1.63), (1.4766, 4.21), (1.6953, 4.79)),
    *((1.9141, 6.05), (2.1602, 7.03), (2.4062, 7.90), (2.5703, 8.73), (2.7305, 9.50)),
    *((3.0293, 10.55), (3.3223, 11.11), (3.6094, 12.71), (3.9023, 13.20), (4.2129, 14.38)),
    *((4.5234, 15.53), (4.8164, 16.02), (5.1152, 17.37), (5.3320, 18.51), (5.5547, 18.91)),
    *((5.8906, 19.80), (6.2266, 20.80), (6.5703, 22.13), (6.9141, 22.94), (7.1602, 23.88)),
    (7.4063, 25.10),
)
_GOODPUT = 0.9  # at block error 0.1, failed blocks being repeated


def mcs_table() -> tuple[tuple[float, float], ...]:
    """Least signal-to-noise ratio (linear) and bits per slot of each row, rising.

    >>> least, bits = mcs_table()[-1]
    >>> round(least, 1), round(bits, 4)
    (323.6, 6.6657)
    """
    return tuple((10.0 ** (db / 10.0), _GOODPUT * bits) for bits, db in ROWS_DB)

"""Modulation and coding of 5G: what 256-QAM and LDPC codes reach instead of capacity."""

# Spectral efficiency [bits/symbol] of rows 2…27 of the 256-QAM table of 3GPP TS 38.214, and the
# signal-to-noise ratio [dB] of block error 0.1 (code blocks of 2000 bits, AWGN, 5G LDPC). They are
# interpolated from tables of block errors on a coarse grid, but for rows that lost more than a
# tenth of 200 coded blocks 0.4 dB above their threshold: those were measured by halving an interval
# to 0.04 dB with `python experiments/radio/thresholds.py` (results/radio/thresholds.csv). Rows 3,
# 4, 5, 8, 10, 13, 15, 18 had 0.05, 1.63, 3.65, 6.37, 8.09, 11.11, 13.20 and 16.02 dB before.
ROWS_DB = (
    *((0.6016, -1.64), (0.8770, 0.46), (1.1758, 2.37), (1.4766, 4.21), (1.6953, 4.79)),
    *((1.9141, 6.05), (2.1602, 7.03), (2.4062, 7.90), (2.5703, 8.73), (2.7305, 9.50)),
    *((3.0293, 10.55), (3.3223, 11.75), (3.6094, 12.71), (3.9023, 13.64), (4.2129, 14.38)),
    *((4.5234, 15.53), (4.8164, 16.56), (5.1152, 17.37), (5.3320, 18.51), (5.5547, 18.91)),
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

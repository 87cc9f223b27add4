"""Decibels at the edge, linear SI units inside."""

import math


def from_db(db: float) -> float:
    """A ratio in dB as a number. ``from_db(3) ≈ 2``.

    >>> from_db(20.0)
    100.0
    """
    return float(10.0 ** (db / 10.0))


def to_db(ratio: float) -> float:
    """A positive ratio in dB.

    >>> to_db(100.0)
    20.0
    """
    return 10.0 * math.log10(ratio)


def from_dbm(dbm: float) -> float:
    """A power in dBm as watts.

    >>> from_dbm(30.0)
    1.0
    """
    return from_db(dbm - 30.0)


def to_dbm(watts: float) -> float:
    """A positive power in watts as dBm.

    >>> to_dbm(1.0)
    30.0
    """
    return to_db(watts) + 30.0

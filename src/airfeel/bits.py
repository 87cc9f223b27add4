"""How many bits a value may have when it is sent: the one place that says so."""

import math

from airfeel.errors import BadInput

QUANTISED = range(2, 25)  # q of a quantiser: a sign and at least one level; exact in float64
UNQUANTISED = 32  # bits of a value that is sent as it is


def check_bits(bits: int) -> None:
    """Refuse a number of bits that the quantiser does not know.

    >>> check_bits(8)
    """
    if bits not in QUANTISED and bits != UNQUANTISED:
        raise BadInput(f"bits = {bits}: must be from 2 to 24, or 32 for unquantised values")


def place_bits(dim: int, entries: int) -> float:
    """log2 C(D, q): the bits that name q of D entries.

    Args:
        dim: D.
        entries: q.

    >>> round(place_bits(7850, 12) + 33, 2), round(place_bits(7850, 13) + 33, 2)
    (159.41, 168.65)
    """
    chosen = math.lgamma(dim + 1) - math.lgamma(entries + 1) - math.lgamma(dim - entries + 1)
    return chosen / math.log(2.0)

"""How many bits a value may have when it is sent: the one place that says so."""

from airfeel.errors import BadInput

QUANTISED = range(2, 25)  # q of a quantiser: a sign and at least one level; exact in float64
UNQUANTISED = 32  # bits of a value that is sent as it is


def check_bits(bits: int) -> None:
    """Refuse a number of bits that the quantiser does not know.

    >>> check_bits(8)
    """
    if bits not in QUANTISED and bits != UNQUANTISED:
        raise BadInput(f"bits = {bits}: must be from 2 to 24, or 32 for unquantised values")

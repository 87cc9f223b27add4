"""TCS-D: time-correlated sparsification, all of it digital."""

from airfeel.compress.codecs import TimeCorrelated
from airfeel.schemes.digital import digital
from airfeel.schemes.settings import NoOptions, Settings
from airfeel.types import Scheme


def tcs_d(s: Settings) -> Scheme:
    """Global part quantised without indices, local part with them; random devices."""
    s.read(NoOptions)
    codec = TimeCorrelated(
        *(s.dim, s.k_global, s.k_local, s.bits),
        analog=False,
        strict=s.strict_bits,
        mask=s.mask,
        memory=s.memory,
    )
    return digital(s, "tcs-d", codec)

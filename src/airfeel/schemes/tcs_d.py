"""TCS-D: time-correlated sparsification, all of it digital."""

from airfeel.compression.codecs import TimeCorrelated
from airfeel.schemes.digital import digital
from airfeel.schemes.settings import NoOptions, Settings
from airfeel.types import Scheme


def tcs_d(s: Settings) -> Scheme:
    """Global part quantised without indices, local part with them; random devices.

    The digital twin of TCS-H in its paper (arXiv:2202.08420, section V): K[g]·q + K[l]·(log2 D + q)
    bits of `scheme.scheduled` devices drawn at random, memory of the rest. Use it where the uplink
    is digital and a mask that all know saves indices.
    """
    s.read(NoOptions)
    codec = TimeCorrelated(
        *(s.dim, s.k_global, s.k_local, s.bits),
        analog=False,
        strict=s.strict_bits,
        mask=s.mask,
        memory=s.memory,
    )
    return digital(s, "tcs-d", codec)

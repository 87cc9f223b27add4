"""Top-K: each device's own largest entries, digitally."""

from airfeel.compress.codecs import TopK
from airfeel.schemes.digital import digital
from airfeel.schemes.settings import NoOptions, Settings
from airfeel.types import Scheme


def top_k(s: Settings) -> Scheme:
    """K = K[g] + K[l] entries with their indices; random devices."""
    s.read(NoOptions)
    codec = TopK(s.dim, s.k_global + s.k_local, s.bits, s.strict_bits, s.memory)
    return digital(s, "top-k", codec)

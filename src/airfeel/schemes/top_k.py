"""Top-K: each device's own largest entries, digitally."""

from airfeel.compression.codecs import TopK
from airfeel.schemes.digital import digital
from airfeel.schemes.settings import NoOptions, Settings
from airfeel.types import Scheme


def top_k(s: Settings) -> Scheme:
    """K = K[g] + K[l] entries with their indices; random devices.

    The baseline of the paper of TCS-H (arXiv:2202.08420): the K largest entries of x = Δ + e,
    quantised, K·(log2 D + q) bits, memory of the rest. Use it as the plainest of sparse schemes.
    """
    s.read(NoOptions)
    codec = TopK(s.dim, s.k_global + s.k_local, s.bits, s.strict_bits, s.memory)
    return digital(s, "top-k", codec)

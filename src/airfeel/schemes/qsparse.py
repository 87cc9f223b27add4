"""Qsparse-local-SGD: sparse and quantised, with memory and local steps."""

from dataclasses import dataclass
from typing import Annotated

from airfeel.compression.buckets import Qsparse, Scaled
from airfeel.ranges import about
from airfeel.schemes.digital import digital
from airfeel.schemes.settings import Settings
from airfeel.types import Scheme


@dataclass(frozen=True)
class Options:
    """What `scheme.options` may set of qsparse."""

    scaled: Scaled = True
    sign: Annotated[bool, about("one bit and a common size in place of levels")] = False


def qsparse(s: Settings) -> Scheme:
    """C(x) = Q(Top_k x)/(1 + β), or signs of Top_k x, with memory (Basu et al. 2019, 1906.02367).

    k = K[g] + K[l] entries; k(log2 d + q) bits per device and round, with `sign` k(log2 d + 1).
    β = min(k/s², √k/s) bounds the quantiser's error. Unscaled it is top-k, to the bit; at q = 32
    and H = 1 it is sparsified SGD with memory (Stich et al. 2018). Devices that synchronise at
    times of their own (the paper's asynchronous form) are not covered.

    When to use it: in place of top-k at few bits, where Q alone would not contract (β ≥ 1).
    """
    own = s.read(Options)
    codec = Qsparse(
        *(s.dim, s.k_global + s.k_local, s.bits, own.scaled, own.sign),
        strict=s.strict_bits,
        memory=s.memory,
    )
    return digital(s, "qsparse", codec)

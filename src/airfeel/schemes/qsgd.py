"""QSGD: every entry of the update, in few bits."""

from dataclasses import dataclass
from typing import Annotated

from airfeel.compression.buckets import Bucket, Quantised
from airfeel.compression.memory import ErrorMemory, NoMemory
from airfeel.ranges import about
from airfeel.schemes.digital import digital
from airfeel.schemes.settings import Settings
from airfeel.types import Scheme


@dataclass(frozen=True)
class Options:
    """What `scheme.options` may set of qsgd."""

    bucket: Bucket = 512
    memory: Annotated[bool, about("whether devices keep what the quantiser took away")] = False
    scaled: Annotated[
        bool | None, about("divide by 1 + β, see `excess`; left out: with a memory")
    ] = None


def qsgd(s: Settings) -> Scheme:
    """Q(x) of all D entries in q = `scheme.bits` bits (Alistarh et al. 2017, arXiv:1610.02132).

    Per round a device sends q·D bits, and 32 for the norm of each bucket of `bucket` entries: a
    fixed-length code, not the Elias code of the paper. No memory, since Q is unbiased; with
    `memory` each bucket is divided by 1 + β so that the error contracts.

    When to use it: where q = 2 to 8 bits for every entry are affordable, as the plainest of the
    quantisers. At equal bits a sparse scheme is usually ahead.
    """
    own = s.read(Options)
    memory = s.memory_or(ErrorMemory() if own.memory else NoMemory())
    scaled = bool(memory.buffers) if own.scaled is None else own.scaled
    codec = Quantised(s.dim, s.bits, own.bucket, scaled, s.strict_bits, memory)
    return digital(s, "qsgd", codec)

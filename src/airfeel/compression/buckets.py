"""Quantised updates without a mask: QSGD in buckets, and Qsparse on each device's own entries."""

import math
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.compression.codecs import (
    Bits,
    Dim,
    Strict,
    TopK,
    all_entries,
    mean_of,
    norm_bits,
    value_bits,
)
from airfeel.compression.memory import ErrorMemory, NoMemory
from airfeel.compression.quantize import UNQUANTISED, check_bits, quantize
from airfeel.compression.signs import mean_size, signs
from airfeel.ranges import Whole, about
from airfeel.types import Agreed, Decoded, Memory, Received, Turn, Words

Bucket = Annotated[Whole, about("consecutive entries that share a norm; 0: all of them")]
Scaled = Annotated[bool, about("divide by 1 + β, so that a memory's error contracts")]


def excess(entries: int, bits: int) -> float:
    """β = min(b/s², √b/s), E‖Q(x) − x‖² ≤ β‖x‖² of b entries (Alistarh et al. 2017, Lemma 3.1).

    Q/(1 + β) contracts whatever β is; Q alone only where β < 1.

    Args:
        entries: b, that share a norm.
        bits: q, with s = 2^(q−1) − 1 levels; 32 where nothing is quantised.

    >>> excess(49, 4), excess(512, 32)
    (1.0, 0.0)
    """
    if bits == UNQUANTISED or entries == 0:
        return 0.0
    s = 2 ** (bits - 1) - 1
    return min(entries / s**2, math.sqrt(entries) / s)


@dataclass(frozen=True)
class Quantised:
    """Q(x) of every entry, in buckets with a norm of their own: QSGD (Alistarh et al. 2017).

    arXiv:1610.02132. A fixed-length code in place of Elias': q bits for each entry, and 32 for the
    norm of each bucket (with one norm for all, as with other quantisers, only under strict
    accounting). With `scaled` each bucket is divided by 1 + β, see `excess`.

    dim: d. bits: q. strict: charge 32 bits for the one norm. memory: what devices keep.
    """

    dim: Dim
    bits: Bits
    bucket: Bucket = 512
    scaled: Scaled = False
    strict: Strict = False
    memory: Memory = field(default_factory=NoMemory)
    columns: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_bits(self.bits)

    @property
    def dice(self) -> int:
        """One uniform for each entry."""
        return self.dim

    @property
    def cost(self) -> float:
        """q·D, and 32 for each bucket."""
        if self.bucket == 0:
            return value_bits(self.dim, self.bits, strict=self.strict)
        buckets = -(-self.dim // self.bucket)
        return self.dim * self.bits + float(buckets * norm_bits(self.dim, self.bits))

    def agree(self, turn: Turn) -> Agreed:
        """All entries."""
        return all_entries(turn)

    def encode(
        self,
        x: Float[Tensor, "n D"],
        agreed: Agreed,
        devices: Int64[np.ndarray, "n"],
        dice: Float64[np.ndarray, "n W"],
        grant: Float64[np.ndarray, "N"] | None = None,
    ) -> Words:
        """Q(x)."""
        nothing = x[..., :0]
        return Words(self.quantised(x, dice), nothing.long(), nothing, self.cost)

    def quantised(
        self, x: Float[Tensor, "n D"], dice: Float64[np.ndarray, "n D"]
    ) -> Float[Tensor, "n D"]:
        """Q(x), bucket by bucket; the last may be shorter."""
        size = self.bucket or self.dim
        whole = self.dim - self.dim % size
        parts = [
            self._equal(x[:, first:last], dice[:, first:last], width)
            for first, last, width in ((0, whole, size), (whole, self.dim, self.dim - whole))
            if last > first
        ]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def _equal(
        self, x: Float[Tensor, "n w"], dice: Float64[np.ndarray, "n w"], width: int
    ) -> Float[Tensor, "n w"]:
        """The same of buckets of one width."""
        rows = (len(x), -1, width)
        sent = quantize(x.reshape(rows), self.bits, dice.reshape(rows)).reshape(x.shape)
        return sent / (1.0 + excess(width, self.bits)) if self.scaled else sent

    def decode(self, turn: Turn, agreed: Agreed, received: Received) -> Decoded:
        """The mean."""
        return mean_of(turn, agreed, received)


@dataclass(frozen=True)
class Qsparse:
    """C(x) = Q(Top_k x)/(1 + β), or with `sign` (‖Top_k x‖₁/k)·sgn x on these entries.

    Qsparse-local-SGD (Basu et al. 2019, arXiv:1906.02367): k(log2 d + q) bits, with signs q = 1.
    Unscaled it is Top-K; without a quantiser, and with one local step, sparsified SGD with memory
    (Stich et al. 2018).

    dim: d. k: K. bits: q. strict: charge 32 bits for the norm. memory: what devices keep.
    """

    dim: Dim
    k: Annotated[Whole, about("K, entries of each device")]
    bits: Bits
    scaled: Scaled = True
    sign: Annotated[bool, about("one bit and a common size in place of levels")] = False
    strict: Strict = False
    memory: Memory = field(default_factory=ErrorMemory)
    columns: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_bits(self.bits)

    @property
    def plain(self) -> TopK:
        """Top-K, of whose values it makes its own."""
        return TopK(self.dim, self.k, UNQUANTISED if self.sign else self.bits, self.strict)

    @property
    def dice(self) -> int:
        """One uniform for each value, as Top-K has; signs do not look at them."""
        return self.k

    @property
    def cost(self) -> float:
        """(log2 d + q)·K, with signs (log2 d + 1)·K."""
        return value_bits(self.k, 1 if self.sign else self.bits, dim=self.dim, strict=self.strict)

    def agree(self, turn: Turn) -> Agreed:
        """Nothing."""
        return self.plain.agree(turn)

    def encode(
        self,
        x: Float[Tensor, "n D"],
        agreed: Agreed,
        devices: Int64[np.ndarray, "n"],
        dice: Float64[np.ndarray, "n W"],
        grant: Float64[np.ndarray, "N"] | None = None,
    ) -> Words:
        """C(x)."""
        words = self.plain.encode(x, agreed, devices, dice)
        value = words.value
        if self.sign:
            value = mean_size(value) * signs(value)
        elif self.scaled:
            value = value / (1.0 + excess(self.k, self.bits))
        return replace(words, value=value, bits=self.cost)

    def decode(self, turn: Turn, agreed: Agreed, received: Received) -> Decoded:
        """The mean."""
        return self.plain.decode(turn, agreed, received)

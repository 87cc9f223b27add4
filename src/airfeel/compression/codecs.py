"""Codecs: what devices say of their error-compensated updates x, and what is made of it."""

import math
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.compression.average import Divide, average, noise_of
from airfeel.compression.mask_rules import Top
from airfeel.compression.masks import top_k, top_k_outside
from airfeel.compression.memory import ErrorMemory, NoMemory
from airfeel.compression.quantize import UNQUANTISED, check_bits, quantize
from airfeel.compression.spelling import Spelling
from airfeel.ranges import Count, about
from airfeel.ranges import Whole as WholeNumber
from airfeel.segments import by_value
from airfeel.types import Agreed, BadInput, Decoded, Mask, Memory, Received, Turn, Words

Dim = Annotated[Count, about("d, numbers in the model")]
Bits = Annotated[int, about("q, bits of a value: 2 to 24, or 32")]
Strict = Annotated[bool, about("charge 32 bits for each quantiser's norm")]
Whom = Annotated[Divide, about("whom the mean is over")]

_NORM_BITS = 32  # a quantiser's norm, charged under strict accounting


def value_bits(values: int, bits: int, *, dim: int = 1, strict: bool = False) -> float:
    """Q = (log2 d + q)·K, the bits of K quantised values with their indices (section II).

    Args:
        values: K, quantised values.
        bits: q, for each value.
        dim: d, length of the model vector; 1 where the receiver knows the indices.
        strict: charge 32 bits for the quantiser's norm too.

    >>> value_bits(10, 6, dim=1024)
    160.0
    """
    return values * (math.log2(dim) + bits) + (norm_bits(values, bits) if strict else 0)


def norm_bits(values: int, bits: int) -> int:
    """Bits of a quantiser's norm; there is none without values, or where they go as they are.

    Args:
        values: K, quantised values.
        bits: q, for each value; 32 where they are not quantised.

    >>> norm_bits(10, 16), norm_bits(0, 16), norm_bits(10, 32)
    (32, 0, 0)
    """
    return _NORM_BITS if values and bits != UNQUANTISED else 0


@dataclass(frozen=True)
class TimeCorrelated:
    """A global mask that all devices share, and each device's own largest rest (TCS, Algorithm 1).

    With `analog` the global part is left as it is, to be summed in the air (TCS-H); otherwise it is
    quantised with its own norm and costs q bits per value, without indices (TCS-D).

    dim: d. k_global, k_local: K[g], K[l]. bits: q. strict: charge 32 bits for each norm.
    mask: the rule of the global mask. memory: what devices keep. divide: whom the mean is over.
    """

    dim: Dim
    k_global: Annotated[WholeNumber, about("K[g], entries of the shared mask")]
    k_local: Annotated[WholeNumber, about("K[l], entries of each device's own")]
    bits: Bits
    analog: Annotated[bool, about("whether the shared part goes by air, unquantised")] = True
    strict: Strict = False
    mask: Mask = field(default_factory=Top)
    memory: Memory = field(default_factory=ErrorMemory)
    divide: Whom = "active"
    columns: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_bits(self.bits)
        if getattr(self.mask, "unbiased", False) and self.memory.buffers:
            raise BadInput(
                "scheme.mask.unbiased = true: values D/K times, beside a memory that sends the "
                "rest; must be false, or scheme.memory be 'none'"
            )

    @property
    def dice(self) -> int:
        """One uniform for each value that is quantised."""
        return self.k_local + (0 if self.analog else self.k_global)

    @property
    def cost(self) -> float:
        """Q of one device: (log2 d + q)·K[l], and q·K[g] where the global part is digital too."""
        local = value_bits(self.k_local, self.bits, dim=self.dim, strict=self.strict)
        if self.analog:
            return local
        norm = norm_bits(self.k_global, self.bits) if self.strict else 0
        return local + self.k_global * self.bits + norm

    @property
    def spelling(self) -> Spelling:
        """Levels in the local part, and in the global one where that is digital."""
        common = UNQUANTISED if self.analog else self.bits
        return Spelling(self.k_local, self.bits, common, self.cost)

    def agree(self, turn: Turn) -> Agreed:
        """The global mask."""
        return Agreed(self.mask(turn, self.k_global))

    def encode(
        self,
        x: Float[Tensor, "n D"],
        agreed: Agreed,
        devices: Int64[np.ndarray, "n"],
        dice: Float64[np.ndarray, "n W"],
        grant: Float64[np.ndarray, "N"] | None = None,
    ) -> Words:
        """x on the global mask, and Q(x) on the local one."""
        common = x.index_select(-1, agreed.support)
        if not self.analog:
            common = quantize(common, self.bits, dice[..., self.k_local :])
        index = top_k_outside(x, self.k_local, agreed.support)
        value = quantize(x.gather(-1, index), self.bits, dice[..., : self.k_local])
        return Words(common, index, value, self.cost)

    def decode(self, turn: Turn, agreed: Agreed, received: Received) -> Decoded:
        """The mean of all that was received, eq. (2); shared entries D/K times if so masked."""
        if getattr(self.mask, "unbiased", False) and self.k_global:
            factor = self.dim / self.k_global
            received = replace(
                received, signal=received.signal * factor, noise=received.noise * factor**2
            )
        return mean_of(turn, agreed, received, self.divide)


@dataclass(frozen=True)
class TopK:
    """Each device's own K largest entries, with their indices: no global mask.

    dim: d. k: K. bits: q. strict: charge 32 bits for the norm. memory: what devices keep.
    """

    dim: Dim
    k: Annotated[WholeNumber, about("K, entries of each device")]
    bits: Bits
    strict: Strict = False
    memory: Memory = field(default_factory=ErrorMemory)
    columns: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_bits(self.bits)

    @property
    def dice(self) -> int:
        """One uniform for each value."""
        return self.k

    @property
    def cost(self) -> float:
        """Q = (log2 d + q)·K."""
        return value_bits(self.k, self.bits, dim=self.dim, strict=self.strict)

    @property
    def spelling(self) -> Spelling:
        """Levels."""
        return Spelling(self.k, self.bits, cost=self.cost)

    def agree(self, turn: Turn) -> Agreed:
        """Nothing."""
        return no_mask(turn)

    def encode(
        self,
        x: Float[Tensor, "n D"],
        agreed: Agreed,
        devices: Int64[np.ndarray, "n"],
        dice: Float64[np.ndarray, "n W"],
        grant: Float64[np.ndarray, "N"] | None = None,
    ) -> Words:
        """Q(x) on each device's own mask."""
        index = top_k(x, self.k)
        value = quantize(x.gather(-1, index), self.bits, dice)
        return Words(x.index_select(-1, agreed.support), index, value, self.cost)

    def decode(self, turn: Turn, agreed: Agreed, received: Received) -> Decoded:
        """The mean over all speakers, also at entries which only some of them sent."""
        return mean_of(turn, agreed, received)


@dataclass(frozen=True)
class Whole:
    """Everything, as it is: no mask, no quantiser, and nothing left to remember.

    memory: what devices keep. divide: whom the mean is over.
    """

    memory: Memory = field(default_factory=NoMemory)
    divide: Whom = "active"
    dice: ClassVar[int] = 0
    columns: ClassVar[tuple[str, ...]] = ()

    @property
    def spelling(self) -> Spelling:
        """Values as they are."""
        return Spelling(0)

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
        """x itself."""
        return Words(x, agreed.support.new_empty((*x.shape[:-1], 0)), x[..., :0])

    def decode(self, turn: Turn, agreed: Agreed, received: Received) -> Decoded:
        """The mean."""
        return mean_of(turn, agreed, received, self.divide)


def silent(dim: int) -> TopK:
    """Says nothing and remembers nothing: for round 0, whose mean is of what the engine holds.

    Args:
        dim: d, length of the model vector.

    >>> silent(8).dice, silent(8).cost
    (0, 0.0)
    """
    return TopK(dim, 0, UNQUANTISED, memory=NoMemory())


def no_mask(turn: Turn) -> Agreed:
    """What is agreed where devices share no mask."""
    return Agreed(torch.zeros(0, dtype=torch.int64, device=turn.state.theta.device))


def all_entries(turn: Turn) -> Agreed:
    """What is agreed where devices send every entry."""
    return Agreed(torch.arange(turn.world.dim, device=turn.state.theta.device))


def mean_of(turn: Turn, agreed: Agreed, received: Received, divide: Divide = "active") -> Decoded:
    """The mean of the signal on the mask and of the devices' own entries, see `average`.

    Args:
        turn: the round; names D and N.
        agreed: the global mask.
        received: the signal on the mask [K], and each device's own entries [n L].
        divide: whom the mean is over.
    """
    world = turn.world
    update = average(received, agreed.support, world.dim, world.devices, divide)
    touched = (heard_of(agreed, received), received.index)
    return Decoded(update, touched, noise_of(received, len(agreed.support), world.devices, divide))


def heard_of(agreed: Agreed, received: Received) -> Int64[Tensor, "_"]:
    """The entries of the mask on whose sub-channel somebody was heard, where symbols are entries.

    Args:
        agreed: the global mask.
        received: the signal, and how many were heard on each sub-channel.

    >>> got = Received(
    ...     speakers=np.array([0]),
    ...     devices=np.array([0]),
    ...     signal=torch.tensor([1.0, 0.0]),
    ...     index=torch.zeros(1, 0).long(),
    ...     value=torch.zeros(1, 0),
    ...     count=1,
    ...     heard=np.array([1, 0]),
    ... )
    >>> heard_of(Agreed(torch.tensor([3, 7])), got)
    tensor([3])
    """
    heard, support = received.heard > 0, agreed.support
    if heard.all() or len(support) != len(received.signal):
        return support
    return support[
        torch.from_numpy(by_value(heard, len(support), received.lanes)).to(support.device)
    ]

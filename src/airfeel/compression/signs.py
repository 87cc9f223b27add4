"""One bit for each entry: signs of updates, and the vote that is taken of them."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.compression.codecs import Dim, Strict, all_entries, heard_of, mean_of
from airfeel.compression.memory import ErrorMemory, NoMemory
from airfeel.ranges import about
from airfeel.types import Agreed, Decoded, Memory, Received, Series, Turn, Words, at_round

ByAir = Annotated[bool, about("whether signs go by air, where they cost no bits")]
Stride = Annotated[Series, about("δ, how far a vote moves an entry, one or one for each round")]


def signs(x: Float[Tensor, "*n D"]) -> Float[Tensor, "*n D"]:
    """sgn x with sgn 0 = +1: one bit has no third value.

    Args:
        x: updates, a row for each device.

    >>> signs(torch.tensor([0.5, 0.0, -2.0]))
    tensor([ 1.,  1., -1.])
    """
    return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)


def mean_size(x: Float[Tensor, "n D"]) -> Float[Tensor, "n 1"]:
    """‖x‖₁/D of each row, summed by itself in float64: the best size for sgn x.

    Args:
        x: updates, a row for each device.

    >>> mean_size(torch.tensor([[1.0, -3.0]]))
    tensor([[2.]])
    """
    total = [float(row.to(torch.float64).abs().sum()) for row in x]
    return (torch.tensor(total, dtype=torch.float64) / max(x.shape[1], 1)).to(x)[:, None]


def vote(
    received: Received, support: Int64[Tensor, "K"], dim: int, stride: float
) -> Float[Tensor, "{dim}"]:
    """ĝ = δ·sign(Σ_n sgn x_n): the majority, 0 on a tie and where nobody was heard.

    Bernstein et al. 2018 (arXiv:1802.04434, 1810.05291); with noise in the sum it is the one-bit
    over-the-air aggregation of Zhu et al. 2020 (arXiv:2001.05713). Counts are not needed.

    Args:
        received: the sum of the devices' signs, with noise where it came by air.
        support: entries that were voted on, sorted.
        dim: D, length of the model vector.
        stride: δ.

    >>> heard = Received(
    ...     speakers=np.array([0, 1]),
    ...     devices=np.array([0, 1]),
    ...     signal=torch.tensor([2.0, 0.0, -2.0]),
    ...     index=torch.zeros(2, 0).long(),
    ...     value=torch.zeros(2, 0),
    ...     count=2,
    ...     heard=np.array([2]),
    ... )
    >>> vote(heard, torch.arange(3), 3, 0.5)
    tensor([ 0.5000,  0.0000, -0.5000])
    """
    total = received.signal.new_zeros(dim)
    total[support] = stride * received.signal.sign()
    return total


@dataclass(frozen=True)
class Signs:
    """sgn x of every entry, and at the base station the majority: signSGD; by air, OBDA.

    Bernstein et al. 2018 (arXiv:1802.04434, 1810.05291): ĝ = δ·sign(Σ_n sgn x_n). One device says
    D bits, or D symbols on the air. How large updates are does not matter: δ alone moves the model.

    dim: d. memory: what devices keep; none by default.
    """

    dim: Dim
    stride: Stride = 1e-3
    analog: ByAir = False
    memory: Memory = field(default_factory=NoMemory)
    dice: ClassVar[int] = 0
    columns: ClassVar[tuple[str, ...]] = ()

    @property
    def cost(self) -> float:
        """D bits, none by air."""
        return 0.0 if self.analog else float(self.dim)

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
        """sgn x."""
        nothing = x[..., :0]
        return Words(signs(x), nothing.long(), nothing, self.cost)

    def decode(self, turn: Turn, agreed: Agreed, received: Received) -> Decoded:
        """The majority."""
        return voted(turn, agreed, received, self.stride)


def voted(turn: Turn, agreed: Agreed, received: Received, stride: Series) -> Decoded:
    """The vote on the entries that were agreed on, see `vote`.

    Args:
        turn: the round; names D.
        agreed: the entries that devices send signs of.
        received: the sum of these signs.
        stride: δ, one or one for each round.
    """
    update = vote(received, agreed.support, turn.world.dim, at_round(stride, turn.round))
    return Decoded(update, (heard_of(agreed, received), received.index))


@dataclass(frozen=True)
class Layered(Agreed):
    """All entries, and how many of them share a size, one group after the other."""

    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class ScaledSigns:
    """C(x) = (‖x‖₁/D)·sgn x, and the mean of it: EF-signSGD (Karimireddy et al. 2019).

    arXiv:1901.09847. With the error memory it converges where plain signs do not, since
    ‖x − C(x)‖² = ‖x‖² − ‖x‖₁²/D. D bits, and 32 for each size under strict accounting.

    dim: d. strict: charge 32 bits for each size. memory: what devices keep.
    """

    dim: Dim
    groups: Annotated[Literal["all", "layers"], about("entries that share a size")] = "all"
    strict: Strict = False
    memory: Memory = field(default_factory=ErrorMemory)
    dice: ClassVar[int] = 0
    columns: ClassVar[tuple[str, ...]] = ()

    def agree(self, turn: Turn) -> Layered:
        """All entries; the model's tensors where each has a size of its own."""
        sizes: tuple[int, ...] = (turn.world.dim,)
        if self.groups == "layers":
            sizes = tuple(t.numel() for t in turn.world.model.named(turn.state.theta).values())
        return Layered(all_entries(turn).support, sizes)

    def encode(
        self,
        x: Float[Tensor, "n D"],
        agreed: Agreed,
        devices: Int64[np.ndarray, "n"],
        dice: Float64[np.ndarray, "n W"],
        grant: Float64[np.ndarray, "N"] | None = None,
    ) -> Words:
        """(‖x‖₁/D)·sgn x, group by group."""
        sizes = agreed.sizes if isinstance(agreed, Layered) else (self.dim,)
        parts = [mean_size(part) * signs(part) for part in torch.split(x, list(sizes), dim=1)]
        bits = float(self.dim + (32 * len(sizes) if self.strict else 0))
        nothing = x[..., :0]
        return Words(torch.cat(parts, dim=1), nothing.long(), nothing, bits)

    def decode(self, turn: Turn, agreed: Agreed, received: Received) -> Decoded:
        """The mean."""
        return mean_of(turn, agreed, received)

"""A codec whose devices send a projection of their largest entries, recovered at the receiver."""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from airfeel.compression.codecs import Dim, no_mask
from airfeel.compression.masks import top_k
from airfeel.compression.memory import ErrorMemory
from airfeel.compression.projections import Cosine, Gaussian, Kind, Projection, Some, projection
from airfeel.compression.recovery import Recover, SoftThreshold, energy, least_squares
from airfeel.errors import BadInput
from airfeel.ranges import Count, about
from airfeel.ranges import Whole as WholeNumber
from airfeel.segments import by_value
from airfeel.types import Agreed, Decoded, Memory, Received, Turn, Words

Pilot = Annotated[
    Literal["last", "paper", "none"],
    about("last symbol: 0.1·‖last update‖, 1 as in the paper, or none where σ_t is known"),
]
Symbols = Annotated[Count | None, about("s, symbols for the air; left out: half the model's")]
Sent = Annotated[Count, about("k, entries of each device's update that are measured")]
MeanRounds = Annotated[WholeNumber, about("first rounds in which the mean of a signal goes apart")]
Renew = Annotated[bool, about("draw the projection anew in every round (the seed is shared)")]

_LOUD = 0.1  # of the pilot, over the norm of the last update


@dataclass(frozen=True)
class Measure(Agreed):
    """No mask, but a projection by its seed, and how a signal is laid out."""

    projection: Gaussian | Cosine
    pilot: float  # c, the last symbol; 0: there is none
    centred: bool  # whether the mean of a signal goes apart, in a symbol of its own


@dataclass(frozen=True)
class Measurements:
    """u = Top_k(x), v = A u, signal [v, c] or [v − μ, μ, c]; ĝ is recovered from their sum.

    A is shared by seed, μ is the mean of v, c a pilot that tells how loud the sum is: with it
    ỹ = (y + y_μ)/(y_c/c) is a mean weighted by amplitudes (Amiri, Gündüz 2020, arXiv:1901.00844).
    Without a pilot (arXiv:1907.09769) each measurement is the mean over the devices that were heard
    on its sub-channel. Measurements that nobody was heard on are left out of ỹ and A. With at least
    as many of them as entries it is least squares instead of message passing.

    S = s symbols whatever k is, no bits. Own entries are named for the memory alone: a device that
    was heard has said all of Top_k(x); they never reach the base station (transmit = "measured").

    dim: d. projection: of A. recover: from ỹ to ĝ. memory: what devices keep.
    """

    dim: Dim
    k: Sent
    symbols: Symbols = None
    projection: Kind = "auto"
    pilot: Pilot = "last"
    mean_rounds: MeanRounds = 20
    renew: Renew = False
    recover: Annotated[Recover, about("makes the update of what was measured")] = field(
        default_factory=SoftThreshold
    )
    memory: Memory = field(default_factory=ErrorMemory)
    dice: ClassVar[int] = 0
    columns: ClassVar[tuple[str, ...]] = ("recovery",)

    def __post_init__(self) -> None:
        if self.k > self.dim:
            raise BadInput(f"k = {self.k}: must be at most {self.dim}, numbers in the model")
        if self.rows < (2 if self.mean_rounds else 1):
            least = 1 + (self.pilot != "none") + (self.mean_rounds > 0)
            raise BadInput(f"symbols = {self.sent}: must be at least {least}")
        projection(self.projection, self.rows, self.dim, 0)

    @property
    def sent(self) -> int:
        """s."""
        return round(self.dim / 2) if self.symbols is None else self.symbols

    @property
    def rows(self) -> int:
        """Rows of A: symbols but the pilot; a mean that goes apart takes the last one's place."""
        return self.sent - (self.pilot != "none")

    def agree(self, turn: Turn) -> Measure:
        """The projection's seed, and the pilot."""
        rng = turn.streams.rng("measure", turn.round if self.renew else 0)
        shared = projection(self.projection, self.rows, self.dim, int(rng.integers(2**62)))
        centred = turn.round <= self.mean_rounds
        return Measure(no_mask(turn).support, shared, self._loudness(turn), centred)

    def _loudness(self, turn: Turn) -> float:
        """c: with the small norms of updates a pilot of 1 would take nearly all power."""
        if self.pilot == "none":
            return 0.0
        last = energy(turn.state.update.double().cpu().numpy()) ** 0.5
        unknown = self.pilot == "paper" or turn.state.idle > 0 or not 0.0 < last < np.inf
        return 1.0 if unknown else _LOUD * last

    def encode(
        self,
        x: Float[Tensor, "n D"],
        agreed: Agreed,
        devices: Int64[np.ndarray, "n"],
        dice: Float64[np.ndarray, "n W"],
        grant: Float64[np.ndarray, "N"] | None = None,
    ) -> Words:
        """A times the k largest entries, device by device: many at once would round otherwise."""
        shared = _measure(agreed)
        index = top_k(x, self.k)
        value = x.gather(-1, index)
        signal = np.empty((len(x), self.sent))
        for row, where, what in zip(
            signal, index.cpu().numpy(), value.double().cpu().numpy(), strict=True
        ):
            u = np.zeros(self.dim)
            u[where] = what
            row[:] = lay_out(shared.projection.apply(u), shared.pilot, shared.centred)
        return Words(x[:, :0], index, value, signal=torch.from_numpy(signal).to(x))

    def decode(self, turn: Turn, agreed: Agreed, received: Received) -> Decoded:
        """ĝ from the sum of the signals; the column `recovery` is what it leaves unexplained."""
        shared = _measure(agreed)
        y, kept, noise = read(received, shared.pilot, shared.centred)
        if len(kept) < self.rows:
            kept = np.append(kept, np.zeros(self.rows - len(kept), dtype=bool))
        measure: Projection = shared.projection
        if not kept.all():
            some = Some(measure, kept)
            measure, y, noise = some, y * some.scale, noise * some.scale**2
        if len(y) >= self.dim:
            found = least_squares(measure, y)
        else:
            found = self.recover(turn, measure, y, noise, self.k / self.dim)
        update = torch.from_numpy(found.x).to(turn.state.theta)
        everywhere = torch.arange(self.dim, device=update.device)
        return Decoded(
            update, (everywhere,), noise, {"recovery": found.residual} | dict(found.notes)
        )


def _measure(agreed: Agreed) -> Measure:
    """What this codec has agreed on; another codec's is refused."""
    if not isinstance(agreed, Measure):
        raise BadInput(f"scheme.codec = 'measured': was handed {type(agreed).__name__}, no Measure")
    return agreed


def lay_out(v: Float64[np.ndarray, "r"], pilot: float, centred: bool) -> Float64[np.ndarray, "s"]:
    """The signal of some measurements: [v, c], or [v − μ, μ, c] without v's last entry.

    Args:
        v: measurements.
        pilot: c; 0: there is none.
        centred: whether their mean goes apart.

    >>> lay_out(np.array([1.0, 2.0, 9.0]), 0.5, True), lay_out(np.array([1.0, 2.0]), 0.5, False)
    (array([-0.5,  0.5,  1.5,  0.5]), array([1. , 2. , 0.5]))
    """
    if centred:
        mean = v[:-1].mean()
        v = np.append(v[:-1] - mean, mean)
    return np.append(v, pilot) if pilot else v


def read(
    received: Received, pilot: float, centred: bool
) -> tuple[Float64[np.ndarray, "r"], Bool[np.ndarray, "_"], float]:
    """Of the measurements: ỹ where somebody was heard, where that is, and ỹ's noise variance.

    Args:
        received: the sum of the signals, and the speakers of each sub-channel.
        pilot: c; 0: there is none, and each measurement is divided by its own speakers.
        centred: whether the mean went apart.
    """
    signal = received.signal.double().cpu().numpy()
    speakers = by_value(received.heard.astype(np.float64), len(signal), received.lanes)
    if pilot:
        loudness = np.full(len(signal) - 1, signal[-1] / pilot)
        signal, speakers = signal[:-1], speakers[:-1]
    else:
        loudness = speakers
    if centred:
        signal, loudness, speakers = signal[:-1] + signal[-1], loudness[:-1], speakers[:-1]
    kept = speakers > 0
    return signal[kept] / loudness[kept], kept, float(np.mean(received.noise / loudness[kept] ** 2))

"""The nouns that pass between rooms in a round.

Arrays of the learning side (model vectors, payloads) are torch tensors in the run's dtype; arrays
of the radio side (gains, powers, rates) are NumPy float64. Shapes: N devices, n of them invited,
D model dimension, K global mask, L local mask, S symbols for the air, M sub-channels, G digital
batches.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int, Int64
from torch import Tensor

from airfeel.types.fading import Fading

NAN = float("nan")


class Reason(StrEnum):
    """Why a device spoke, or why it did not."""

    SCHEDULED = "scheduled"
    NOT_INVITED = "not-invited"
    NO_POWER = "no-power-left"
    TOO_LOUD = "needs-too-much-power"
    NO_ENERGY = "energy-does-not-fit"
    NO_CHANNEL = "no-usable-channel"
    NOT_FINITE = "update-not-finite"
    DROPPED = "dropped-by-scheduler"


@dataclass(frozen=True)
class State:
    """All that survives a round, but for the devices' buffers, which the engine holds."""

    round: int  # t, the last one played; 0 after the starting round
    theta: Float[Tensor, "D"]  # w_t, the model
    update: Float[Tensor, "D"]  # the last step of the model that was not idle
    support: Int64[Tensor, "K"]  # the last global mask; empty before the first round
    spent: Float64[np.ndarray, "N"]  # energy spent by each device [W·slots]
    slots: int = 0  # used so far, of the C of the whole training
    idle: int = 0  # idle rounds in a row
    carry: Mapping[str, np.ndarray | Tensor] = field(default_factory=dict)  # states of components

    @classmethod
    def bare(cls, theta: Float[Tensor, "D"], devices: int, round: int = -1) -> "State":
        """A model and nothing else: before round 0, or where devices are trained elsewhere."""
        nothing = torch.zeros(0, dtype=torch.int64)
        return cls(round, theta, torch.zeros_like(theta), nothing, np.zeros(devices))


@dataclass(frozen=True)
class Invited:
    """Who trains, and what each may send where that is granted beforehand."""

    who: Bool[np.ndarray, "N"]  # devices that train
    grant: Float64[np.ndarray, "N *g"] | None = None  # in units that codec and invitation share


@dataclass(frozen=True)
class Agreed:
    """What devices and base station derive alike, once per round; a codec may add fields to it.

    It is sent to wherever devices are trained, so that something large goes as its seed.
    """

    support: Int64[Tensor, "K"]  # the global mask, sorted


@dataclass(frozen=True)
class Words:
    """What some devices would say: a row for each, or one device's alone."""

    common: Float[Tensor, "*n K"]  # values on the shared mask
    index: Int64[Tensor, "*n L"]  # entries that a device names itself, distinct
    value: Float[Tensor, "*n L"]  # values there
    bits: float | Float64[np.ndarray, "*n"] = 0.0  # to be sent digitally by each device
    signal: Float[Tensor, "*n S"] | None = None  # symbols for the air; None: `common` itself
    norm: Float64[np.ndarray, "*n"] | None = None  # what a plan may rank devices by, if it asks


@dataclass(frozen=True)
class Said:
    """What each invited device would say, in device order: `Words` of all of them."""

    devices: Int64[np.ndarray, "n"]  # ids, increasing
    finite: Bool[np.ndarray, "n"]  # whose update is; nobody else may speak
    agreed: Agreed  # with the global mask
    common: Float[Tensor, "n K"]  # values on the global mask
    index: Int64[Tensor, "n L"]  # entries that a device names itself
    value: Float[Tensor, "n L"]  # values there
    bits: Float64[np.ndarray, "n"]  # Q, to be sent digitally
    energy: Float64[np.ndarray, "n M"]  # squared norm of each segment of the symbols
    loss: Float64[np.ndarray, "n"]  # mean mini-batch loss
    signal: Float[Tensor, "n S"] | None = None  # symbols for the air; None: `common` itself
    norm: Float64[np.ndarray, "n"] | None = None  # what a plan may rank devices by, if it asks
    weight: Float64[np.ndarray, "n"] | None = None  # how often each counts, if not once
    lanes: int = 1  # values that one element of the air carries
    feedback: Float64[np.ndarray, "n"] | None = None  # of x on the mask, the energy of residuals

    @property
    def symbols(self) -> Float[Tensor, "n S"]:
        """What goes on the air, where something does."""
        return self.common if self.signal is None else self.signal


@dataclass(frozen=True)
class Plan:
    """Who speaks, where, how loud, and why not. Holds no dice."""

    active: Bool[np.ndarray, "N"]  # 𝒩_t, who speaks
    reason: tuple[Reason, ...]  # of each of the N devices
    batch: Int[np.ndarray, "N"]  # digital batch of each device, -1 for none
    owner: Int[np.ndarray, "G M"]  # device that owns each sub-channel in each batch, -1 for none
    power: Float64[np.ndarray, "N M"]  # digital transmit power [W]
    rate: Float64[np.ndarray, "N"]  # digital rate [bits/slot]
    slots_air: int  # U[g]
    slots_digital: int  # U[l], of all batches
    scalar: float  # σ_t, what the receiver divides the air by; 0 where nothing is analog
    needed: Float64[np.ndarray, "N"]  # analog energy asked for [W·slots]; NaN where unknown
    budget: Float64[np.ndarray, "N"]  # analog energy allowed [W·slots]; NaN where unknown
    gap: float = NAN  # digital slots over a proven bound, minus 1; NaN where none is known
    amplitude: Float64[np.ndarray, "N M"] | None = None  # of symbols; 0: silent; None: σ_t/gain
    share: Float64[np.ndarray, "N M"] | None = None  # of a segment that is sent; None: all or 0
    side: float | Float64[np.ndarray, "N"] = 0.0  # bits of numbers that each reports, digitally
    reporting: Bool[np.ndarray, "N"] | None = None  # who reports, and says nothing else
    most_tries: Int64[np.ndarray, "N"] | None = None  # of a packet that can be paid; None: any
    window: int = 0  # slots that are kept for the digital phase, used or not

    @property
    def slots(self) -> int:
        return self.slots_air + self.slots_digital

    @property
    def told(self) -> Bool[np.ndarray, "N"]:
        """Whose numbers the base station knows: everyone's, but where they take a packet."""
        return (np.broadcast_to(self.side, self.batch.shape) <= 0.0) | (self.batch >= 0)

    def loudness(self, gain: Float64[np.ndarray, "N M"]) -> Float64[np.ndarray, "N M"]:
        """The amplitude of each device on each sub-channel: by default inversion, b = σ_t/h."""
        if self.amplitude is not None:
            return self.amplitude
        inverse = np.divide(self.scalar, gain, out=np.zeros_like(gain), where=gain > 0)
        return inverse if self.share is None else inverse * self.share

    @property
    def sent(self) -> Float64[np.ndarray, "N M"] | None:
        """The share of each segment that its device sends; None where every speaker sends all."""
        if self.share is not None or self.amplitude is None:
            return self.share
        return (self.amplitude > 0).astype(np.float64)

    @property
    def heard(self) -> Bool[np.ndarray, "N M"]:
        """Who is heard on which sub-channel of the air."""
        sent = self.sent
        speaks = np.broadcast_to(self.active[:, None], self.power.shape)
        return speaks.copy() if sent is None else speaks & (sent > 0)


@dataclass(frozen=True)
class Delivery:
    """What arrived of what was said; a device's memory keeps exactly the rest.

    Rows are those of `Said`. None means all: every value, every packet of those who spoke.
    """

    spoke: Bool[np.ndarray, "N"]  # of all devices
    share: Float64[np.ndarray, "n M"] | Float[Tensor, "n K"] | None = None  # of each symbol
    arrived: Bool[np.ndarray, "n"] | None = None  # whose digital packet did

    @property
    def whole(self) -> bool:
        """Whether all that was said arrived."""
        return self.share is None and self.arrived is None

    def rows(self, some: slice) -> "Delivery":
        """The same of some rows alone."""
        share = None if self.share is None else self.share[some]
        arrived = None if self.arrived is None else self.arrived[some]
        return Delivery(self.spoke, share, arrived)

    def idle(self, said: Said) -> bool:
        """Whether nothing of anybody arrived."""
        rows = self.spoke[said.devices]
        if not rows.any() or self.whole:
            return not rows.any()
        share = (
            self.share if isinstance(self.share, Tensor | None) else torch.from_numpy(self.share)
        )
        some = share is None or bool((share[torch.from_numpy(rows).to(share.device)] > 0).any())
        packet = self.arrived is None or bool(self.arrived[rows].any())
        symbols, own = said.symbols.shape[1] > 0, said.index.shape[1] > 0
        return not ((symbols and some) or (own and packet))


@dataclass(frozen=True)
class Received:
    """All that the base station holds after the uplink."""

    speakers: Int64[np.ndarray, "_"]  # ids of all who spoke
    devices: Int64[np.ndarray, "n"]  # of these, whose packets arrived
    signal: Float[Tensor, "S"]  # sum of the symbols, with noise where they came by air
    index: Int64[Tensor, "n L"]  # entries that each names itself
    value: Float[Tensor, "n L"]  # values there
    count: float  # N_t, the speakers (of digital packets: those that arrived), or their weights
    heard: Int64[np.ndarray, "M"] | Float64[np.ndarray, "M"]  # the same on each sub-channel
    noise: float = 0.0  # variance of one entry of the signal
    lanes: int = 1  # values that one element of the air carried


@dataclass(frozen=True)
class Decoded:
    """What the base station makes of it."""

    update: Float[Tensor, "D"]  # ĝ
    touched: tuple[Int64[Tensor, "..."], ...] = ()  # entries received; if by air, the first ones
    noise: float | Float[Tensor, "_"] = 0.0  # variance of entries that came by air, one or each
    notes: Mapping[str, float | np.ndarray | Tensor] = field(default_factory=dict)  # own columns

    @property
    def fresh(self) -> Bool[Tensor, "D"]:
        """Which entries of the update were received in this round."""
        fresh = torch.zeros(len(self.update), dtype=torch.bool, device=self.update.device)
        for index in self.touched:
            fresh[index.flatten()] = True
        return fresh


@dataclass(frozen=True)
class Reading:
    """What a meter read: columns of its own, and slots or energy that count against the budgets."""

    columns: Mapping[str, float] = field(default_factory=dict)  # by name
    slots: int = 0  # that the round takes longer
    energy: Float64[np.ndarray, "N"] | None = None  # [W·slots]


@dataclass(frozen=True)
class Costs:
    """What a round cost."""

    slots_air: int  # U[g]
    slots_digital: int  # U[l]
    bits: float  # of all scheduled devices
    energy: Float64[np.ndarray, "N"]  # [W·slots]
    slots_other: int = 0  # of meters
    columns: Mapping[str, float] = field(default_factory=dict)  # of meters

    @property
    def slots(self) -> int:
        return self.slots_air + self.slots_digital + self.slots_other


@dataclass(frozen=True)
class Report:
    """One round, as the books see it."""

    round: int  # t
    fading: Fading  # the sky
    plan: Plan  # who spoke
    costs: Costs  # slots, bits and energy
    update_norm: float  # ‖the model's step‖₂
    distortion: float  # ‖ĝ − ideal mean‖²/‖ideal mean‖²; NaN unless asked for
    mask_overlap: float  # share of the mask that was in the last one; NaN without one
    train_loss: float  # mean over the devices whose update is finite
    columns: Mapping[str, float] = field(default_factory=dict)  # of meters and codec
    feedback_scheduled: float = NAN  # energy share of residuals, median over scheduled devices
    feedback_unscheduled: float = NAN  # the same over the others that trained


@dataclass(frozen=True)
class Happened:
    """All values of a round, for parts that remember."""

    fading: Fading  # the sky
    invited: Invited  # who trained
    said: Said  # what they would say
    plan: Plan  # who spoke
    delivery: Delivery  # what arrived of it
    costs: Costs  # slots, bits and energy
    idle: bool  # nothing of anybody arrived
    received: Received | None  # None where nobody spoke
    decoded: Decoded | None  # None in an idle round
    moved: Float[Tensor, "D"]  # 0 in an idle round

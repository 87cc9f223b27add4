"""What a policy of loudness is asked and answers, and what policies share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float64

from airfeel.radio.energy import segment_energy
from airfeel.segments import segment_sizes
from airfeel.types import BadInput, Fading, Moments, Reason, Said, Turn

_WEAK = 0.1  # of the median: who has less does not quiet everyone


@dataclass(frozen=True)
class Ask:
    """What a policy is asked: who may speak, and how much each may spend."""

    turn: Turn  # the round
    said: Said  # what the invited devices would say
    fading: Fading  # the sky, as it is believed
    able: Bool[np.ndarray, "N"]  # who may speak
    power: Float64[np.ndarray, "N"]  # α_n·P̄_{t,n} [W]
    budget: Float64[np.ndarray, "N"]  # α_n·P̄_{t,n}·U, energy allowed [W·slots]

    @property
    def energy(self) -> Float64[np.ndarray, "N M"]:
        """e_{n,m}, squared norm of each segment; 0 of who was not invited."""
        energy = np.zeros(self.fading.gain.shape)
        energy[self.said.devices] = self.said.energy
        return energy

    @property
    def norm2(self) -> Float64[np.ndarray, "n"]:
        """‖symbols‖² of those who may speak, in device order, whatever is silent of them."""
        said, some = self.said, self.able[self.said.devices]
        if self.fading.silent is None:
            return np.asarray(said.energy[some].sum(axis=1))
        symbols = said.symbols[torch.from_numpy(some).to(said.symbols.device)]
        return np.asarray(segment_energy(symbols, said.energy.shape[1], said.lanes).sum(axis=1))

    @property
    def mute(self) -> bool:
        """Whether nobody has anything to say, by air or otherwise: a sum would be noise alone."""
        nothing = self.said.symbols.shape[1] > 0 and not self.said.bits.any()
        return bool(nothing and not self.norm2.any())

    @property
    def used(self) -> Bool[np.ndarray, "M"]:
        """Sub-channels that carry symbols."""
        said = self.said
        return segment_sizes(said.symbols.shape[1], said.energy.shape[1], said.lanes) > 0


@dataclass(frozen=True)
class Loud:
    """What a policy answers."""

    scalar: float  # what the receiver divides by
    amplitude: Float64[np.ndarray, "N M"] | None  # b; 0: silent there; None: σ_t/h everywhere
    out: Mapping[Reason, Bool[np.ndarray, "N"]] = field(default_factory=dict)  # who is, and why


@runtime_checkable
class Policy(Protocol):
    """How loud each device is on each sub-channel.

    reports: real numbers that each device must tell the base station beforehand.
    """

    @property
    def reports(self) -> int: ...
    def __call__(self, ask: Ask) -> Loud: ...


def inverted(scalar: float, ask: Ask, threshold: float = 0.0) -> Float64[np.ndarray, "N M"]:
    """b = σ_t/h where symbols are and |h|² ≥ g_th·ḡ_n; 0 elsewhere, and where h is 0.

    Args:
        scalar: σ_t.
        ask: gains |h| [N M], and which sub-channels carry symbols.
        threshold: g_th, smallest |h|² over its mean; 0 for all.
    """
    gain = ask.fading.air_gain
    strong = (gain > 0.0) & ask.used
    if ask.fading.silent is not None:
        strong &= ~ask.fading.silent
    if threshold > 0.0:
        strong &= ask.fading.relative >= threshold
    return np.divide(scalar, gain, out=np.zeros_like(gain), where=strong)


def unheard(amplitude: Float64[np.ndarray, "N M"]) -> dict[Reason, Bool[np.ndarray, "N"]]:
    """Who is silent on all sub-channels.

    Args:
        amplitude: b of each device on each sub-channel; 0 is silence.

    >>> unheard(np.array([[0.0, 2.0], [0.0, 0.0]]))[Reason.NO_CHANNEL]
    array([False,  True])
    """
    return {Reason.NO_CHANNEL: np.asarray((amplitude <= 0.0).all(axis=1))}


def known_means(fading: Fading) -> tuple[Float64[np.ndarray, "N"], Moments]:
    """ḡ of each device and the moments of γ; a sky that does not tell them is refused.

    Args:
        fading: the sky, as it is believed.
    """
    if fading.mean2 is None or fading.moments is None:
        raise BadInput("radio.fading: tells no means of its gains, which devices here must know")
    return fading.mean2, fading.moments


def largest_amplitude(ask: Ask, bound2: float | None = None) -> float:
    """√(min budget/max ‖symbols‖²): the largest amplitude that nobody's budget forbids.

    Args:
        ask: budgets [W·slots] and symbols of those who may speak.
        bound2: stands for the largest ‖symbols‖²; None for that itself.
    """
    most = float(ask.norm2.max(initial=0.0)) if bound2 is None else bound2
    least = float(ask.budget[ask.able].min(initial=np.inf))
    return float(np.sqrt(least / most)) if most > 0.0 and ask.able.any() else 1.0


def expected_power(
    power: Float64[np.ndarray, "n"],
    fading: Fading,
    who: Bool[np.ndarray, "N"],
    threshold: float,
    lanes: int = 1,
) -> tuple[float, Bool[np.ndarray, "n"]]:
    """ρ, received power of a symbol under truncated inversion, and whose power is too small for it.

    ρ = min_n P̄_n·ḡ_n/(M·E[1/γ; γ ≥ g_th]): then the weakest device's expected power, M symbols of
    unit variance per slot at b² = ρ/|h|², is P̄_n (arXiv:1812.11494, 2001.05713). Who has less than
    a tenth of the median P̄_n·ḡ_n does not enter, so that one empty battery does not quiet everyone.

    Args:
        power: P̄ of the n devices that may speak [W].
        fading: mean gains ḡ [N] and moments of γ.
        who: which of the N devices these are.
        threshold: g_th.
        lanes: symbols on one element; with two of them each has half of the power.
    """
    mean2, moments = known_means(fading)
    strength = power * mean2[who]
    if not len(strength):
        return 1.0, np.zeros(0, dtype=bool)
    weak = (strength < _WEAK * np.median(strength)) | (strength <= 0.0)
    cost = np.broadcast_to(moments.inverse(threshold), who.shape)[who]
    if np.isinf(cost[~weak]).any():
        raise BadInput(
            f"threshold = {threshold}: inversion of all gains has no mean power; must be above 0, "
            "or σ_t be given"
        )
    met = ~weak & (cost > 0.0)  # others are never above the threshold
    if not met.any() and not weak.all():
        raise BadInput(f"threshold = {threshold}: no gain is ever so large")
    each = strength[met] / (lanes * fading.gain.shape[1] * cost[met])
    return float(each.min(initial=np.inf)) if met.any() else 1.0, weak

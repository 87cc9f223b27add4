"""The sky of a round: what is believed of it, what is met, and what is known of all rounds."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Complex128, Float64

from airfeel.errors import BadInput
from airfeel.types.radio import Front, Link, Upkeep

_ROUNDING = 1e-12
Mean = float | Float64[np.ndarray, "N"]  # of all devices, or of each


@runtime_checkable
class Moments(Protocol):
    """What is known of a channel before it is drawn: means over its fading, γ = |h|²/E|h|²."""

    @property
    def mean2(self) -> Mean:
        """E|h|²."""

    @property
    def steady(self) -> bool:
        """Whether γ is always 1: no fading."""

    def root(self) -> Mean:
        """E√γ."""

    def inverse(self, least: float) -> Mean:
        """E[1/γ; γ ≥ least]: what inversion costs in the mean; infinite where it is."""


@dataclass(frozen=True)
class Fading:
    """One draw of the sky: what is believed of it, and what is met.

    Planning, the power rule, inversion and energy see `gain`, `air` and `silent`; arrival sees
    `truth`, `residual` and `spin`: a symbol arrives times amplitude·air·residual.
    """

    gain: Float64[np.ndarray, "N M"]  # |h| as it is believed, constant during the round
    noise: float  # variance for one received element [W]
    truth: Float64[np.ndarray, "N M"] | None = None  # |h| that signals meet; None: as believed
    mean2: Float64[np.ndarray, "N"] | None = None  # ḡ_n, E|h|² over the fading; None: not known
    moments: Moments | None = None  # of γ = |h|²/ḡ_n; None: not known
    air: Float64[np.ndarray, "N M"] | None = None  # |h| that devices invert; None: `gain`
    residual: Complex128[np.ndarray, "N M"] | None = None  # what an inverted unit becomes; None: 1
    spin: Float64[np.ndarray, "N M"] | None = None  # its turning [rad/slot]; None: 0
    silent: Bool[np.ndarray, "N M"] | None = None  # where a device does not invert; None: nowhere
    link: Link | None = None  # what digital links bear; None: capacity
    upkeep: Upkeep | None = None  # what knowing the channel costs; None: nothing
    front: Front | None = None  # what radios do to values on the air; None: nothing

    @property
    def gain2(self) -> Float64[np.ndarray, "N M"]:
        """|h|² as it is believed."""
        with np.errstate(over="ignore"):  # whoever plans with it refuses what is not finite
            return np.square(self.gain)

    @property
    def steady(self) -> bool:
        """Whether nothing fades, and that is known exactly: γ is 1."""
        return self.moments is not None and self.moments.steady and self.air is None

    @property
    def relative(self) -> Float64[np.ndarray, "N M"]:
        """γ = |h|²/ḡ_n of the air as it is believed; 1 where `steady`, and 0 where ḡ_n is."""
        if self.mean2 is None:
            raise BadInput("scheme.fade: tells no mean |h|² of the devices, which is needed here")
        if self.steady:
            return np.ones_like(self.gain)
        mean = self.mean2[:, None]
        gamma = np.divide(self.air_gain2, mean, out=np.zeros_like(self.gain), where=mean > 0.0)
        if self.moments is not None and self.moments.steady:  # a phase alone is known badly
            return np.where(np.abs(gamma - 1.0) < _ROUNDING, 1.0, gamma)
        return gamma

    @property
    def met(self) -> Float64[np.ndarray, "N M"]:
        """|h| that signals really meet."""
        return self.gain if self.truth is None else self.truth

    @property
    def floor(self) -> float:
        """The noise that digital rates are planned with: σ0², backed off [W]."""
        return self.noise if self.link is None else self.noise * self.link.backoff

    @property
    def air_gain(self) -> Float64[np.ndarray, "N M"]:
        """|h| of the air as devices believe and invert it."""
        return self.gain if self.air is None else self.air

    @property
    def air_gain2(self) -> Float64[np.ndarray, "N M"]:
        """The square of that."""
        return self.gain2 if self.air is None else np.square(self.air)

    @property
    def arriving(self) -> Float64[np.ndarray, "N M"] | Complex128[np.ndarray, "N M"]:
        """What a symbol is multiplied by on its way, at the begin of the air phase."""
        if self.residual is not None:
            return self.air_gain * self.residual
        return self.met if self.air is None else self.air

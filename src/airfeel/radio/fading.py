"""The sky: channel gains of every device on every sub-channel, drawn anew each round."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64
from scipy.special import exp1, ndtri

from airfeel.arrays import read_gains
from airfeel.errors import quote
from airfeel.radio.rician import rician_moment
from airfeel.ranges import Each, NotNegative, Positive, about
from airfeel.types import BadInput, Fading, Moments, Turn

Scale = Annotated[Positive, about("factor on |h|; under Rayleigh E|h|² is twice its square")]


@runtime_checkable
class Draw(Protocol):
    """|h| of every device on every sub-channel in a round, from the dice of the room `fading`.

    One that has `airfeel.types.Moments` too serves schemes that need to know means of it.
    """

    def __call__(self, turn: Turn) -> Float64[np.ndarray, "N M"]: ...


def shape_of(turn: Turn) -> tuple[int, int]:
    """N and M, the shape of a round's gains."""
    return turn.world.devices, turn.world.subchannels


def rayleigh(shape: tuple[int, int], *, rng: np.random.Generator) -> Float64[np.ndarray, "N M"]:
    """|h| = √(−2 ln(1 − u)): Rayleigh of scale 1, E|h|² = 2.

    Inverted from one uniform, so that a row belongs to its device however many others there are.

    Args:
        shape: N and M, devices and sub-channels.
        rng: dice, as from `turn.rng("fading")`.

    >>> rayleigh((2, 1), rng=np.random.default_rng(0)).round(3)
    array([[1.424],
           [0.793]])
    """
    return np.asarray(np.sqrt(-2.0 * np.log1p(-rng.random(shape))))


@dataclass(frozen=True)
class Constant:
    """No fading: |h| = scale everywhere."""

    scale: Scale = 1.0

    steady: ClassVar[bool] = True  # γ is 1

    def __call__(self, turn: Turn) -> Float64[np.ndarray, "N M"]:
        return np.full(shape_of(turn), self.scale)

    @property
    def mean2(self) -> float:
        """E|h|² = s²."""
        return self.scale**2

    def root(self) -> float:
        """E√γ = 1."""
        return 1.0

    def inverse(self, least: float) -> float:
        """E[1/γ; γ ≥ least]: 1, or nothing."""
        return float(least <= 1.0)


@dataclass(frozen=True)
class Rayleigh:
    """No line of sight: |h| Rayleigh with scale s, E|h|² = 2s²."""

    scale: Scale = 1.0

    steady: ClassVar[bool] = False

    def __call__(self, turn: Turn) -> Float64[np.ndarray, "N M"]:
        return self.scale * rayleigh(shape_of(turn), rng=turn.rng("fading"))

    @property
    def mean2(self) -> float:
        """E|h|² = 2s²."""
        return 2.0 * self.scale**2

    def root(self) -> float:
        """E√γ = √π/2."""
        return math.sqrt(math.pi) / 2.0

    def inverse(self, least: float) -> float:
        """E[1/γ; γ ≥ least] = E1(least), the exponential integral."""
        return float(exp1(least))


@dataclass(frozen=True)
class Rician:
    """A line of sight with K = `factor` times the scattered power; E|h|² = 2s² as for Rayleigh."""

    scale: Scale = 1.0
    factor: Annotated[NotNegative, about("line of sight over scattered power")] = 1.0
    steady: ClassVar[bool] = False

    def __call__(self, turn: Turn) -> Float64[np.ndarray, "N M"]:
        u = turn.rng("fading").random((*shape_of(turn), 2))
        # 0 is the one uniform without a quantile
        scattered = np.asarray(ndtri(np.maximum(u, 2.0**-54)))
        sight = np.sqrt(2.0 * self.factor)
        h = np.hypot(scattered[..., 0] + sight, scattered[..., 1])
        return self.scale * h / np.sqrt(1.0 + self.factor)

    @property
    def mean2(self) -> float:
        """E|h|² = 2s²."""
        return 2.0 * self.scale**2

    def root(self) -> float:
        """E√γ, by quadrature."""
        return rician_moment(0.5, self.factor)

    def inverse(self, least: float) -> float:
        """E[1/γ; γ ≥ least], by quadrature."""
        return rician_moment(-1.0, self.factor, least)


@dataclass(frozen=True)
class Trace:
    """Measured gains from an .npy file, [T N M] or [N M], real or complex; repeats when it ends."""

    file: Annotated[str, about(".npy file of gains |h|")]
    scale: Scale = 1.0
    steady: ClassVar[bool] = False

    @cached_property
    def gains(self) -> Float64[np.ndarray, "T N M"]:
        gains = read_gains(Path(self.file), f"radio.trace = {quote(self.file)}")
        if gains.ndim not in (2, 3) or gains.size == 0 or not np.isfinite(gains).all():
            raise BadInput(
                f"radio.trace = {quote(self.file)}: must hold finite gains of shape [N, M] or "
                f"[T, N, M], got {gains.shape}"
            )
        return gains.reshape(-1, *gains.shape[-2:])

    def __call__(self, turn: Turn) -> Float64[np.ndarray, "N M"]:
        frame, shape = self.gains[(turn.round - 1) % len(self.gains)], shape_of(turn)
        if frame.shape != shape:
            raise BadInput(
                f"radio.trace = {quote(self.file)}: holds {frame.shape[0]} devices × "
                f"{frame.shape[1]} sub-channels, the run has {shape[0]} × {shape[1]}"
            )
        return self.scale * frame

    @cached_property
    def mean2(self) -> Float64[np.ndarray, "N"]:
        """E|h|² of each device: the mean over all frames and sub-channels."""
        return np.asarray(np.square(self.scale * self.gains).mean(axis=(0, 2)))

    @cached_property
    def _relative(self) -> Float64[np.ndarray, "T N M"]:
        """γ of every frame; 0 of a device that is never met."""
        mean = self.mean2[:, None]
        square = np.square(self.scale * self.gains)
        return np.divide(square, mean, out=np.zeros_like(square), where=mean > 0.0)

    def root(self) -> Float64[np.ndarray, "N"]:
        """E√γ of each device: the mean over all frames and sub-channels."""
        return np.asarray(np.sqrt(self._relative).mean(axis=(0, 2)))

    def inverse(self, least: float) -> Float64[np.ndarray, "N"]:
        """E[1/γ; γ ≥ least] of each device: the mean over all frames and sub-channels."""
        with np.errstate(divide="ignore"):
            cost = np.where(self._relative >= least, 1.0 / self._relative, 0.0)
        return np.asarray(cost.mean(axis=(0, 2)))


@dataclass(frozen=True)
class Sky:
    """Block fading: one draw per round, times each device's mean gain, and the receiver's noise.

    draw: |h| of every device on every sub-channel. noise: σ0² [W]. mean_gain: factor on |h|².
    """

    draw: Draw = field(default_factory=Rayleigh)
    noise: Annotated[Positive, about("variance for one received element", "W")] = 1e-6
    mean_gain: Annotated[Each, about("factor on |h|², one or one for each device")] = 1.0

    def __call__(self, turn: Turn) -> Fading:
        gain, mean = self.draw(turn), np.asarray(self.mean_gain, float)
        if mean.ndim and len(mean) != turn.world.devices:
            raise BadInput(f"mean_gain has {len(mean)} values: must be one, or one for each device")
        factor = np.sqrt(np.broadcast_to(mean, turn.world.devices))
        if not isinstance(self.draw, Moments):
            return Fading(gain * factor[:, None], self.noise)
        mean2 = np.broadcast_to(mean * self.draw.mean2, turn.world.devices)
        return Fading(gain * factor[:, None], self.noise, mean2=mean2, moments=self.draw)

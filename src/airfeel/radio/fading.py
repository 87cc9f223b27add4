"""The sky: channel gains of every device on every sub-channel, drawn anew each round."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64
from scipy.special import ndtri

from airfeel.types import BadInput, Fading, World


@runtime_checkable
class Draw(Protocol):
    def __call__(
        self, round: int, shape: tuple[int, int], *, rng: np.random.Generator
    ) -> Float64[np.ndarray, "N M"]: ...


@dataclass(frozen=True)
class Constant:
    """No fading: |h| = scale everywhere."""

    scale: float = 1.0

    def __call__(
        self, round: int, shape: tuple[int, int], *, rng: np.random.Generator
    ) -> Float64[np.ndarray, "N M"]:
        return np.full(shape, self.scale)


@dataclass(frozen=True)
class Rayleigh:
    """|h| Rayleigh with scale s: E|h|² = 2s². Inverted from one uniform, so that a row of the sky
    belongs to its device however many others there are."""

    scale: float = 1.0

    def __call__(
        self, round: int, shape: tuple[int, int], *, rng: np.random.Generator
    ) -> Float64[np.ndarray, "N M"]:
        return self.scale * np.sqrt(-2.0 * np.log1p(-rng.random(shape)))


@dataclass(frozen=True)
class Rician:
    """A line of sight with K = `factor` times the scattered power; E|h|² = 2s² as for Rayleigh."""

    scale: float = 1.0
    factor: float = 1.0

    def __call__(
        self, round: int, shape: tuple[int, int], *, rng: np.random.Generator
    ) -> Float64[np.ndarray, "N M"]:
        u = rng.random((*shape, 2))
        # 0 is the one uniform without a quantile
        scattered = np.asarray(ndtri(np.maximum(u, 2.0**-54)))
        sight = np.sqrt(2.0 * self.factor)
        h = np.hypot(scattered[..., 0] + sight, scattered[..., 1])
        return self.scale * h / np.sqrt(1.0 + self.factor)


@dataclass(frozen=True)
class Trace:
    """Measured gains from an .npy file, [T N M] or [N M], real or complex; repeats when it ends."""

    file: str
    scale: float = 1.0

    @cached_property
    def gains(self) -> Float64[np.ndarray, "T N M"]:
        try:
            found = np.abs(np.load(Path(self.file), allow_pickle=False)).astype(np.float64)
        except (OSError, ValueError, TypeError, EOFError) as error:
            raise BadInput(
                f"radio.trace = {self.file!r}: cannot be read as .npy ({error})"
            ) from error
        if found.ndim not in (2, 3) or found.size == 0 or not np.isfinite(found).all():
            raise BadInput(
                f"radio.trace = {self.file!r}: must hold finite gains of shape [N, M] or "
                f"[T, N, M], got {found.shape}"
            )
        return found.reshape(-1, *found.shape[-2:])

    def __call__(
        self, round: int, shape: tuple[int, int], *, rng: np.random.Generator
    ) -> Float64[np.ndarray, "N M"]:
        frame = self.gains[(round - 1) % len(self.gains)]
        if frame.shape != shape:
            raise BadInput(
                f"radio.trace = {self.file!r}: holds {frame.shape[0]} devices × {frame.shape[1]} "
                f"sub-channels, the run has {shape[0]} × {shape[1]}"
            )
        return self.scale * frame


@dataclass(frozen=True)
class Sky:
    """Block fading: one draw a round, times each device's mean gain, and the receiver's noise."""

    draw: Draw = field(default_factory=Rayleigh)
    noise: float = 1e-6  # variance for one received element
    mean_gain: float | tuple[float, ...] = 1.0  # factor on |h|², one or one for each device

    def __call__(self, world: World, round: int, *, rng: np.random.Generator) -> Fading:
        gain = self.draw(round, (world.devices, world.subchannels), rng=rng)
        factor = np.sqrt(np.broadcast_to(np.asarray(self.mean_gain, float), world.devices))
        return Fading(gain * factor[:, None], self.noise)

"""Measured skies from files."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from jaxtyping import Float64

from airfeel.arrays import read_gains
from airfeel.errors import BadInput, quote
from airfeel.radio.fading import Scale, shape_of
from airfeel.ranges import about
from airfeel.types import Turn


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

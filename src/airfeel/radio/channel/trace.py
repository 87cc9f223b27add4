"""Measured skies from files: gains, complex responses with antennas, or lists of paths."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from jaxtyping import Complex128, Float64

from airfeel.arrays import read_npz, read_waves
from airfeel.errors import BadInput, quote
from airfeel.radio.channel.fading import Scale, shape_of
from airfeel.radio.channel.profiles import frequencies, response
from airfeel.radio.channel.waves import with_phase
from airfeel.ranges import Count, Positive, Whole, about
from airfeel.types import Turn

_LARGEST = 4e9  # bytes that a list of paths may unpack to


@dataclass(frozen=True)
class Trace:
    """Measured channels, .npy of [N M], [T N M] or [T N M R], or .npz of paths; again at its end.

    Complex numbers keep their phase, real ones get one from the dice of the room `phase`. Paths are
    `amplitude` [N L] or [T N L], complex, and `delay` of the same shape [s]:
    h_m = Σ_l a_l·e^{−2πj·f_m·τ_l}.
    """

    file: Annotated[str, about(".npy file of gains or responses h, or .npz file of paths")]
    scale: Scale = 1.0
    spacing: Annotated[Positive, about("from one sub-channel to the next, for paths", "Hz")] = 1e6
    subchannels: Annotated[Whole, about("M, for paths")] = 0
    antennas: Annotated[Count, about("R, the first so many of the file are in use")] = 1
    steady: ClassVar[bool] = False

    @cached_property
    def frames(self) -> np.ndarray:
        """h of every frame [T N M R], complex, or |h| where the file holds real numbers."""
        blame = f"radio.trace = {quote(self.file)}"
        path = Path(self.file)
        held = self._paths() if path.suffix == ".npz" else read_waves(path, blame)
        if held.ndim not in (2, 3, 4) or held.size == 0 or not np.isfinite(held).all():
            raise BadInput(
                f"{blame}: must hold finite gains of shape [N, M], [T, N, M] or [T, N, M, R], "
                f"got {held.shape}"
            )
        return held if held.ndim == 4 else held.reshape(-1, *held.shape[-2:], 1)

    @property
    def longest(self) -> float:
        """From the first to the last path of a device, at most [s]; 0 where no paths are told."""
        if Path(self.file).suffix != ".npz":
            return 0.0
        delay = self._listed()[1]
        return float(np.ptp(delay, axis=-1).max(initial=0.0))

    def _paths(self) -> Complex128[np.ndarray, "*T N M"]:
        """The response of a list of paths on the sub-channels."""
        f = frequencies(self.subchannels, self.spacing)
        return response(*self._listed(), f)

    def _listed(self) -> tuple[Complex128[np.ndarray, "*T N L"], Float64[np.ndarray, "*T N L"]]:
        """Amplitudes and delays [s] of the paths."""
        blame = f"radio.trace = {quote(self.file)}"
        held = read_npz(Path(self.file), blame, _LARGEST)
        a, delay = (held.get(name, np.zeros(0)) for name in ("amplitude", "delay"))
        fits = a.ndim in (2, 3) and a.shape == delay.shape
        if not fits or a.dtype.kind not in "iufc" or delay.dtype.kind not in "iuf":
            raise BadInput(
                f"{blame}: must hold amplitude [N, L] or [T, N, L] and delay [s] of the same shape"
            )
        return a.astype(np.complex128), delay.astype(np.float64)

    @cached_property
    def gains(self) -> Float64[np.ndarray, "T N M"]:
        """|h| at the first antenna."""
        return np.abs(self.frames[..., 0])

    def __call__(self, turn: Turn) -> Float64[np.ndarray, "N M"]:
        self._fits(turn)
        return self.scale * self.gains[(turn.round - 1) % len(self.gains)]

    def waves(self, turn: Turn, antennas: int) -> Complex128[np.ndarray, "N M {antennas}"]:
        """h at the first so many antennas."""
        self._fits(turn)
        if antennas > self.frames.shape[-1]:
            raise BadInput(
                f"radio.antennas = {antennas}: must be at most {self.frames.shape[-1]}, "
                f"radio.trace = {quote(self.file)} has no more"
            )
        frame = self.frames[(turn.round - 1) % len(self.frames)][..., :antennas]
        if np.iscomplexobj(frame):
            return np.asarray(self.scale * frame)
        return with_phase(np.abs(self.scale * frame), turn)

    def _fits(self, turn: Turn) -> None:
        found, shape = self.frames.shape[1:3], shape_of(turn)
        if found != shape:
            raise BadInput(
                f"radio.trace = {quote(self.file)}: holds {found[0]} devices × "
                f"{found[1]} sub-channels, the run has {shape[0]} × {shape[1]}"
            )

    @cached_property
    def mean2(self) -> Float64[np.ndarray, "N"]:
        """E|h|² of each device: the mean over all frames, sub-channels and antennas in use."""
        square = np.square(self.scale * np.abs(self.frames[..., : self.antennas]))
        return np.asarray(square.mean(axis=3).mean(axis=(0, 2)))

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

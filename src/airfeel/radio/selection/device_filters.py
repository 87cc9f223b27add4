"""Screens: whom a plan keeps of all who trained, by their channels or by their updates.

Amiri, Gündüz, Kulkarni, Poor 2021 (arXiv:2001.10402): everyone trains, few are heard.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from jaxtyping import Bool, Float64

from airfeel.radio.power_budget import power_left
from airfeel.radio.selection.device_selection import capacity, lowest
from airfeel.ranges import Count, about
from airfeel.segments import air_slots
from airfeel.types import BadInput, Fading, Said, Turn

_Kept = Annotated[Count, about("devices that are kept per round")]


@dataclass(frozen=True)
class BestCapacity:
    """Keeps the `scheduled` devices that could send most over all sub-channels (BC)."""

    scheduled: _Kept

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, able: Bool[np.ndarray, "N"]
    ) -> Bool[np.ndarray, "N"]:
        return by_capacity(turn, fading, able, self.scheduled)


@dataclass(frozen=True)
class LargestNorm:
    """Keeps the `scheduled` devices of largest ‖x‖₂ (BN2); of equals the lower index."""

    scheduled: _Kept
    asks: ClassVar[str] = "norm"  # what devices must tell of their updates

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, able: Bool[np.ndarray, "N"]
    ) -> Bool[np.ndarray, "N"]:
        return by_norm(said, able, self.scheduled)


@dataclass(frozen=True)
class CapacityThenNorm:
    """Of the `candidates` of largest capacity the `scheduled` devices of largest ‖x‖₂ (BC-BN2)."""

    scheduled: _Kept
    candidates: Annotated[
        Count | None, about("K_c, kept by capacity at first; left out: twice `scheduled`")
    ] = None
    asks: ClassVar[str] = "norm"

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, able: Bool[np.ndarray, "N"]
    ) -> Bool[np.ndarray, "N"]:
        return by_norm(said, self.among(turn, fading, able), self.scheduled)

    def among(
        self, turn: Turn, fading: Fading, able: Bool[np.ndarray, "N"]
    ) -> Bool[np.ndarray, "N"]:
        """The candidates: the others are not asked for their norms."""
        return by_capacity(turn, fading, able, self.candidates or 2 * self.scheduled)


@dataclass(frozen=True)
class LargestReach:
    """Keeps the `scheduled` devices that could say most, each alone on all sub-channels (BN2-C).

    What is compared is the norm of a device's q largest entries, q the most with
    log2 C(D, q) + 33·q ≤ U_d·R_n, R_n its water-filled rate over all sub-channels. The 33 bits per
    entry are those of a public implementation.

    dim: D. subchannels: M.
    """

    scheduled: _Kept
    dim: Annotated[Count, about("d, numbers in the model")]
    subchannels: Annotated[Count, about("M")]
    slots: Annotated[
        Count | None, about("U_d, of a digital phase; left out: as many as a-dsgd takes")
    ] = None
    asks: ClassVar[str] = "reach"  # the norm of what fits

    @property
    def window(self) -> int:
        """U_d."""
        return self.slots or air_slots(round(self.dim / 2), self.subchannels)

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, able: Bool[np.ndarray, "N"]
    ) -> Bool[np.ndarray, "N"]:
        return by_norm(said, able, self.scheduled)


def by_capacity(
    turn: Turn, fading: Fading, able: Bool[np.ndarray, "N"], count: int
) -> Bool[np.ndarray, "N"]:
    """Those of largest capacity, see `capacity`.

    Args:
        turn: the round; knows P̄_{t,n} [W].
        fading: the sky, as it is believed.
        able: who may speak.
        count: how many are kept.
    """
    power = power_left(turn)
    return lowest(-capacity(power, fading), count, np.where(able, power, 0.0))


def by_norm(said: Said, able: Bool[np.ndarray, "N"], count: int) -> Bool[np.ndarray, "N"]:
    """Those of largest norm, as the devices tell it (`said.norm`).

    Args:
        said: norms of the n devices that trained.
        able: who may speak.
        count: how many are kept.
    """
    if said.norm is None and len(said.devices):
        raise BadInput("scheme.screen: ranks devices by norms, which the codec does not tell")
    norm: Float64[np.ndarray, "N"] = np.zeros(len(able))
    if said.norm is not None:
        norm[said.devices] = said.norm
    return lowest(-norm, count, able.astype(np.float64))

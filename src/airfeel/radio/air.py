"""Over-the-air computation: every device speaks at once, and the channel adds."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from airfeel.radio import native
from airfeel.types import Fading, Payload, Plan, Received


def air_slots(values: int, subchannels: int) -> int:
    """U[g] = ⌈K[g]/M⌉.

    >>> air_slots(51780, 25)
    2072
    """
    return -(-values // subchannels)


def segment_sizes(values: int, subchannels: int) -> Int[np.ndarray, "M"]:
    """How many of K values each sub-channel carries, in index order, longer segments first.

    >>> segment_sizes(7, 3)
    array([3, 2, 2])
    """
    short, rest = divmod(values, subchannels)
    return short + (np.arange(subchannels) < rest)


def segment_energy(
    common: Float[Tensor, "*n K"], subchannels: int
) -> Float64[np.ndarray, "*n {subchannels}"]:
    """Squared norm of each segment of a device's global part, in float64; a row for each device.

    Its sums have an order that no number of threads changes.
    """
    values = common.cpu().numpy()
    if native.KERNEL.missing is None and values.dtype in (np.float32, np.float64):
        rows = values.reshape(math.prod(values.shape[:-1]), values.shape[-1])
        energy = native.segment_energy(rows, subchannels)
        return energy.reshape(*values.shape[:-1], subchannels)
    sizes = segment_sizes(values.shape[-1], subchannels)
    squares = np.square(values, dtype=np.float64)
    energy = np.zeros((*values.shape[:-1], subchannels))
    used = np.count_nonzero(sizes)  # with fewer values than sub-channels the last ones stay silent
    if used:
        first = (np.cumsum(sizes) - sizes)[:used]
        energy[..., :used] = np.add.reduceat(squares, first, axis=-1)
    return energy


def needed_energy(
    energy: Float64[np.ndarray, "n M"], gain2: Float64[np.ndarray, "n M"], scalar: float
) -> Float64[np.ndarray, "n"]:
    """P[g]_n = Σ_m ‖σ_t · segment_m / h_{n,m}‖² [W·slots].

    A zero segment over a zero gain costs nothing, a non-zero one costs infinitely much.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        cost = np.where(energy == 0.0, 0.0, scalar**2 * energy / gain2)
    return cost.sum(axis=1)


@dataclass(frozen=True)
class Hybrid:
    """The global parts by air, the local parts digitally and without error.

    On sub-channel m device n sends σ_t·x/h_{n,m}; the base station receives, eq. (1),
    Σ_n h·(σ_t·x/h) + z with z ~ N(0, σ0²) for each element, and divides by σ_t.
    """

    def __call__(
        self, payload: Payload, fading: Fading, plan: Plan, *, rng: np.random.Generator
    ) -> Received:
        spoken = plan.active[payload.devices]
        heard = superpose(payload.common, fading.gain[payload.devices], plan.scalar, spoken)
        noise = np.sqrt(fading.noise) * rng.standard_normal(len(payload.support))
        heard += torch.from_numpy(noise).to(heard)
        return received(payload, spoken, heard.div_(plan.scalar))


def superpose(
    common: Float[Tensor, "n K"],
    gain: Float64[np.ndarray, "n M"],
    scalar: float,
    spoken: Bool[np.ndarray, "n"],
) -> Float[Tensor, "K"]:
    """What arrives without noise: Σ_n h_{n,m}·b_{n,m}·x_n with channel inversion b = σ_t/h."""
    amplitude = np.divide(scalar, gain, out=np.zeros_like(gain), where=gain > 0)
    arriving = torch.from_numpy(gain * amplitude).to(common.dtype).numpy()
    sizes = segment_sizes(common.shape[1], gain.shape[1])
    heard = common.new_zeros(common.shape[1])
    for n in np.flatnonzero(spoken):
        heard += common[n] * torch.from_numpy(np.repeat(arriving[n], sizes)).to(heard.device)
    return heard


def received(payload: Payload, spoken: np.ndarray, common: Float[Tensor, "K"]) -> Received:
    """The base station's view: the sum of the global parts, and each speaker's local part."""
    index, value = payload.index, payload.value
    if not spoken.all():
        rows = torch.from_numpy(np.flatnonzero(spoken)).to(index.device)
        index, value = index[rows], value[rows]
    return Received(payload.support, common, index, value, int(spoken.sum()))

"""Values on the air through real radios: clipping, converters, phases that are off and turn."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Complex128, Float, Float64, Int64
from torch import Tensor

from airfeel.segments import by_value, segment_sizes
from airfeel.types import Fading, Front, Plan, Said

_IDEAL = Front()
Sent = Float64[np.ndarray, "n M"] | Float[Tensor, "n S"]


def share(said: Said, fading: Fading, plan: Plan) -> Sent | None:
    """The part of each analog value that is sent: of its segment, or of the value. None: all.

    Where a device's power in a slot is above the peak, all that it sends there is scaled to it:
    min(1, √(peak/p)), times the plan's own share. The device's memory keeps the rest.

    Args:
        said: symbols [n S] of the n devices.
        fading: gains [N M] that devices invert, and the peak power [W].
        plan: amplitudes or σ_t, and the share of each segment.
    """
    sent = plan.sent
    rows = None if sent is None else sent[said.devices]
    scale = _scale(said, fading, plan)
    if (scale is None and said.lanes == 1) or said.common.shape[1] == 0:
        return rows
    values = said.symbols.shape[1]
    if scale is None:
        return None if rows is None else _like(by_value(rows, values, said.lanes), said)
    return _like(scale if rows is None else scale * by_value(rows, values, said.lanes), said)


def clipped_energy(said: Said, fading: Fading, plan: Plan) -> Float64[np.ndarray, "n"] | None:
    """Σ_i min(p_{n,i}, peak) [W·slots]: what the air costs each device; None without a peak.

    Args:
        said: symbols of the devices that spoke.
        fading: the sky, and the peak power of their front ends [W].
        plan: how loud each is on each sub-channel.
    """
    peak = (fading.front or _IDEAL).peak
    if np.isinf(peak):
        return None
    return np.array([np.minimum(p, peak).sum() for p in _powers(said, fading, plan)])


def superposed(said: Said, fading: Fading, plan: Plan) -> Float64[np.ndarray, "S"]:
    """What arrives without noise: Σ_n of what devices send, times air·residual, in device order.

    A device inverts, clips and converts; then the channel turns and scales each element.

    Args:
        said: symbols [n S] of the n devices.
        fading: gains [N M] that devices invert, what an inverted unit becomes, and the radios.
        plan: who speaks, and how loud.
    """
    grid = Grid.of(said, fading.front or _IDEAL)
    total = np.zeros(len(grid.place), dtype=np.complex128)
    for n, sent in _elements(said, fading, plan, grid):
        total += sent * _met(n, fading, grid)
    return grid.values(total, said.symbols.shape[1])


def arrived_and_meant(
    said: Said, fading: Fading, plan: Plan
) -> tuple[Float64[np.ndarray, "S"], Float64[np.ndarray, "S"]]:
    """That sum, and what it would be if every inverted unit arrived as 1; arguments as there."""
    grid = Grid.of(said, fading.front or _IDEAL)
    total, meant = np.zeros((2, len(grid.place)), dtype=np.complex128)
    for n, sent in _elements(said, fading, plan, grid):
        total += sent * _met(n, fading, grid)
        meant += sent * fading.air_gain[n, grid.channel]
    values = said.symbols.shape[1]
    return grid.values(total, values), grid.values(meant, values)


def _elements(
    said: Said, fading: Fading, plan: Plan, grid: "Grid"
) -> Iterator[tuple[int, Complex128[np.ndarray, "E"]]]:
    """Each device that speaks, and what it sends on each element: inverted, clipped, converted."""
    front, values = fading.front or _IDEAL, said.symbols.shape[1]
    amplitude, scale = plan.loudness(fading.air_gain), _scale(said, fading, plan)
    for row in np.flatnonzero(plan.active[said.devices]):
        n = int(said.devices[row])
        sent = _double(said.symbols[row]) * by_value(amplitude[n], values, said.lanes)
        if scale is not None:
            sent *= scale[row]
        yield n, grid.elements(convert(sent, front.dac_bits, front.loading))


def _met(n: int, fading: Fading, grid: "Grid") -> np.ndarray:
    """What each element of a device is multiplied by on its way."""
    turned = grid.turns(n, fading, fading.front or _IDEAL)
    return np.asarray(fading.arriving[n, grid.channel] * turned)


def convert(
    values: Float64[np.ndarray, "S"], bits: int, loading: float = 4.0
) -> Float64[np.ndarray, "S"]:
    """Q(v) = (A/ℓ)·clip(round(vℓ/A), ±ℓ), ℓ = 2^(b−1) − 1, A = loading times root mean square.

    Args:
        values: to be converted, in any unit.
        bits: b, of the converter; 0 is ideal.
        loading: full scale over root mean square.

    >>> convert(np.array([1.0, 1.0, 0.2, 9.0]), 2, 1.0).round(2).tolist()
    [0.0, 0.0, 0.0, 4.56]
    """
    rms = float(np.sqrt(np.mean(np.square(values)))) if len(values) else 0.0
    if bits == 0 or rms == 0.0:
        return values
    levels = 2 ** (bits - 1) - 1
    step = loading * rms / levels
    return np.asarray(step * np.clip(np.round(values / step), -levels, levels))


@dataclass(frozen=True)
class Grid:
    """How values ride on elements: one on each, or two in phase and in quadrature."""

    lanes: int  # values on one element
    channel: Int64[np.ndarray, "E"]  # sub-channel of each element
    place: Int64[np.ndarray, "E"]  # which one it is there: its slot

    @classmethod
    def of(cls, said: Said, front: Front) -> "Grid":
        """The grid of what was said."""
        elements = -(-said.symbols.shape[1] // said.lanes)
        sizes = segment_sizes(elements, said.energy.shape[1])
        first = np.repeat(np.cumsum(sizes) - sizes, sizes)
        return cls(said.lanes, np.repeat(np.arange(len(sizes)), sizes), np.arange(elements) - first)

    def elements(self, values: Float64[np.ndarray, "S"]) -> Complex128[np.ndarray, "E"]:
        """x_{2i} + j·x_{2i+1}, or x_i; an odd last one has no imaginary part."""
        if self.lanes == 1:
            return values.astype(np.complex128)
        return np.append(values, np.zeros(len(values) % 2)).view(np.complex128)

    def values(
        self, elements: Complex128[np.ndarray, "E"], count: int
    ) -> Float64[np.ndarray, "{count}"]:
        """What the receiver takes of the elements: real parts, or both in turn."""
        return elements.view(np.float64)[:count] if self.lanes == 2 else elements.real.copy()

    def turns(
        self, device: int, fading: Fading, front: Front
    ) -> Complex128[np.ndarray, "E"] | float:
        """exp j(spin·s_i − 2π·o_i·Δ·(τ + ξ·t)), how element i is turned beside the residual.

        s_i is the begin of its symbol in slots since the last alignment, o_i its sub-carrier, from
        the middle of the sub-channel, and t the middle of the receiver's window.
        """
        if fading.spin is None and front.delay is None:
            return 1.0
        symbol = front.subcarriers * (self.place // front.subcarriers)
        slot = symbol % front.every if front.every else symbol
        time = slot * front.slot_seconds + front.middle
        angle = np.zeros(len(self.place))
        if fading.spin is not None:
            angle += fading.spin[device, self.channel] * (time / front.slot_seconds)
        if front.delay is not None and front.subcarriers > 1:
            offset = self.place % front.subcarriers - (front.subcarriers - 1) / 2.0
            drift = 0.0 if front.drift is None else front.drift[device]
            late = front.delay[device] + drift * time
            angle -= 2.0 * np.pi * front.spacing * offset * late
        return np.asarray(np.exp(1j * angle))


def _powers(said: Said, fading: Fading, plan: Plan) -> Float64[np.ndarray, "n U"]:
    """p_{n,i}: the power of each device in each slot of the air, all sub-channels [W]."""
    grid, values = Grid.of(said, fading.front or _IDEAL), said.symbols.shape[1]
    amplitude = plan.loudness(fading.air_gain)[said.devices]
    slots = int(grid.place.max(initial=-1)) + 1
    power = np.zeros((len(said.devices), slots))
    for row in range(len(power)):
        sent = _double(said.symbols[row]) * by_value(amplitude[row], values, said.lanes)
        square = np.square(sent if said.lanes == 1 else np.abs(grid.elements(sent)))
        power[row] = np.bincount(grid.place, square, slots)
    return power


def _scale(said: Said, fading: Fading, plan: Plan) -> Float64[np.ndarray, "n S"] | None:
    """min(1, √(peak/p)) of each value; None without a peak."""
    peak = (fading.front or _IDEAL).peak
    if np.isinf(peak):
        return None
    power, grid = _powers(said, fading, plan), Grid.of(said, fading.front or _IDEAL)
    with np.errstate(divide="ignore"):
        part = np.minimum(1.0, np.sqrt(peak / power))
    slot = np.repeat(grid.place, said.lanes)[: said.symbols.shape[1]]
    return np.asarray(part[:, slot])


def _double(symbols: Float[Tensor, "S"]) -> Float64[np.ndarray, "S"]:
    return np.asarray(symbols.cpu().numpy().astype(np.float64))


def _like(part: Float64[np.ndarray, "n S"], said: Said) -> Float[Tensor, "n S"]:
    return torch.from_numpy(part).to(said.symbols)

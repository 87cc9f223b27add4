"""Over-the-air computation: every device speaks at once, and the channel adds."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from airfeel.radio import native
from airfeel.radio.energy import needed_energy, spent_energy
from airfeel.radio.impairments.front_end import clipped_energy, convert, superposed
from airfeel.radio.transmission.receive import arrivals, deliver, receive
from airfeel.segments import by_value, segment_sizes
from airfeel.types import BadInput, Delivery, Fading, Front, Plan, Received, Said, Turn


def analog_energy(
    said: Said, fading: Fading, plan: Plan, rows: Bool[np.ndarray, "n"]
) -> Float64[np.ndarray, "r"]:
    """What the air costs some rows of what was said, as planned [W·slots].

    Args:
        said: segment energies [n M] of the n devices.
        fading: gains |h| [N M] as they are believed.
        plan: σ_t, or the amplitudes [N M].
        rows: which of the n devices are asked about.
    """
    who = said.devices[rows]
    clipped = clipped_energy(said, fading, plan)
    if clipped is not None:
        return clipped[rows]
    if plan.amplitude is None and plan.share is None:
        return needed_energy(said.energy[rows], fading.air_gain2[who], plan.scalar)
    return spent_energy(said.energy[rows], plan.loudness(fading.air_gain)[who])


@dataclass(frozen=True)
class Hybrid:
    """The global parts by air, the local parts digitally.

    On sub-channel m device n sends b_{n,m}·x; the base station receives, eq. (1),
    Σ_n h·b·x + z with z ~ N(0, σ0²) for each element, and divides by σ_t. Devices invert the
    channel that they believe in, b = σ_t/h, unless the plan has amplitudes of its own. A packet is
    lost where the channel that it meets bears less than its rate.
    """

    air: ClassVar[bool] = True  # whether values are summed in the air

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, plan: Plan
    ) -> tuple[Received, Delivery]:
        if plan.scalar <= 0.0:
            raise BadInput(
                "scheme.transmit = 'hybrid': the plan puts nothing on the air; use 'digital'"
            )
        signal, variance = on_air(turn, said, fading, plan)
        arrived = arrivals(said, fading, plan)
        delivery = deliver(said, plan, arrived, fading)
        return receive(said, plan, signal, arrived, variance), delivery


def on_air(turn: Turn, said: Said, fading: Fading, plan: Plan) -> tuple[Float[Tensor, "S"], float]:
    """The sum of the symbols as the base station reads it, and the variance of its noise.

    Where nobody was to speak it writes 0; its noise is drawn all the same.

    Args:
        turn: the round, for the dice of the room `air`.
        said: symbols [n S] of the n devices.
        fading: what devices invert and what that becomes, noise σ0² [W], and the radios.
        plan: who speaks, how loud, and σ_t, which the sum is divided by.
    """
    values, ideal = said.symbols.shape[1], fading.residual is None and said.lanes == 1
    dice = turn.rng("air").standard_normal(values)
    if ideal and fading.front is None and fading.spin is None:
        amplitude = plan.loudness(fading.air_gain)[said.devices]
        arriving, spoken = fading.arriving[said.devices], plan.active[said.devices]
        signal, divisor = superpose(said.symbols, arriving, amplitude, spoken), plan.scalar
        signal += torch.from_numpy(np.sqrt(fading.noise) * dice).to(signal)
    else:
        front = fading.front or Front()
        total = superposed(said, fading, plan) + np.sqrt(fading.noise / said.lanes) * dice
        total = convert(total, front.adc_bits, front.loading)
        signal, divisor = torch.from_numpy(total).to(said.symbols), plan.scalar * front.debias
    silent = ~plan.heard[plan.active].any(axis=0)
    if silent.any():  # nothing but noise: the base station knows who was to speak there
        signal[torch.from_numpy(by_value(silent, values, said.lanes))] = 0.0
    return signal.div_(divisor), fading.noise / said.lanes / divisor**2


def superpose(
    symbols: Float[Tensor, "n S"],
    gain: Float64[np.ndarray, "n M"],
    amplitude: Float64[np.ndarray, "n M"],
    spoken: Bool[np.ndarray, "n"],
) -> Float[Tensor, "S"]:
    """What arrives without noise, eq. (1): Σ_n h_{n,m}·b_{n,m}·x_n, in device order.

    Args:
        symbols: x, a row for each device.
        gain: |h| that the symbols meet.
        amplitude: b, how loud each device is on each sub-channel.
        spoken: which rows are on the air.

    >>> x, h = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), np.array([[2.0], [4.0]])
    >>> superpose(x, h, 1.0 / h, np.array([True, True]))
    tensor([4., 6.])
    """
    arriving = torch.from_numpy(gain * amplitude).to(symbols.dtype).numpy()
    sizes = segment_sizes(symbols.shape[1], gain.shape[1])
    rows = np.flatnonzero(spoken)
    serves = symbols.device.type == "cpu" and symbols.dtype in (torch.float32, torch.float64)
    if serves and symbols.is_contiguous() and native.KERNEL.missing is None:
        return torch.from_numpy(native.superpose(symbols.numpy(), arriving, sizes, rows))
    total = symbols.new_zeros(symbols.shape[1])
    for n in rows:
        total += symbols[n] * torch.from_numpy(np.repeat(arriving[n], sizes)).to(total.device)
    return total

"""A receiver that measures power: no device knows its channel, only its mean."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float64

from airfeel.radio.transmission.receive import deliver, receive
from airfeel.segments import by_value
from airfeel.types import BadInput, Delivery, Fading, Plan, Received, Said, Turn


@dataclass(frozen=True)
class SquareLaw:
    """r = (|y|² − σ0²)/ρ_t, y = Σ_n b·h·e^{jψ}·√a + z: energies add where phases are random.

    Every device turns each of its symbols by a phase ψ of its own (dice of the room `rotation`), so
    that the mean of r over phases and sky is Σ a_n; z is complex of variance σ0². With P the sum of
    the energies of an entry, the variance of r under Rayleigh fading is (P + σ0²/ρ_t)².
    """

    air: ClassVar[bool] = True  # whether values are summed in the air

    def __call__(
        self, turn: Turn, said: Said, fading: Fading, plan: Plan
    ) -> tuple[Received, Delivery]:
        if fading.residual is not None or fading.front is not None or said.lanes != 1:
            raise BadInput("scheme.transmit = 'square-law': takes ideal radios and one lane alone")
        if not plan.scalar > 0.0:
            raise BadInput(
                "scheme.transmit = 'square-law': this scheme's plan sends nothing over the air; "
                "must be 'digital' or 'hybrid'"
            )
        values, spoken = said.symbols.shape[1], plan.active[said.devices]
        arriving = fading.met[said.devices] * plan.loudness(fading.gain)[said.devices]
        phase = turn.streams.uniform("rotation", turn.round, said.devices, values)
        power = received_power(
            said.symbols.cpu().numpy(), arriving, phase, spoken, fading.noise, rng=turn.rng("air")
        )
        energy = torch.from_numpy((power - fading.noise) / plan.scalar**2).to(said.symbols)
        variance = (fading.noise / plan.scalar**2) ** 2
        return receive(said, plan, energy, None, variance), deliver(said, plan, None)


def received_power(
    symbols: Float64[np.ndarray, "n S"] | np.ndarray,
    arriving: Float64[np.ndarray, "n M"],
    phase: Float64[np.ndarray, "n S"],
    spoken: Bool[np.ndarray, "n"],
    noise: float,
    *,
    rng: np.random.Generator,
) -> Float64[np.ndarray, "S"]:
    """|Σ_n (b·h)·e^{2πj·phase}·s_n + z|² of each element [W], in device order.

    Args:
        symbols: s, a row for each device.
        arriving: b·h of each device on each sub-channel.
        phase: in turns, of each symbol.
        spoken: which rows are on the air.
        noise: variance of z [W].
        rng: dice of z.

    >>> ones, quiet = np.ones((1, 2)), np.random.default_rng(0)
    >>> received_power(ones, 2.0 * ones, 0.0 * ones, np.array([True]), 0.0, rng=quiet)
    array([4., 4.])
    """
    dice = np.sqrt(noise / 2.0) * rng.standard_normal((2, symbols.shape[1]))
    total = dice[0] + 1j * dice[1]
    for n in np.flatnonzero(spoken):
        turned = np.exp(2j * np.pi * phase[n])
        total += by_value(arriving[n], symbols.shape[1]) * symbols[n].astype(np.float64) * turned
    return np.asarray(np.square(total.real) + np.square(total.imag))

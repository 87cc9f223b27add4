"""Symbols without their mean: what all devices have in common need not go on the air."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.radio.energy import segment_energy
from airfeel.segments import by_value
from airfeel.types import Agreed, BadInput, Codec, Decoded, Memory, Received, Said, Turn, Words


@dataclass(frozen=True)
class Centre(Agreed):
    """With what was taken off all symbols."""

    mean: float  # of the devices' means


@dataclass(frozen=True)
class Centred:
    """Another codec, whose symbols go without the mean of the devices' means; that is added after.

    Once all have trained each reports the mean of its symbols, and is told μ̄, the mean of these.
    x − μ̄ goes on the air; the base station adds μ̄ for each speaker of an entry's sub-channel, so
    that without noise nothing changes, and noise meets symbols of less energy (the normalisation of
    Zhu, Wang, Huang 2020, arXiv:1812.11494, as it is known from the literature).

    codec: what is said; its symbols must be values.
    """

    codec: Codec

    @property
    def memory(self) -> Memory:
        """The codec's."""
        return self.codec.memory

    @property
    def dice(self) -> int:
        """The codec's."""
        return self.codec.dice

    @property
    def columns(self) -> tuple[str, ...]:
        """The codec's."""
        return self.codec.columns

    def agree(self, turn: Turn) -> Agreed:
        """What the codec agrees on."""
        return self.codec.agree(turn)

    def encode(
        self,
        x: Float[Tensor, "n D"],
        agreed: Agreed,
        devices: Int64[np.ndarray, "n"],
        dice: Float64[np.ndarray, "n W"],
        grant: Float64[np.ndarray, "N *g"] | None = None,
    ) -> Words:
        """What the codec says."""
        return self.codec.encode(x, agreed, devices, dice, grant)

    def gather(self, said: Said) -> Said:
        """Symbols without μ̄, and μ̄ among what is agreed; the memory is of whole symbols."""
        means = [float(row.double().mean()) for row in said.symbols[torch.tensor(said.finite)]]
        mean = sum(means) / len(means) if means and said.symbols.shape[1] else 0.0
        signal = said.symbols - mean
        energy = segment_energy(signal, said.energy.shape[1], said.lanes)
        agreed = Centre(said.agreed.support, mean)
        return replace(said, agreed=agreed, signal=signal, energy=energy)

    def decode(self, turn: Turn, agreed: Agreed, received: Received) -> Decoded:
        """What the codec makes of it, with μ̄ for each speaker."""
        if not isinstance(agreed, Centre):
            raise BadInput("scheme.codec = Centred: nobody has gathered what devices say")
        speakers = by_value(received.heard.astype(np.float64), len(received.signal), received.lanes)
        signal = received.signal + torch.from_numpy(agreed.mean * speakers).to(received.signal)
        return self.codec.decode(turn, agreed, replace(received, signal=signal))

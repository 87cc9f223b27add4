"""Values as energies: codecs for receivers that measure power, and devices without their gains."""

from dataclasses import dataclass, field
from typing import ClassVar, cast

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from airfeel.compression.codecs import all_entries, no_mask
from airfeel.compression.memory import ErrorMemory, NoMemory
from airfeel.compression.momenta import Dgc
from airfeel.types import Agreed, BadInput, Decoded, Memory, Received, Turn, Words


@dataclass(frozen=True)
class Dithered(Agreed):
    """All entries, and the signs that all devices share in a round."""

    dither: Float[Tensor, "D"]  # φ, ±1


@dataclass(frozen=True)
class DitheredEnergies:
    """√[x∘φ]⁺ on the air, φ shared random signs; φ∘[x∘φ]⁺ is what was said (NCAirFL).

    Half of the entries, those whose sign agrees with φ, are sent as energies; the memory keeps the
    others. ĝ = φ∘r/N_t, r the energies that were received.

    memory: what devices keep.
    """

    memory: Memory = field(default_factory=ErrorMemory)
    dice: ClassVar[int] = 0
    roots: ClassVar[bool] = True  # symbols are roots of energies
    columns: ClassVar[tuple[str, ...]] = ()

    def agree(self, turn: Turn) -> Agreed:
        """All entries, and φ by the dice of the room `dither`."""
        theta = turn.state.theta
        signs = np.where(turn.rng("dither").random(turn.world.dim) < 0.5, -1.0, 1.0)
        return Dithered(all_entries(turn).support, torch.from_numpy(signs).to(theta))

    def encode(
        self,
        x: Float[Tensor, "n D"],
        agreed: Agreed,
        devices: Int64[np.ndarray, "n"],
        dice: Float64[np.ndarray, "n W"],
        grant: Float64[np.ndarray, "N"] | None = None,
    ) -> Words:
        """a = [x∘φ]⁺ as √a."""
        dither = cast(Dithered, agreed).dither
        a, nothing = (x * dither).clamp(min=0.0), x[..., :0]
        return Words(a * dither, nothing.long(), nothing, signal=a.sqrt())

    def decode(self, turn: Turn, agreed: Agreed, received: Received) -> Decoded:
        """φ∘r/N_t."""
        dither = cast(Dithered, agreed).dither
        count = received.count or 1
        update = dither * received.signal / count
        return Decoded(update, (agreed.support,), received.noise / count**2)


@dataclass(frozen=True)
class PairedEnergies:
    """√[x]⁺, then √[−x]⁺: a signed value as energies on two elements (REED, arXiv:2605.07263).

    ĝ = (r⁺ − r⁻)/N_t. 2D symbols, and nothing that a memory could take off.

    memory: what devices keep.
    """

    memory: Memory = field(default_factory=NoMemory)
    dice: ClassVar[int] = 0
    roots: ClassVar[bool] = True  # symbols are roots of energies
    columns: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if isinstance(self.memory, ErrorMemory | Dgc):
            raise BadInput(
                f"scheme.memory = {type(self.memory).__name__}: keeps what was not said, and pairs "
                "of energies say all; must be 'none' or 'signum'"
            )

    def agree(self, turn: Turn) -> Agreed:
        """Nothing."""
        return no_mask(turn)

    def encode(
        self,
        x: Float[Tensor, "n D"],
        agreed: Agreed,
        devices: Int64[np.ndarray, "n"],
        dice: Float64[np.ndarray, "n W"],
        grant: Float64[np.ndarray, "N"] | None = None,
    ) -> Words:
        """Both parts as energies."""
        nothing = x[..., :0]
        pair = torch.cat([x.clamp(min=0.0), (-x).clamp(min=0.0)], dim=-1).sqrt()
        return Words(nothing, nothing.long(), nothing, signal=pair)

    def decode(self, turn: Turn, agreed: Agreed, received: Received) -> Decoded:
        """(r⁺ − r⁻)/N_t."""
        above, below = received.signal[: turn.world.dim], received.signal[turn.world.dim :]
        count = received.count or 1
        return Decoded(
            (above - below) / count, (all_entries(turn).support,), 2.0 * received.noise / count**2
        )

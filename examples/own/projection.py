"""A codec: a random projection that all devices share, for the air (the seam of A-DSGD).

airfeel run digits-tcs-h --set scheme.codec=projection:Projection --set scheme.codec.ratio=0.5
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from scipy.fft import dct, idct

from airfeel.parts import Agreed, Decoded, ErrorMemory, Share, Streams, Words, about, by_value


@dataclass(frozen=True)
class Seeded(Agreed):
    """No mask, but A as its seed: random signs, a cosine transform, and some entries of that."""

    seed: int
    size: int
    dim: int

    def product(self, x, transposed=False):
        """A x or Aᵀ x of each row x, row by row: products of many rows at once round otherwise."""
        rng = Streams(self.seed).rng("projection")
        sign, kept = rng.choice([-1.0, 1.0], self.dim), rng.permutation(self.dim)[: self.size]
        out = np.empty((len(x), self.dim if transposed else self.size))
        for i, row in enumerate(x.double().cpu().numpy()):
            y = np.bincount(kept, row, self.dim) if transposed else sign * row
            out[i] = sign * idct(y, norm="ortho") if transposed else dct(y, norm="ortho")[kept]
        return torch.from_numpy(out).to(x)


@dataclass(frozen=True)
class Projection:
    """Devices send A x; what Aᵀ A x lacks of x stays in the memory, which the codec is itself."""

    ratio: Annotated[Share, about("numbers that are sent per entry of the model")] = 0.25
    dice, columns, buffers, in_place = 0, (), ("memory",), False
    compensate, changes = ErrorMemory().compensate, ErrorMemory().changes
    memory = property(lambda self: self)

    def agree(self, turn):
        seed, dim = int(turn.rng("projection").integers(2**62)), turn.world.dim
        return Seeded(turn.state.support[:0], seed, round(self.ratio * dim), dim)

    def encode(self, x, agreed, devices, dice, grant=None):
        return Words(x[:, :0], x[:, :0].long(), x[:, :0], signal=agreed.product(x))

    def remember(self, x, said, delivery, rows, held, places):
        sent, share = said.signal[rows], delivery.share
        if share is not None:
            sent = sent * torch.from_numpy(by_value(share[rows], sent.shape[1])).to(sent)
        held["memory"][places] = (x[rows] - said.agreed.product(sent, True)).to(held["memory"])

    def decode(self, turn, agreed, received):
        update = agreed.product(received.signal[None], True)[0] / received.count
        return Decoded(update, (torch.arange(len(update)),), received.noise)

"""Small parts of a stranger, beside examples/own: what else the field asks for."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import torch

from airfeel.parts import (
    Agreed,
    Codec,
    Decoded,
    Fade,
    LocalSGD,
    NoMemory,
    NotNegative,
    Positive,
    Reading,
    Words,
    about,
    shape_of,
)


@dataclass(frozen=True)
class Votes:
    """signSGD with a majority vote (in the air: OBDA): the sign of a sum of signs."""

    rate: Annotated[Positive, about("how far an entry moves")] = 1e-2
    memory, dice, columns = NoMemory(), 0, ("unanimous",)

    def agree(self, turn):
        return Agreed(torch.arange(turn.world.dim))

    def encode(self, x, agreed, devices, dice, grant=None):
        return Words(x.sign(), x[:, :0].long(), x[:, :0], float(x.shape[1]))

    def decode(self, turn, agreed, received):
        full = (received.signal.abs().round() == received.count).double().mean()
        vote = self.rate * received.signal.sign()
        return Decoded(vote, (agreed.support,), received.noise, {"unanimous": float(full)})


@dataclass(frozen=True)
class Estimated:
    """Channel state with an error: devices believe |h + error·CN(0, 2)|, signals meet |h|."""

    fade: Fade
    error: Annotated[NotNegative, about("of an estimate, over a Rayleigh gain")] = 0.1

    def __call__(self, turn):
        true = self.fade(turn)
        real, imaginary = self.error * turn.rng("pilots").standard_normal((2, *shape_of(turn)))
        return replace(true, gain=np.hypot(true.gain + real, imaginary), truth=true.gain)


@dataclass(frozen=True)
class Selective:
    """Sub-channels that fade alike: |h| of the Fourier transform of a few echoes."""

    echoes: int = 3

    def __call__(self, turn):
        n, m = shape_of(turn)
        taps = turn.rng("fading").standard_normal((n, self.echoes, 2)) / np.sqrt(self.echoes)
        return np.abs(np.fft.fft(taps[..., 0] + 1j * taps[..., 1], m, axis=1))


@dataclass(frozen=True)
class Sized(Agreed):
    """What the codec within agreed on, and each device's weight: its samples over their mean."""

    inner: Agreed
    weight: np.ndarray


@dataclass(frozen=True)
class BySize:
    """Means weighted by how many samples devices have, around any codec of values on a mask."""

    codec: Codec

    @property
    def memory(self):
        return self.codec.memory

    @property
    def dice(self):
        return self.codec.dice

    @property
    def columns(self):
        return self.codec.columns

    def agree(self, turn):
        size = np.array([len(shard) for shard in turn.world.shards], dtype=float)
        inner = self.codec.agree(turn)
        return Sized(inner.support, inner, size / size.mean())

    def encode(self, x, agreed, devices, dice, grant=None):
        words = self.codec.encode(x, agreed.inner, devices, dice, grant)
        weight = torch.from_numpy(agreed.weight[devices]).to(x)
        return replace(words, signal=weight[:, None] * words.common)

    def decode(self, turn, agreed, received):
        weight = torch.from_numpy(agreed.weight[received.devices]).to(received.value)
        total, value = float(weight.sum()), weight[:, None] * received.value
        decoded = self.codec.decode(turn, agreed.inner, replace(received, value=value))
        return replace(decoded, update=decoded.update * (received.count / total))


@dataclass(frozen=True)
class Compute:
    """Time and energy of training; the energy counts. `learn` is filled in by the run."""

    learn: LocalSGD
    sample_seconds: Annotated[Positive, about("for a sample in a step", "s")] = 1e-4
    sample_energy: Annotated[NotNegative, about("for a sample in a step", "W·slots")] = 0.0
    columns = ("compute_seconds", "compute_energy")

    def __call__(self, turn, said, fading, plan, delivery):
        energy, samples = np.zeros(turn.world.devices), self.learn.steps * self.learn.batch_size
        energy[said.devices] = samples * self.sample_energy
        time = samples * self.sample_seconds if len(said.devices) else 0.0
        return Reading(dict(zip(self.columns, (time, energy.sum()), strict=True)), energy=energy)


@dataclass(frozen=True)
class Adam:
    """FedAdam (Reddi et al. 2021): moments of the global update, carried as `mean`, `square`."""

    rate: float = 0.01
    beta: tuple[float, float] = (0.9, 0.99)
    floor: float = 1e-3

    def __call__(self, turn, decoded):
        new = self.moments(turn, decoded)
        return self.rate * new["mean"] / (new["square"].sqrt() + self.floor)

    def moments(self, turn, decoded):
        (a, b), old = self.beta, turn.state.carry
        mean = a * old["mean"] + (1.0 - a) * decoded.update
        return {"mean": mean, "square": b * old["square"] + (1.0 - b) * decoded.update**2}

    def begin(self, turn):
        zero = torch.zeros_like(turn.state.update)
        return {"mean": zero, "square": zero}

    def advance(self, turn, happened):
        if happened.decoded is None:
            return {name: turn.state.carry[name] for name in ("mean", "square")}
        return self.moments(turn, happened.decoded)


@dataclass(frozen=True)
class Nesterov:
    """v ← β v + g, w ← w − η (g + β v): local momentum that looks ahead."""

    beta: float = 0.9

    def __call__(self, weights, gradient, start, rate, memory):
        velocity = memory.setdefault("velocity", [torch.zeros_like(w) for w in weights])
        for w, g, v in zip(weights, gradient, velocity, strict=True):
            v.mul_(self.beta).add_(g)
            w.sub_(rate * (g + self.beta * v))

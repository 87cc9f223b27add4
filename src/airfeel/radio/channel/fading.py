"""The sky: channel gains of every device on every sub-channel, drawn anew each round."""

import math
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Complex128, Float64
from scipy.special import beta, exp1, gamma, gammaincc, gammaincinv

from airfeel.handed import gains, guarded, name
from airfeel.radio.channel.gaussian import normal, phasor
from airfeel.radio.channel.rician import rician_moment
from airfeel.ranges import AtLeastHalf, Each, NotNegative, Positive, about
from airfeel.types import BadInput, Fading, Mean, Moments, Turn

Scale = Annotated[Positive, about("factor on |h|; under Rayleigh E|h|² is twice its square")]


@runtime_checkable
class Draw(Protocol):
    """|h| of every device on every sub-channel in a round, from the dice of the room `fading`.

    One that has `airfeel.types.Moments` too serves schemes that need to know means of it; one that
    has `mean2` alone, E|h|², serves estimates, antennas and cells.
    """

    def __call__(self, turn: Turn) -> Float64[np.ndarray, "N M"]: ...


def shape_of(turn: Turn) -> tuple[int, int]:
    """N and M, the shape of a round's gains."""
    return turn.world.devices, turn.world.subchannels


def moments_of(draw: object) -> Moments | None:
    """What a draw tells of its means: by itself, or by its `moments`. None: nothing."""
    known = getattr(draw, "moments", draw)
    return known if isinstance(known, Moments) else None


def mean2_of(draw: object) -> Mean | None:
    """E|h|² as a draw tells it, also one that knows no other means. None: not known."""
    known = moments_of(draw)
    told: Mean | None = getattr(draw, "mean2", None) if known is None else known.mean2
    return told


def rayleigh(shape: tuple[int, ...], *, rng: np.random.Generator) -> Float64[np.ndarray, "..."]:
    """|h| = √(−2 ln(1 − u)): Rayleigh of scale 1, E|h|² = 2.

    Inverted from one uniform, so that a row belongs to its device however many others there are.

    Args:
        shape: N and M, devices and sub-channels; further axes may follow.
        rng: dice, as from `turn.rng("fading")`.

    >>> rayleigh((2, 1), rng=np.random.default_rng(0)).round(3)
    array([[1.424],
           [0.793]])
    """
    return np.asarray(np.sqrt(-2.0 * np.log1p(-rng.random(shape))))


@dataclass(frozen=True)
class Constant:
    """No fading: |h| = scale everywhere."""

    scale: Scale = 1.0

    steady: ClassVar[bool] = True  # γ is 1

    def __call__(self, turn: Turn) -> Float64[np.ndarray, "N M"]:
        return np.full(shape_of(turn), self.scale)

    @property
    def mean2(self) -> float:
        """E|h|² = s²."""
        return self.scale * self.scale

    def root(self) -> float:
        """E√γ = 1."""
        return 1.0

    def inverse(self, least: float) -> float:
        """E[1/γ; γ ≥ least]: 1, or nothing."""
        return float(least <= 1.0)

    def moduli(self, turn: Turn, antennas: int) -> Float64[np.ndarray, "N M {antennas}"]:
        """The same at every antenna."""
        return np.full((*shape_of(turn), antennas), self.scale)


@dataclass(frozen=True)
class Rayleigh:
    """No line of sight: |h| Rayleigh with scale s, E|h|² = 2s²."""

    scale: Scale = 1.0

    steady: ClassVar[bool] = False

    def __call__(self, turn: Turn) -> Float64[np.ndarray, "N M"]:
        return self.scale * rayleigh(shape_of(turn), rng=turn.rng("fading"))

    @property
    def mean2(self) -> float:
        """E|h|² = 2s²."""
        return 2.0 * self.scale * self.scale

    def root(self) -> float:
        """E√γ = √π/2."""
        return math.sqrt(math.pi) / 2.0

    def inverse(self, least: float) -> float:
        """E[1/γ; γ ≥ least] = E1(least), the exponential integral."""
        return float(exp1(least))

    def width(self, turn: Turn) -> int:
        """A wave for each sub-channel."""
        return turn.world.subchannels

    def fresh(
        self, turn: Turn, round: int, antennas: int
    ) -> Complex128[np.ndarray, "N W {antennas}"]:
        """Waves with the moduli of the draw, up to their scale, and phases of the room `phase`."""
        size = (*shape_of(turn), antennas)
        modulus = rayleigh(size, rng=turn.streams.rng("fading", round)) / np.sqrt(2.0)
        return np.asarray(modulus * phasor(turn.streams.rng("phase", round).random(size)))

    def compose(
        self,
        turn: Turn,
        scattered: Complex128[np.ndarray, "N W R"],
        round: int,
        turned: float = 0.0,
    ) -> Complex128[np.ndarray, "N M R"]:
        """h = s·√2·w."""
        return np.asarray(self.scale * np.sqrt(2.0) * scattered)


@dataclass(frozen=True)
class Rician:
    """A line of sight with K = `factor` times the scattered power; E|h|² = 2s² as for Rayleigh."""

    scale: Scale = 1.0
    factor: Annotated[NotNegative, about("line of sight over scattered power")] = 1.0
    steady: ClassVar[bool] = False

    def __call__(self, turn: Turn) -> Float64[np.ndarray, "N M"]:
        u = turn.rng("fading").random((*shape_of(turn), 2))
        scattered = normal(u)
        sight = np.sqrt(2.0 * self.factor)
        h = np.hypot(scattered[..., 0] + sight, scattered[..., 1])
        return self.scale * h / np.sqrt(1.0 + self.factor)

    @property
    def mean2(self) -> float:
        """E|h|² = 2s²."""
        return 2.0 * self.scale * self.scale

    def root(self) -> float:
        """E√γ, by quadrature."""
        return rician_moment(0.5, self.factor)

    def inverse(self, least: float) -> float:
        """E[1/γ; γ ≥ least], by quadrature."""
        return rician_moment(-1.0, self.factor, least)

    def width(self, turn: Turn) -> int:
        """A wave for each sub-channel."""
        return turn.world.subchannels

    def fresh(
        self, turn: Turn, round: int, antennas: int
    ) -> Complex128[np.ndarray, "N W {antennas}"]:
        """The scattered waves of the draw."""
        dice = turn.streams.rng("fading", round).random((*shape_of(turn), antennas, 2))
        part = normal(dice) / np.sqrt(2.0)
        return np.asarray(part[..., 0] + 1j * part[..., 1])

    def compose(
        self,
        turn: Turn,
        scattered: Complex128[np.ndarray, "N W R"],
        round: int,
        turned: float = 0.0,
    ) -> Complex128[np.ndarray, "N M R"]:
        """h = s·√(2/(1 + K))·(√K·e^{jβ} + w)·e^{jθ}, β the angle by which the sight has turned."""
        theta = phasor(turn.streams.rng("phase", round).random(shape_of(turn)))
        sight = np.sqrt(self.factor) * np.exp(1j * turned)
        loud = self.scale * np.sqrt(2.0 / (1.0 + self.factor))
        return np.asarray(loud * (sight + scattered) * theta[..., None])


@dataclass(frozen=True)
class Nakagami:
    """|h|² = 2s²·P⁻¹(m, u)/m, gamma-distributed of variance (2s²)²/m; m = 1 is Rayleigh."""

    scale: Scale = 1.0
    m: Annotated[AtLeastHalf, about("1 for Rayleigh, more for less fading, at least 0.5")] = 1.0
    steady: ClassVar[bool] = False

    def __call__(self, turn: Turn) -> Float64[np.ndarray, "N M"]:
        return self.moduli(turn, 1)[..., 0]

    def moduli(self, turn: Turn, antennas: int) -> Float64[np.ndarray, "N M {antennas}"]:
        """Antennas fade independently."""
        u = turn.rng("fading").random((*shape_of(turn), antennas))
        return self.scale * np.sqrt(2.0 * np.asarray(gammaincinv(self.m, u)) / self.m)

    @property
    def mean2(self) -> float:
        """E|h|² = 2s²."""
        return 2.0 * self.scale * self.scale

    def root(self) -> float:
        """E√γ = Γ(m + ½)/(Γ(m)·√m)."""
        return float(math.sqrt(math.pi / self.m) / beta(self.m, 0.5))  # no Γ alone: they overflow

    def inverse(self, least: float) -> float:
        """E[1/γ; γ ≥ a] = m·Γ(m − 1, m·a)/Γ(m), the upper incomplete gamma function."""
        s, x = self.m - 1.0, self.m * least
        if s > 0.0:
            return float(self.m * gammaincc(s, x) / s)
        if s == 0.0:
            return float(exp1(x))
        if x <= 0.0:
            return math.inf
        return float((gammaincc(self.m, x) - x**s * math.exp(-x) / gamma(self.m)) * self.m / s)


@dataclass(frozen=True)
class Sky:
    """Block fading: one draw per round, times each device's mean gain, and the receiver's noise.

    draw: |h| of every device on every sub-channel. noise: σ0² [W]. mean_gain: factor on |h|².
    """

    draw: Draw = field(default_factory=Rayleigh)
    noise: Annotated[Positive, about("variance for one received element", "W")] = 1e-6
    mean_gain: Annotated[Each, about("factor on |h|², one or one for each device")] = 1.0

    def __call__(self, turn: Turn) -> Fading:
        with guarded("radio.fading", self.draw, state=turn.state):
            drawn = self.draw(turn)
        gain = gains(turn, f"radio.fading = {name(self.draw)}: |h|", drawn)
        mean = np.asarray(self.mean_gain, float)
        if mean.ndim and len(mean) != turn.world.devices:
            raise BadInput(f"mean_gain has {len(mean)} values: must be one, or one for each device")
        factor = np.sqrt(np.broadcast_to(mean, turn.world.devices))
        told = mean2_of(self.draw)
        mean2 = None if told is None else np.broadcast_to(mean * told, turn.world.devices)
        known = moments_of(self.draw)
        return Fading(gain * factor[:, None], self.noise, mean2=mean2, moments=known)

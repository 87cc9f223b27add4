"""How loud devices speak over the air: one small part for each policy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from airfeel.radio.energy import needed_energy
from airfeel.radio.power_control.power_context import (
    Ask,
    Loud,
    Policy,
    expected_power,
    inverted,
    known_means,
    largest_amplitude,
    unheard,
)
from airfeel.ranges import Count, NotNegative, Positive, about
from airfeel.types import BadInput, Happened, Learn, Reason, Series, Turn, at_round

_Over = Positive | tuple[Positive, ...] | Callable[[int], float]  # over rounds, above 0
PowerScalar = Annotated[_Over, about("σ_t, one number or one for each round")]
Threshold = Annotated[NotNegative, about("g_th, smallest |h|² over its mean that is inverted")]
ByHand = Annotated[_Over | None, about("σ_t by hand, in place of the policy's")]
THRESHOLD = 0.105  # 90 % of the entries are sent under Rayleigh fading
Norm = Annotated[
    Literal["now", "last", "bound"],
    about("largest norm of symbols: this round's, the last round's, or the bound η_t·H·G"),
]


@dataclass(frozen=True)
class Inversion:
    """b = σ_t/h everywhere; who cannot afford that is out: the power rule of TCS-H."""

    power_scalar: PowerScalar = 5.0
    reports: ClassVar[int] = 0

    def __call__(self, ask: Ask) -> Loud:
        scalar = at_round(self.power_scalar, ask.turn.round)
        needed = needed_energy(ask.energy, ask.fading.air_gain2, scalar)
        return Loud(scalar, None, {Reason.TOO_LOUD: ~(needed <= ask.budget)})


@dataclass(frozen=True)
class Truncated:
    """b = σ_t/h where |h|² ≥ g_th·ḡ_n, else silence (Zhu, Wang, Huang 2020, arXiv:1812.11494).

    σ_t = √ρ/ς: symbols are scaled to unit variance, ς² = mean ‖symbols‖²/S over those who may
    speak, and ρ is such that the weakest device's expected power over the fading is α·P̄, see
    `expected_power`. A round may take more than a device's budget: only the mean is limited. Who
    is weak on all sub-channels is out, and so is who has less than a tenth of the median power.
    Each device reports its norm, unless that is known: signs have `unit` energy.
    """

    threshold: Threshold = THRESHOLD
    scalar: ByHand = None
    unit: Annotated[bool, about("whether symbols are of unit energy, as signs are")] = False

    @property
    def reports(self) -> int:
        """The norm, where it is needed and not known."""
        return int(self.scalar is None and not self.unit)

    def __call__(self, ask: Ask) -> Loud:
        weak = np.zeros_like(ask.able)
        if self.scalar is not None:
            scalar = at_round(self.scalar, ask.turn.round)
        else:
            rho, weak[ask.able] = expected_power(
                ask.power[ask.able], ask.fading, ask.able, self.threshold, ask.said.lanes
            )
            scale2 = ask.norm2.mean() / ask.said.symbols.shape[1] if ask.able.any() else 0.0
            scalar = float(np.sqrt(rho / scale2)) if scale2 > 0.0 else 1.0  # 1: nothing to say
        amplitude = inverted(scalar, ask, self.threshold)
        return Loud(scalar, amplitude, {Reason.NO_ENERGY: weak, **unheard(amplitude)})


@dataclass(frozen=True)
class Affordable:
    """b = σ_t/h on the best sub-channels that a device can afford, silence on the others.

    The sub-channel of smallest |h| is silenced first (of equals the higher index), until
    Σ b²·e ≤ α_n·P̄_{t,n}·U. Who can afford none is out.
    """

    power_scalar: PowerScalar = 5.0
    reports: ClassVar[int] = 0

    def __call__(self, ask: Ask) -> Loud:
        scalar = at_round(self.power_scalar, ask.turn.round)
        best = np.argsort(-ask.fading.air_gain2, axis=1, kind="stable")
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            cost = np.where(ask.energy > 0.0, scalar**2 * ask.energy / ask.fading.air_gain2, 0.0)
        total = np.cumsum(np.take_along_axis(cost, best, axis=1), axis=1)
        kept = np.zeros(total.shape, dtype=bool)
        np.put_along_axis(kept, best, total <= ask.budget[:, None], axis=1)
        amplitude = np.where(kept, inverted(scalar, ask), 0.0)
        return Loud(scalar, amplitude, unheard(amplitude))


@dataclass(frozen=True)
class Precoded:
    """COTAF: σ_t² = p_t·g_th·min ḡ_n, p_t = min budget_n/max ‖symbols‖² (arXiv:2009.12787).

    Sery, Shlezinger, Cohen, Eldar 2021: devices scale their symbols by what the largest norm
    allows, so that noise falls as updates do. b = σ_t/h where |h|² ≥ g_th·ḡ_n never exceeds √p_t,
    so that nobody spends more than its budget. Without fading g_th is 1, and nobody is silent.
    With `norm` = "last" or "bound" the largest norm is not this round's: budgets may be exceeded.
    Each device reports its norm, but for the bound. Minima are over those who may speak.

    Carried, where `norm` is "last": `peak`, the largest ‖symbols‖² of the last round, whether
    anybody was heard in it or not; NaN before.
    """

    threshold: Threshold = THRESHOLD
    norm: Norm = "now"
    bound: Annotated[Positive | None, about("G, largest norm of a gradient")] = None
    rate: Annotated[Series | None, about("η_t, for the bound; left out: the training's")] = None
    steps: Annotated[Count | None, about("H, for the bound; left out: the training's")] = None
    learn: Learn | None = field(default=None, repr=False, compare=False)  # tells both, else

    def __post_init__(self) -> None:
        if self.threshold == 0.0:
            raise BadInput("threshold = 0: must be above 0, σ_t is in proportion to its root")
        if (self.norm == "bound") != (self.bound is not None):
            raise BadInput(f"bound = {self.bound}: must be given with norm = 'bound', and only so")
        if self.bound is not None and None in self._local:
            raise BadInput("norm = 'bound': local training tells no rate or no steps")

    @property
    def _local(self) -> tuple[Series | None, int | None]:
        """η_t and H."""
        rate, steps = (getattr(self.learn, name, None) for name in ("learning_rate", "steps"))
        return rate if self.rate is None else self.rate, steps if self.steps is None else self.steps

    @property
    def reports(self) -> int:
        """The norm, unless a bound stands for it."""
        return int(self.norm != "bound")

    def __call__(self, ask: Ask) -> Loud:
        known, _ = known_means(ask.fading)
        threshold = 1.0 if ask.fading.steady else self.threshold
        mean2 = known[ask.able]
        least = float(mean2[mean2 > 0.0].min(initial=np.inf))
        scalar = largest_amplitude(ask, self._most(ask.turn)) * float(np.sqrt(threshold * least))
        scalar = scalar if 0.0 < scalar < np.inf else 1.0  # 1: nobody can speak
        amplitude = inverted(scalar, ask, threshold)
        return Loud(scalar, amplitude, unheard(amplitude))

    def _most(self, turn: Turn) -> float | None:
        """What stands for the largest ‖symbols‖²."""
        rate, steps = self._local
        if self.bound is not None and rate is not None and steps is not None:
            return float(at_round(rate, turn.round) * steps * self.bound) ** 2
        if self.norm == "last" and np.isfinite(turn.state_of(self)["peak"]):
            return float(turn.state_of(self)["peak"])
        return None

    def begin(self, turn: Turn) -> Mapping[str, np.ndarray]:
        """No norm is known."""
        return {"peak": np.array(np.nan)} if self.norm == "last" else {}

    def advance(self, turn: Turn, happened: Happened) -> Mapping[str, np.ndarray]:
        """The largest norm of this round, if anybody's update is finite."""
        if self.norm != "last":
            return {}
        norm2 = happened.said.energy[happened.said.finite].sum(axis=1)
        before = np.asarray(turn.state_of(self)["peak"])
        return {"peak": np.array(norm2.max()) if len(norm2) else before}


@dataclass(frozen=True)
class Own:
    """b = √α_n/h, α_n = budget_n/Σ_m e_{n,m}/|h|²: each spends all that it may (arXiv:1901.00844).

    The receiver hears sums weighted by √α_n and divides by nothing: symbols must tell the weights,
    as the pilot of A-DSGD does. Out is who meets no channel under something to say.
    """

    reports: ClassVar[int] = 0
    levels: ClassVar[bool] = True  # a device that counts more than once is no louder

    def __call__(self, ask: Ask) -> Loud:
        cost = needed_energy(ask.energy, ask.fading.air_gain2, 1.0)
        deaf, mute = np.isinf(cost), cost == 0.0
        factor = np.sqrt(np.divide(ask.budget, cost, out=np.zeros_like(cost), where=~(deaf | mute)))
        amplitude = inverted(1.0, ask) * factor[:, None]
        return Loud(1.0, amplitude, {Reason.NO_CHANNEL: deaf, Reason.DROPPED: mute})


@dataclass(frozen=True)
class Flat:
    """b = σ_t everywhere, no inversion (GBMA: Sery, Cohen 2020, arXiv:1908.07463); nobody is out.

    σ_t = √(min budget/max ‖symbols‖²) over those who may speak, so that all stay within their
    budgets. Phases alone are compensated: the receiver divides by σ_t·E h, the mean of E h over
    those who may speak. Each device reports its norm.
    """

    reports: ClassVar[int] = 1

    def __call__(self, ask: Ask) -> Loud:
        mean2, moments = known_means(ask.fading)
        scalar = largest_amplitude(ask)
        mean = (np.sqrt(mean2) * moments.root())[ask.able]
        divisor = scalar * float(mean.mean()) if len(mean) else 1.0
        amplitude = np.where(ask.used, scalar, np.zeros(ask.fading.gain.shape))
        return Loud(divisor or 1.0, amplitude)


@dataclass(frozen=True)
class Statistical:
    """b = √(ρ_t/ḡ_n): mean gains alone are inverted; ρ_t is the largest that all can afford.

    (ρ_t/ḡ_n)·‖symbols‖² ≤ α_n·P̄_{t,n}·U for all who may speak; the receiver's scalar is √ρ_t.
    Each device reports its norm. Who has no mean gain is out.
    """

    reports: ClassVar[int] = 1

    def __call__(self, ask: Ask) -> Loud:
        mean2, _ = known_means(ask.fading)
        deaf = mean2 <= 0.0
        norm2, some = ask.energy.sum(axis=1), ask.able & ~deaf
        loudest = np.divide(
            ask.budget * mean2, norm2, out=np.full(len(norm2), np.inf), where=norm2 > 0.0
        )
        rho = float(loudest[some].min(initial=np.inf))
        rho = rho if 0.0 < rho < np.inf else 1.0  # 1: of no consequence
        each = np.sqrt(np.divide(rho, mean2, out=np.zeros_like(norm2), where=some))
        amplitude = np.where(ask.used, each[:, None], 0.0)
        return Loud(float(np.sqrt(rho)), amplitude, {Reason.NO_CHANNEL: deaf})


@dataclass(frozen=True)
class Paced:
    """Another policy with a factor on each round's energy: more where it counts, less elsewhere.

    amplitude: the policy. share: factor on what a device may spend, of mean 1 over the rounds.
    """

    amplitude: Policy
    share: Annotated[Series, about("factors on a round's energy, of mean 1 over rounds")] = 1.0

    @property
    def reports(self) -> int:
        """As many numbers as the policy asks for."""
        return self.amplitude.reports

    def __call__(self, ask: Ask) -> Loud:
        factor = at_round(self.share, ask.turn.round)
        paced = replace(ask, power=ask.power * factor, budget=ask.budget * factor)
        return self.amplitude(paced)

"""A-DSGD and CA-DSGD: projections of sparse updates, summed in the air and recovered."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from airfeel.compression.markov import Markov
from airfeel.compression.measured import MeanRounds, Measurements, Pilot, Renew, Symbols
from airfeel.compression.projections import Kind
from airfeel.compression.recovery import Iterations, Recover, SoftThreshold, Tolerance, Tuning
from airfeel.errors import BadInput, quote
from airfeel.radio.power_control.amplitude import THRESHOLD, Own, Paced, Threshold, Truncated
from airfeel.radio.transmission.measured import Measured
from airfeel.ranges import Count, Share, about
from airfeel.schemes.over_the_air import over_the_air
from airfeel.schemes.settings import ByHand, Rounds, Settings
from airfeel.types import Scheme, Series, at_round

_EVEN = 1e-3  # how far a mean of factors may be from 1: they are written with a few digits


@dataclass(frozen=True)
class Measuring:
    """What `scheme.options` may set of both."""

    symbols: Symbols = None
    k: Annotated[Count | None, about("k, entries that are measured; left out: half of s")] = None
    projection: Kind = "auto"
    renew: Renew = False
    denoiser: Annotated[
        Literal["soft", "markov"], about("soft threshold, or a belief that follows its entries")
    ] = "soft"
    tuning: Tuning = 1.1
    leave: Annotated[Share, about("p10, probability that an entry becomes 0 (markov)")] = 0.05
    forget: Annotated[Share, about("a, how fast a value is forgotten (markov)")] = 0.1
    iterations: Iterations = 30
    tolerance: Tolerance = 1e-4

    def codec(self, s: Settings, pilot: Pilot, mean_rounds: int) -> Measurements:
        """s = D/2 and k = s/2 where they are left out."""
        symbols = round(s.dim / 2) if self.symbols is None else self.symbols
        k = max(1, min(round(symbols / 2), s.dim)) if self.k is None else self.k
        return Measurements(
            *(s.dim, k, symbols, self.projection, pilot, mean_rounds, self.renew),
            recover=self._recover,
            memory=s.memory,
        )

    @property
    def _recover(self) -> Recover:
        if self.denoiser == "markov":
            return Markov(self.leave, self.forget, self.iterations, self.tolerance)
        return SoftThreshold(self.tuning, self.iterations, self.tolerance)


@dataclass(frozen=True)
class Options(Measuring):
    """What `scheme.options` may set of a-dsgd."""

    pilot: Annotated[
        Literal["last", "paper"], about("last symbol: 0.1·‖last update‖, or 1 as in the paper")
    ] = "last"
    mean_rounds: MeanRounds = 20
    power_share: Annotated[Rounds, about("factors on a round's energy, of mean 1 over rounds")] = (
        1.0
    )


@dataclass(frozen=True)
class Fading(Measuring):
    """What `scheme.options` may set of ca-dsgd."""

    threshold: Threshold = THRESHOLD
    power_scalar: ByHand = None


def a_dsgd(s: Settings) -> Scheme:
    """Analog distributed SGD (Amiri, Gündüz 2020, arXiv:1901.00844).

    Device n keeps u = Top_k(x), x = Δ + e, and sends √α_n·[A u, c] with a shared projection A and a
    pilot c; in the first `mean_rounds` rounds the mean of A u goes apart. α_n uses up all that it
    may spend, so that the pilot tells the base station ŝ = Σ √α_n, and message passing makes ĝ of
    ỹ = y/ŝ, a mean weighted by √α_n. Under fading devices invert their channels.

    Per round ⌈s/M⌉ slots and no bits, whatever k is; each device spends its budget exactly. Use it
    where the model is large beside the slots of a round, and updates have heavy tails: k = s/2,
    the paper's choice, lies above the ℓ1 transition, where Gaussian values are recovered to an
    NMSE of about 0.1. All of it is known from the literature and was not compared with the
    authors' text; their pilot of 1 is `pilot = "paper"`: beside small updates it takes nearly all
    power.
    """
    own = s.read(Options)
    codec = own.codec(s, own.pilot, own.mean_rounds)
    scheme = over_the_air(s, "a-dsgd", codec, Paced(Own(), _shares(s, own.power_share)))
    return replace(scheme, transmit=Measured())


def _shares(s: Settings, value: Rounds) -> Series:
    """Factors on each round's energy, which move it between rounds and make none."""
    factors, told = s.series(value, "power_share"), f"scheme.options.power_share = {quote(value)}"
    if s.rounds is None:
        if factors != 1.0:
            raise BadInput(f"{told}: must be 1 where training.rounds does not say over how many")
        return factors
    mean = _mean(factors, s.rounds)
    if abs(mean - 1.0) > _EVEN:
        raise BadInput(f"{told}: must be 1 in the mean over {s.rounds} rounds, is {mean:.6g}")
    return factors


def _mean(factors: Series, rounds: int) -> float:
    """Over the rounds; of a list the last one stays, so that few are looked at."""
    count = rounds if callable(factors) else min(rounds, len(np.atleast_1d(factors)))
    each = [at_round(factors, t) for t in range(1, count + 1)]
    return float((sum(each) + (rounds - count) * each[-1]) / rounds)


def ca_dsgd(s: Settings) -> Scheme:
    """Compressed analog SGD over fading (Amiri, Gündüz 2020, arXiv:1907.09769).

    As a-dsgd, without pilot and means: devices invert where |h|² ≥ g_th·ḡ_n and are silent
    elsewhere (`Truncated`), so that each measurement is the plain mean over the speakers of its
    sub-channel; those without speakers are left out of ỹ and A.

    Per round ⌈s/M⌉ slots and no bits; one number of each device, its norm, is side information;
    energies are kept in the mean over the fading alone. Use it under fading. The paper's own rule
    for α_n and its threshold are not known to us; a common σ_t is this project's choice, and keeps
    means exact.
    """
    own = s.read(Fading)
    codec = own.codec(s, "none", 0)
    policy = Truncated(own.threshold, s.by_hand(own.power_scalar))
    return replace(over_the_air(s, "ca-dsgd", codec, policy), transmit=Measured(pilot=False))

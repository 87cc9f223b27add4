"""OBDA: signs over the air and their majority, without and with memory."""

from dataclasses import dataclass
from typing import Annotated

from airfeel.compression.air_signs import AirSigns
from airfeel.compression.memory import ErrorMemory, NoMemory
from airfeel.compression.signs import Signs
from airfeel.radio.power_control.amplitude import THRESHOLD, Threshold, Truncated
from airfeel.ranges import Share, about
from airfeel.schemes.over_the_air import over_the_air
from airfeel.schemes.settings import ByHand, Rounds, Settings
from airfeel.types import Scheme


@dataclass(frozen=True)
class Options:
    """What `scheme.options` may set of obda."""

    stride: Annotated[Rounds, about("δ, how far a vote moves an entry; over rounds too")] = 1e-3
    threshold: Threshold = THRESHOLD
    power_scalar: ByHand = None


@dataclass(frozen=True)
class Remembering(Options):
    """What `scheme.options` may set of ef-obda."""

    strength: Annotated[Share, about("λ, factor on what is remembered; 0 is obda")] = 1.0


def obda(s: Settings) -> Scheme:
    """One-bit digital aggregation (Zhu, Du, Gündüz, Huang 2020, arXiv:2001.05713).

    sgn Δ of all D entries by air at b = √ρ/h where |h|² ≥ g_th·ḡ_n, silence elsewhere
    (`Truncated`); ĝ = δ·sign(y), y = √ρ·Σ sgn Δ_n + z. ⌈D/M⌉ slots, no bits: BPSK has the decisions
    of the paper's QPSK. Where one device is heard, noise flips an entry with probability
    Φ(−√(ρ/σ0²)). δ = `stride` is the learning rate; the paper's δ and threshold are not known here.
    Use it where devices can send bits alone.
    """
    own = s.read(Options)
    codec = Signs(s.dim, s.series(own.stride, "stride"), True, s.memory_or(NoMemory()))
    policy = Truncated(own.threshold, s.by_hand(own.power_scalar), unit=True)
    return over_the_air(s, "obda", codec, policy)


def ef_obda(s: Settings) -> Scheme:
    """OBDA with error feedback (arXiv:2303.11319): x = Δ + λe, e ← x − (‖x‖₁/D)·sgn x where heard.

    On the air it is `obda`, at the same ⌈D/M⌉ slots and no bits; what the sign does not tell, and
    what was truncated, stays in e. Use it in place of `obda` where devices can remember. The
    paper is known from its abstract: the scale of the memory, λ = 1 and its power control are this
    project's reading.
    """
    own = s.read(Remembering)
    memory = s.memory_or(ErrorMemory(own.strength, "add"))
    codec = AirSigns(s.dim, s.series(own.stride, "stride"), memory)
    policy = Truncated(own.threshold, s.by_hand(own.power_scalar), unit=True)
    return over_the_air(s, "ef-obda", codec, policy)
